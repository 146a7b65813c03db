package crontab

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// Job is a job that has a name. Its times are in their canonical form.
type Job struct {
	Name        string
	Times       [5]string // in the order of Fields; empty where Special is set
	Special     string
	Environment []string // NAME=value
	Command     string
}

// Equal reports whether both say the same.
func (j Job) Equal(o Job) bool {
	return j.Name == o.Name && j.Times == o.Times && j.Special == o.Special && j.Command == o.Command &&
		slices.Equal(j.Environment, o.Environment)
}

// Marker is what stands before the name of a job; OtherMarker is what Puppet writes.
const (
	Marker      = "# mgmt name: "
	OtherMarker = "# Puppet Name: "
)

// marker reads the comment that names a job.
func marker(line string) (name string, ok bool) {
	if name, ok = strings.CutPrefix(line, Marker); !ok {
		name, ok = strings.CutPrefix(line, OtherMarker)
	}
	return name, ok && checkName(name) == nil
}

func checkName(name string) error {
	if name == "" || hasControl(name) || strings.TrimSpace(name) != name {
		return fmt.Errorf("%q can't be the name of a job: it has to be one line without blanks around it", name)
	}
	return nil
}

const blanks = " \t"

var setting = lazyregexp.New(`^[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(.*?)[ \t]*$`)

// Setting returns the one form of a setting of the environment.
func Setting(text string) (string, error) {
	m := setting.FindStringSubmatch(text)
	if m == nil || hasControl(text) {
		name, _, _ := strings.Cut(text, "=") // the value may be a secret
		return "", fmt.Errorf("a setting has to be NAME=value on one line, one begins with %.40q", name)
	}
	return m[1] + "=" + m[2], nil
}

// parseJob reads the line of a job.
func parseJob(line string) (j Job, ok bool) {
	rest := strings.TrimLeft(line, blanks)
	if hasControl(rest) {
		return j, false
	}
	if strings.HasPrefix(rest, "@") {
		var err error
		word, command := cut(rest)
		j.Special, err = Special(word)
		j.Command = command
		return j, err == nil && command != ""
	}
	for i, f := range Fields() {
		var word string
		var err error
		word, rest = cut(rest)
		if j.Times[i], err = f.Canonical(word); err != nil || word == "absent" {
			return j, false
		}
	}
	j.Command = rest
	return j, rest != ""
}

// cut cuts the first word off, and the blanks behind it.
func cut(s string) (word, rest string) {
	if i := strings.IndexAny(s, blanks); i >= 0 {
		return s[:i], strings.TrimLeft(s[i:], blanks)
	}
	return s, ""
}

// hasControl reports whether a text is more than one line of plain text.
func hasControl(s string) bool {
	return strings.ToValidUTF8(s, "\x00") != s || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// render returns the lines of a job.
func render(j Job) (string, error) {
	if err := checkName(j.Name); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(Marker + j.Name + "\n")
	for _, s := range j.Environment {
		if canon, err := Setting(s); err != nil || canon != s {
			return "", errors.Join(fmt.Errorf("the environment can't be written as it is"), err)
		}
		b.WriteString(s + "\n")
	}
	if j.Special != "" {
		b.WriteString("@" + j.Special + " " + j.Command + "\n")
	} else {
		b.WriteString(strings.Join(j.Times[:], " ") + " " + j.Command + "\n")
	}
	if got := Parse(b.String()); len(got.items) == 1 && got.items[0].job != nil && got.items[0].job.Equal(j) {
		return b.String(), nil
	}
	return "", why(j)
}

// why says what of a job can't be written.
func why(j Job) error {
	if j.Command == "" || hasControl(j.Command) || strings.TrimLeft(j.Command, blanks) != j.Command {
		return errors.New("a command has to be one line that does not begin with a blank")
	}
	if j.Special != "" {
		if s, err := Special(j.Special); err != nil || s != j.Special {
			return errors.Join(errors.New("the special time can't be written as it is"), err)
		}
		return errors.New("a job has times, or a special one, and not both")
	}
	for i, f := range Fields() {
		if _, err := f.Canonical(j.Times[i]); err != nil {
			return err
		}
	}
	return errors.New("the job would not be read back as it is")
}
