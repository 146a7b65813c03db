package inifile

import (
	"slices"
	"strings"
)

// Sections returns the names of the sections in the order of the file, each once.
func (f *File) Sections() []string {
	var names []string
	for _, l := range f.lines {
		if l.kind == head && !slices.Contains(names, l.section) {
			names = append(names, l.section)
		}
	}
	return names
}

// Has reports whether the file has the head of a section.
func (f *File) Has(section string) bool { return slices.Contains(f.Sections(), section) }

// RemoveSection removes a section, wherever it stands, and reports whether it was there: from its
// head to the last line in it that is not a comment. Comments behind that stay, since they may be
// about the next section.
func (f *File) RemoveSection(section string) bool {
	var spans [][2]int
	for i, l := range f.lines {
		if l.kind == head && l.section == section {
			spans = append(spans, [2]int{i, i + 1})
		} else if n := len(spans); n > 0 && l.section == section && !isBlankOrComment(l.text) {
			spans[n-1][1] = i + 1
		}
	}
	for _, s := range slices.Backward(spans) {
		from, to := s[0], s[1]
		blank := func(i int) bool { return i >= 0 && i < len(f.lines) && strings.TrimSpace(f.lines[i].text) == "" }
		for blank(to) && (from == 0 || blank(from-1) || to == len(f.lines)-1) {
			to++ // of the blank lines around it those before it stay
		}
		f.lines = slices.Delete(f.lines, from, to)
	}
	return len(spans) > 0
}

func isBlankOrComment(text string) bool {
	body := strings.TrimSpace(text)
	return body == "" || isComment(body)
}

// Continued returns the number of the line, from 1, on which a setting begins whose value seems to go on in the next line: that one
// begins with a blank. It returns 0 if no such setting is there.
func (f *File) Continued(section, name string) int {
	for _, i := range f.at(section, name) {
		if i+1 < len(f.lines) && strings.ContainsAny(f.lines[i+1].text[:1], blanks) && strings.TrimSpace(f.lines[i+1].text) != "" {
			return i + 1
		}
	}
	return 0
}
