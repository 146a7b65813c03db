package crontab

import (
	"slices"
	"strings"
)

// File is a crontab. The zero File is an empty one.
type File struct{ items []item }

// item is a named job with all its lines, or a foreign line.
type item struct {
	text string
	job  *Job
}

// Parse reads a crontab. It takes every text.
func Parse(text string) *File {
	f := &File{}
	var lines []string
	for l := range strings.SplitAfterSeq(text, "\n") {
		if l != "" {
			lines = append(lines, l)
		}
	}
	for i := 0; i < len(lines); {
		j, n := block(lines[i:])
		f.items = append(f.items, item{strings.Join(lines[i:i+n], ""), j})
		i += n
	}
	return f
}

// block reads a named job from the beginning of the lines, and says of how many it
// is. Where none begins, that is nil and one.
func block(lines []string) (*Job, int) {
	name, ok := marker(strings.TrimRight(lines[0], "\r\n"))
	if !ok {
		return nil, 1
	}
	var env []string
	for i, l := range lines[1:] {
		l = strings.TrimRight(l, "\r\n")
		if s, err := Setting(l); err == nil {
			env = append(env, s)
			continue
		}
		j, ok := parseJob(l)
		if !ok {
			break
		}
		j.Name, j.Environment = name, env
		return &j, i + 2
	}
	return nil, 1
}

// String returns the crontab's text.
func (f *File) String() string {
	var b strings.Builder
	for _, i := range f.items {
		b.WriteString(i.text)
	}
	return b.String()
}

// Jobs returns all named jobs in the order of the crontab.
func (f *File) Jobs() []Job {
	var all []Job
	for _, i := range f.items {
		if i.job != nil {
			all = append(all, *i.job)
		}
	}
	return all
}

// Find returns the jobs of a name in the order of the crontab.
func (f *File) Find(name string) []Job {
	var found []Job
	for _, i := range f.at(name) {
		found = append(found, *f.items[i].job)
	}
	return found
}

func (f *File) at(name string) []int {
	var found []int
	for i, it := range f.items {
		if it.job != nil && it.job.Name == name {
			found = append(found, i)
		}
	}
	return found
}

// Put makes the job the only one of its name.
func (f *File) Put(j Job) error {
	text, err := render(j)
	if err != nil {
		return err
	}
	at := f.at(j.Name)
	if len(at) == 0 {
		f.end()
		f.items = append(f.items, item{text, &j})
		return nil
	}
	for _, i := range at[1:] {
		f.drop(i)
	}
	if first := &f.items[at[0]]; !first.job.Equal(j) {
		*first = item{text, &j}
	}
	return nil
}

// end makes the last line end.
func (f *File) end() {
	if n := len(f.items); n > 0 {
		if last := &f.items[n-1]; last.text != "" && !strings.HasSuffix(last.text, "\n") {
			last.text += "\n"
		}
	}
}

// Remove removes all jobs of a name, and reports whether there were any.
func (f *File) Remove(name string) bool {
	at := f.at(name)
	for _, i := range at {
		f.drop(i)
	}
	return len(at) > 0
}

// drop takes an item away. A comment that names nothing, right before it, must not become the name
// of the item after it: an empty comment is left between them.
func (f *File) drop(i int) {
	f.items[i] = item{}
	for _, before := range slices.Backward(f.items[:i]) {
		l := strings.TrimRight(before.text, "\r\n")
		if before.job != nil {
			return
		}
		if _, ok := marker(l); ok {
			f.items[i].text = "#\n"
			return
		}
		if _, err := Setting(l); err != nil && before.text != "" {
			return
		}
	}
}
