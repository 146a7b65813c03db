// Package inifile reads and edits files of sections with settings. There are as many dialects as
// programs; a Style describes one.
//
// # Laws
//
//   - Parse(text, style).String() is text, byte for byte, whatever it is.
//   - A line is the head of a section, a setting, or foreign (a comment, a blank line, any other
//     text). Foreign lines, heads, and the settings that were not asked for are altered and moved
//     by no method but RemoveSection.
//   - Set makes exactly one setting of its section and name. It alters nothing if there is one
//     already that has the value; otherwise it rewrites the last one, which counts for most
//     programs: the text before the name stays, the rest becomes the separator and the value. A new
//     one goes below its form that is commented out, else behind the last line of the section that
//     is not blank, else into a new section at the end.
//   - Parse reads a line of Set back as the same section, name and value. A value that could not be
//     read back is an error, so no value can bring a second line with it.
//   - Remove takes the settings of a section and a name away, and nothing else: the head of a
//     section stays.
//   - RemoveSection takes the head of a section away, and its lines without the comments at their
//     end. The lines behind that stay.
//
// Values are the text between the separator and the end of the line, without the blanks around it:
// quotes and comments behind a value are part of it. Names are compared as they are. Sections of
// one name are one section.
package inifile
