package inifile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// File is a file of sections. It is made by Parse.
type File struct {
	style Style
	lines []line
}

type line struct {
	text    string // with its end
	kind    kind
	section string // that it is in, or the head of
	name    string // of a setting, also of one that is commented out
	value   string
}

type kind uint8

const (
	foreign kind = iota
	commented
	head
	setting
)

// Setting is a value with its place.
type Setting struct{ Section, Name, Value string }

// Parse reads a file. It takes every text. Settings before the first head are in the
// section "".
func Parse(text string, style Style) *File {
	f := &File{style: style}
	section := ""
	for l := range strings.SplitAfterSeq(text, "\n") {
		if l == "" {
			continue
		}
		read := f.read(l, section)
		section = read.section
		f.lines = append(f.lines, read)
	}
	return f
}

// read reads one line that stands in a section.
func (f *File) read(text, section string) line {
	body := strings.TrimRight(text, "\r\n")
	l := line{text: text, section: section}
	if name, ok := f.style.head(body); ok {
		l.kind, l.section = head, name
	} else if name, ok := f.style.commented(body); ok {
		l.kind, l.name = commented, name
	} else if _, name, value, ok := f.style.setting(body); ok {
		l.kind, l.name, l.value = setting, name, value
	}
	return l
}

// String returns the file's text.
func (f *File) String() string {
	var b strings.Builder
	for _, l := range f.lines {
		b.WriteString(l.text)
	}
	return b.String()
}

// Settings returns all settings in the order of the file.
func (f *File) Settings() []Setting {
	var all []Setting
	for _, l := range f.lines {
		if l.kind == setting {
			all = append(all, Setting{l.section, l.name, l.value})
		}
	}
	return all
}

// Values returns the values that a setting has, one for each time that it is there.
func (f *File) Values(section, name string) []string {
	var values []string
	for _, i := range f.at(section, name) {
		values = append(values, f.lines[i].value)
	}
	return values
}

func (f *File) at(section, name string) []int {
	var at []int
	for i, l := range f.lines {
		if l.kind == setting && l.section == section && l.name == name {
			at = append(at, i)
		}
	}
	return at
}

// Set makes the setting the only one of its section and name.
func (f *File) Set(s Setting) error {
	if err := f.check(s); err != nil {
		return err
	}
	at := f.at(s.Section, s.Name)
	if len(at) == 0 {
		f.add(s)
		return nil
	}
	last := at[len(at)-1]
	if f.lines[last].value != s.Value {
		f.rewrite(last, s)
	}
	f.drop(at[:len(at)-1])
	return nil
}

// Remove removes all settings of a section and a name, and reports whether there
// were any.
func (f *File) Remove(section, name string) bool {
	at := f.at(section, name)
	f.drop(at)
	return len(at) > 0
}

func (f *File) drop(at []int) {
	for _, i := range slices.Backward(at) {
		f.lines = slices.Delete(f.lines, i, i+1)
	}
}

// rewrite gives line i a value.
func (f *File) rewrite(i int, s Setting) {
	old := f.lines[i].text
	lead, _, _, _ := f.style.setting(strings.TrimRight(old, "\r\n"))
	f.lines[i] = f.read(lead+f.render(s)+ending(old), s.Section)
}

// add adds a setting that is not there.
func (f *File) add(s Setting) {
	at, eol := f.place(s), f.ending()
	var added []line
	if at < 0 {
		at = len(f.lines)
		added = append(added, f.read(f.style.Prefix+s.Section+f.style.Suffix+eol, ""))
	}
	if at > 0 {
		if before := &f.lines[at-1]; !strings.HasSuffix(before.text, "\n") {
			before.text += eol
		}
	}
	added = append(added, f.read(f.style.Indent+f.render(s)+eol, s.Section))
	f.lines = slices.Insert(f.lines, at, added...)
}

// place returns the index that a new setting shall have; -1 says that its section is
// missing.
func (f *File) place(s Setting) int {
	at := -1
	if s.Section == "" {
		at = 0
	}
	for i, l := range f.lines {
		if l.section != s.Section {
			continue
		}
		if l.kind == commented && l.name == s.Name {
			return i + 1
		}
		if strings.TrimSpace(l.text) != "" {
			at = i + 1
		}
	}
	return at
}

func (f *File) render(s Setting) string {
	return strings.TrimRight(s.Name+f.style.Separator+s.Value, blanks)
}

// ending returns how new lines end: as the first one does.
func (f *File) ending() string {
	if len(f.lines) > 0 && ending(f.lines[0].text) == "\r\n" {
		return "\r\n"
	}
	return "\n"
}

func ending(text string) string { return text[len(strings.TrimRight(text, "\r\n")):] }

// check returns an error if the setting would not be read back as it is.
func (f *File) check(s Setting) error {
	if err := f.style.Check(); err != nil {
		return err
	}
	style := f.style
	if name, ok := style.head(style.Prefix + s.Section + style.Suffix); s.Section != "" && (!ok || name != s.Section) || hasControl(s.Section) {
		return fmt.Errorf("%q can't be the name of a section: it would not be read back as it is", s.Section)
	}
	if hasControl(s.Value) || s.Value != strings.Trim(s.Value, blanks) {
		return errors.New("a value has to be one line without blanks around it")
	}
	if l := f.read(f.render(s), s.Section); hasControl(s.Name) || l.kind != setting || l.name != s.Name || l.value != s.Value {
		return fmt.Errorf("%q can't be the name of a setting here: with its value it would not be read back as it is", s.Name)
	}
	return nil
}
