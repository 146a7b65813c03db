package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
)

// JSONSchema returns the schema of the file for editors, by draft 2020-12.
func (t *Table) JSONSchema() ([]byte, error) { return derive.JSONSchema(t.Type()) }

// Plain returns a value in its type: a switch, a number, a text or a list of texts.
func (t *Table) Plain(s *Setting, v Value) any {
	if s.Read != nil {
		var plain any
		_ = json.Unmarshal([]byte(v.Text()), &plain) // Read has written it; an empty text is nothing
		return plain
	}
	switch s.Type.Kind {
	case schema.KindList:
		return append([]string{}, v.Texts...)
	case schema.KindBool:
		return v.Text() == "true"
	case schema.KindInt:
		if n, err := strconv.Atoi(v.Text()); err == nil {
			return n
		}
	}
	return v.Text()
}

// Example returns a file in which each setting is a comment. The path is where the program
// looks for the file.
func (t *Table) Example(path string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# The settings of mgmt: %s. The daemon and the verbs read it.
# A flag wins over a variable of the environment, and both win over this file.
# Take the # away from what you want to set, and then
#
#   mgmt config --check     # is the file right?
#   mgmt config             # which value counts, and where is it from?
#   mgmt reload             # settings marked "at a reload" take effect, others at a restart
#
# No secret belongs here: every user may read this file.
`, path)
	for _, s := range t.Settings {
		b.WriteString("\n")
		for _, line := range wrapped(s.Sentence()+s.note(), 96) {
			b.WriteString("# " + line + "\n")
		}
		fmt.Fprintf(&b, "#%s: %s\n", s.Key, s.Example)
	}
	return b.String()
}

// note says when a new value takes effect.
func (s *Setting) note() string {
	if s.Live {
		return " (at a reload)"
	}
	return ""
}

// wrapped breaks a text into lines of at most so many bytes, at spaces.
func wrapped(text string, most int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > most {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// Markdown returns the table of all settings for the reference.
func (t *Table) Markdown() string {
	var b strings.Builder
	b.WriteString("| setting | type | default | flag | variable | new value | meaning |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, s := range t.Settings {
		when := "restart"
		if s.Live {
			when = "reload"
		}
		fallback := ""
		if s.Default != "" {
			fallback = "`" + s.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | `--%s` | `%s` | %s | %s |\n",
			s.Key, s.typeName(), fallback, s.FlagName(), s.EnvName(), when, cell(s.Sentence()))
	}
	return b.String()
}

func (s *Setting) typeName() string {
	if len(s.Type.Enum) > 0 {
		return strings.Join(s.Type.Enum, ", ")
	}
	if s.Read != nil {
		return "list"
	}
	return cmp.Or(map[schema.Kind]string{schema.KindString: "text", schema.KindList: "list of texts"}[s.Type.Kind], cell(derive.TypeName(s.Type)))
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
