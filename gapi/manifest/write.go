package manifest

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/gapi"
)

// Write writes a resource. The error is that of w.
func Write(w io.Writer, s gapi.Shown) error {
	var b strings.Builder
	if s.Absent {
		fmt.Fprintf(&b, "# %s { %s: } is absent\n", s.Kind, quote(s.Name))
	} else {
		write(&b, s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func write(b *strings.Builder, s gapi.Shown) {
	fmt.Fprintf(b, "%s { %s:\n", s.Kind, quote(s.Name))
	for _, a := range s.Attrs {
		if a.Hidden {
			fmt.Fprintf(b, "# %s => (secret), # Not Shown\n", keyText(shownKey(a)))
			continue
		}
		line := fmt.Sprintf("%s => %s,", keyText(shownKey(a)), valueText(a.Value))
		if a.ReadOnly {
			line = "# " + strings.ReplaceAll(line, "\n", "\n# ") + " # Read Only"
		} else {
			line = "  " + line
		}
		b.WriteString(line + "\n")
	}
	b.WriteString("}\n")
}

// shownKey returns what a manifest calls a parameter.
func shownKey(a gapi.ShownAttr) string { return cmp.Or(a.Manifest, a.Key) }

// keyText writes the name of a parameter.
func keyText(key string) string {
	if isWord(key) {
		return key
	}
	return quote(key)
}

// valueText writes a plain value. Lists stay on one line unless there are others in
// them.
func valueText(v any) string {
	var b strings.Builder
	writeValue(&b, v, 0)
	return b.String()
}

func writeValue(b *strings.Builder, v any, level int) {
	switch v := v.(type) {
	case []any:
		writeList(b, v, level)
	case map[string]any:
		writeMap(b, v, level)
	default:
		b.WriteString(scalarText(v))
	}
}

func indent(level int) string { return "\n" + strings.Repeat("  ", level) }

func writeList(b *strings.Builder, list []any, level int) {
	b.WriteString("[")
	broken := false // the last one had lines of its own
	for i, v := range list {
		breaks := hasParts(v)
		if i > 0 {
			b.WriteString(",")
		}
		switch {
		case breaks || broken:
			b.WriteString(indent(level + 1))
		case i > 0:
			b.WriteString(" ")
		}
		writeValue(b, v, level+1)
		broken = breaks
	}
	b.WriteString("]")
}

// hasParts reports whether a value is a list or a map that is not empty.
func hasParts(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	default:
		return false
	}
}

func writeMap(b *strings.Builder, m map[string]any, level int) {
	if len(m) == 0 {
		b.WriteString("{}")
		return
	}
	b.WriteString("{")
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(indent(level+1) + quote(key) + " => ")
		writeValue(b, m[key], level+1)
	}
	b.WriteString(indent(level) + "}")
}
