package basic

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// line returns the body and the fields on one line.
func (m message) line() string {
	var b strings.Builder
	b.WriteString(m.body)
	for _, k := range slices.Sorted(maps.Keys(m.fields)) {
		fmt.Fprintf(&b, " %s=%q", k, m.fields[k])
	}
	return b.String()
}
