package idl

import (
	"strings"
	"unicode"
)

// Property returns the name of a property for the name of a field in Go: GroupID gives groupID,
// and IPProtocol ipProtocol.
//
// It takes the leading run of capital letters. It lowers the whole run in four cases: the run
// is the whole name, it is a single letter, another character than a small letter follows, or a
// last s follows. In all other cases, it lowers all but the last letter of the run.
func Property(name string) string {
	runes := []rune(name)
	run := 0
	for run < len(runes) && unicode.IsUpper(runes[run]) {
		run++
	}
	lowered := run
	if run > 1 && run < len(runes) && unicode.IsLower(runes[run]) && (runes[run] != 's' || run+1 < len(runes)) {
		lowered = run - 1
	}
	return strings.ToLower(string(runes[:lowered])) + string(runes[lowered:])
}
