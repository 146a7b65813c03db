package virtual

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Signature writes the parameters in the notation of the specification:
// (name, refresh=False, *names, **kwargs).
func (f *Function) Signature() string {
	parts := make([]string, 0, len(f.Params)+1)
	for i, p := range f.Params {
		if p.Kind == KeywordOnly && f.rest(VarArgs) == nil && (i == 0 || f.Params[i-1].Kind != KeywordOnly) {
			parts = append(parts, "*")
		}
		parts = append(parts, p.String())
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// String writes the parameter as a signature does.
func (p Param) String() string {
	switch {
	case p.Kind == VarArgs:
		return "*" + p.Name
	case p.Kind == KwArgs:
		return "**" + p.Name
	case p.Optional:
		return p.Name + "=" + literal(p.Default)
	}
	return p.Name
}

// Source is a default that is known as source text only: an expression in the
// language of a backend.
type Source string

// literal writes a value in the notation of signatures.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case Source:
		return string(v)
	case string:
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(v) + "'"
	case schema.Secret:
		if v.Reveal() == "" {
			return literal("")
		}
		return literal(schema.Redacted)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = literal(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		items := make([]string, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			items = append(items, literal(k)+": "+literal(v[k]))
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	if _, ok := number(v); ok {
		return fmt.Sprint(v)
	}
	return literal(fmt.Sprint(v))
}
