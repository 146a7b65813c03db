package authkeys

import "strings"

// File is a file of keys. The zero File is an empty one.
type File struct {
	lines []line
	index map[string][]int // the lines of a name
}

type line struct {
	text string // with its end
	key  *Key   // nil for what is foreign, and for what was removed
}

// Parse reads a file. It takes every text.
func Parse(text string) *File {
	f := &File{}
	for l := range strings.SplitAfterSeq(text, "\n") {
		if l == "" {
			continue
		}
		if k, ok := parseLine(l); ok {
			f.add(l, &k)
		} else {
			f.lines = append(f.lines, line{text: l})
		}
	}
	return f
}

func (f *File) add(text string, k *Key) {
	if f.index == nil {
		f.index = map[string][]int{}
	}
	f.index[k.Name] = append(f.index[k.Name], len(f.lines))
	f.lines = append(f.lines, line{text, k})
}

// String returns the file's text.
func (f *File) String() string {
	var b strings.Builder
	for _, l := range f.lines {
		b.WriteString(l.text)
	}
	return b.String()
}

// Keys returns all keys that have a name, in the order of the file.
func (f *File) Keys() []Key {
	var all []Key
	for _, l := range f.lines {
		if l.key != nil {
			all = append(all, *l.key)
		}
	}
	return all
}

// Find returns the keys of a name in the order of the file.
func (f *File) Find(name string) []Key {
	var found []Key
	for _, i := range f.at(name) {
		found = append(found, *f.lines[i].key)
	}
	return found
}

func (f *File) at(name string) []int {
	var found []int
	for _, i := range f.index[name] {
		if f.lines[i].key != nil {
			found = append(found, i)
		}
	}
	return found
}

// Put makes the key the only one of its name.
func (f *File) Put(k Key) error {
	text, err := render(k)
	if err != nil {
		return err
	}
	at := f.at(k.Name)
	if len(at) == 0 {
		if n := len(f.lines); n > 0 {
			if last := &f.lines[n-1]; last.text != "" && !strings.HasSuffix(last.text, "\n") {
				last.text += "\n"
			}
		}
		f.add(text+"\n", &k)
		return nil
	}
	for _, i := range at[1:] {
		f.lines[i] = line{}
	}
	if first := &f.lines[at[0]]; !first.key.Equal(k) {
		*first = line{text + ending(first.text), &k}
	}
	return nil
}

// Remove removes all keys of a name, and reports whether there were any.
func (f *File) Remove(name string) bool {
	at := f.at(name)
	for _, i := range at {
		f.lines[i] = line{}
	}
	return len(at) > 0
}

func ending(text string) string { return text[len(strings.TrimRight(text, "\r\n")):] }
