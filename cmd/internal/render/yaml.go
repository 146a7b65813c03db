package render

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// WriteYAML writes a plain value as YAML. Texts that could be read as something else
// stand in double quotes; a secret is redacted.
// Keys are sorted, so that equal values give equal text. Only plain values are known: maps with
// texts as keys, lists, and scalars. Graphs are written by package gapi/yaml.
func WriteYAML(w io.Writer, v any) error {
	var b strings.Builder
	yamlBlock(&b, v, "")
	_, err := io.WriteString(w, strings.TrimPrefix(b.String(), "\n"))
	return err
}

// yamlBlock writes the value behind a key or a dash: a scalar on the same line, or
// a block below it.
func yamlBlock(b *strings.Builder, v any, indent string) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			b.WriteString(" {}\n")
			return
		}
		b.WriteString("\n")
		for _, key := range sortedKeys(v) {
			yamlEntry(b, key, v[key], indent)
		}
	case []any:
		if len(v) == 0 {
			b.WriteString(" []\n")
			return
		}
		b.WriteString("\n")
		for _, item := range v {
			b.WriteString(indent + "-")
			yamlBlock(b, item, indent+"  ")
		}
	// The caller has written the key, so a scalar needs the blank between them.
	default:
		b.WriteString(" " + yamlScalar(v) + "\n")
	}
}

// yamlEntry writes a key with its value at a depth.
func yamlEntry(b *strings.Builder, key string, v any, indent string) {
	b.WriteString(indent + yamlText(key) + ":")
	yamlBlock(b, v, indent+"  ")
}

// yamlScalar writes a scalar; a secret shows as such.
func yamlScalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return yamlText(v)
	case bool, int64, uint64, float64:
		return fmt.Sprint(v)
	case json.Number: // with all its digits
		return v.String()
	case schema.Secret:
		return yamlText(schema.Redacted)
	}
	return yamlText(fmt.Sprint(v))
}

// plainText is text that needs no quotes.
var (
	// plainText is text that needs no quotes. It begins with a letter, a slash or a low line, and
	// has neither a colon nor a number sign in it.
	plainText = lazyregexp.New(`^[A-Za-z/_][A-Za-z0-9/_.+@ -]*$`)
	// yamlOthers are words that YAML 1.1 or 1.2 reads as a truth value or as null, in small
	// letters.
	yamlOthers = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
)

// yamlText writes a text without quotes where each reader of YAML takes it as text, else
// as JSON, which is YAML too.
// A text that is not UTF-8 loses the wrong bytes, as JSON has no form for them.
func yamlText(s string) string {
	if plainText.MatchString(s) && !strings.HasSuffix(s, " ") && !slices.Contains(yamlOthers, strings.ToLower(s)) {
		return s
	}
	quoted, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return EscapeJSON(string(quoted))
}

// EscapeJSON escapes what may do something to a terminal and is allowed in a text of JSON, the marks of direction among it: by
// them a text of another host may read as another one. No such character stands outside of a text.
func EscapeJSON(quoted string) string {
	if !strings.ContainsFunc(quoted, isControl) {
		return quoted
	}
	var b strings.Builder
	for _, r := range quoted {
		if isControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
