package expr

import (
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
)

// Signature is one form of a function that an expression may call.
type Signature struct {
	Name   string
	Method bool   // the first parameter stands in front of a dot
	Text   string // as in: split(text, text) list of text
	Doc    string // one sentence or more, empty where none is known
}

// Signatures returns every form of the functions of the scope, by name. Editors offer them.
func (s *Scope) Signatures() (list []Signature) {
	functions := s.env.Functions()
	for _, name := range sortedKeys(functions) {
		if !isWord(rune(name[0])) || name[0] == '_' || strings.Contains(name, "@") {
			continue
		}
		f := functions[name]
		for _, o := range f.OverloadDecls() {
			params := make([]string, 0, len(o.ArgTypes()))
			for _, t := range o.ArgTypes() {
				params = append(params, nameOfParam(t))
			}
			x := Signature{Name: name, Method: o.IsMemberFunction(), Doc: f.Description()}
			if x.Method && len(params) > 0 {
				x.Text = params[0] + "." + name + "(" + strings.Join(params[1:], ", ") + ") " + nameOfParam(o.ResultType())
			} else {
				x.Text = name + "(" + strings.Join(params, ", ") + ") " + nameOfParam(o.ResultType())
			}
			if !slices.Contains(list, x) {
				list = append(list, x)
			}
		}
	}
	if s.sent != nil {
		list = append(list, Signature{Name: SentName, Text: SentName + "('kind[name].key')", Doc: "The value that another resource sends."})
	}
	return list
}

// nameOfParam names the type of a parameter in the words of a graph.
func nameOfParam(t *cel.Type) string { return Type{cel: t}.String() }
