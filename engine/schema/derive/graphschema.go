package derive

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// GraphSchema returns the JSON Schema of a whole graph file: its keys, each kind
// under $defs and resources.KIND, the metaparameters, references and edges. The
// order of kinds does not matter; meta is the type of the metaparameters.
// An error is a defect of the caller: a kind without a struct type, or twice the same
// name.
func GraphSchema(kinds []Kind, meta *schema.Type) ([]byte, error) {
	if meta == nil {
		return nil, errors.New("the type of the metaparameters is missing")
	}
	kinds = slices.Clone(kinds)
	slices.SortFunc(kinds, func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
	resources := &rule{
		Description: "The resources, under their kinds.",
		Type:        []string{"object", "null"},
		Additional:  false,
	}
	defs := rules{
		{"meta", newRuler("").rule(meta)},
		{"references", referencesRule()},
		{"edge", edgeRule()},
	}
	for i, k := range kinds {
		if k.Type == nil || k.Type.Kind != schema.KindStruct {
			return nil, fmt.Errorf("the kind %s has no fields", k.Name)
		}
		if i > 0 && kinds[i-1].Name == k.Name {
			return nil, fmt.Errorf("the kind %s is given twice", k.Name)
		}
		w := newRuler("kind." + k.Name + ".")
		defs = append(append(defs, named{"kind." + k.Name, w.kind(k)}), w.defs...)
		resources.Properties = append(resources.Properties, named{k.Name, &rule{
			Type: []string{"array", "null"}, Items: &rule{Ref: "#/$defs/kind." + k.Name},
		}})
	}
	return graphRule(resources, defs).document()
}

// graphRule is the schema of a whole graph file. It allows all that the loader allows and
// no more, so that an editor and the program agree.
// Package yaml reads the same keys at the top.
func graphRule(resources *rule, defs rules) *rule {
	return &rule{
		Title: "mgmt graph",
		Type:  "object",
		Properties: rules{
			{"graph", &rule{Description: "The name of the graph.", Type: textTypes}},
			{"comment", commentRule()},
			{"noop", &rule{Description: "Whether every resource only looks and reports.", Type: "boolean"}},
			{"include", &rule{Description: "Other graph files, relative to this one.", Type: []string{"array", "string", "null"}, MinLength: new(int64(1)), Items: &rule{Type: "string", MinLength: new(int64(1))}}},
			{"resources", resources},
			{"edges", &rule{Description: "The order of two resources.", Type: []string{"array", "null"}, Items: &rule{Ref: "#/$defs/edge"}}},
			{"collect", &rule{Description: "Resources of other hosts to take over.", Type: []string{"array", "null"}, Items: collectRule()}},
		},
		Additional: false,
		Defs:       defs,
	}
}

// commentRule is the schema of the key comment.
// It may be null, since a person may leave a comment empty.
func commentRule() *rule {
	r := &rule{Description: "Free text; it has no effect.", Type: textTypes}
	r.orNull()
	return r
}

// nameRule is for names, which are text that is not empty.
// A length of at least 1 is all that an editor can check of a name.
func nameRule(doc string) *rule {
	return &rule{Description: doc, Type: textTypes, MinLength: new(int64(1))}
}

// referencesRule is for before, depend, notify and listen: a list of references, or
// a single one.
// A reference is kind[name], and the name may have any character in it.
func referencesRule() *rule {
	return &rule{Type: []string{"array", "string", "null"}, Pattern: patternRefOnly, Items: &rule{Type: "string", Pattern: patternRefOnly}}
}

// edgeRule is the schema of an edge: a map with two ends, each a reference or its parts.
// A text and a map are two notations of the same end.
func edgeRule() *rule {
	end := func(doc string) *rule {
		return &rule{
			Description: doc,
			Type:        []string{"object", "string"}, // the text is a reference
			Pattern:     patternRefOnly,
			Properties:  rules{{"kind", nameRule("")}, {"name", nameRule("")}},
			Additional:  false,
			Required:    []string{"kind", "name"},
		}
	}
	return &rule{
		Type: "object",
		Properties: rules{
			{"name", &rule{Description: "The name of the edge.", Type: textTypes}},
			{"comment", commentRule()},
			{"from", end("What comes first.")},
			{"to", end("The resource that comes after it.")},
			{"notify", &rule{Description: "Whether a change of the first refreshes the other.", Type: "boolean"}},
		},
		Additional: false,
		Required:   []string{"from", "to"},
	}
}

// collectRule is the schema of one item of collect. The parameters below set are those of the kind,
// which the schema cannot choose by the value of a neighbour. So an editor takes any key there, and
// the loader says which ones the kind lacks. A pattern may be empty, unlike a name: it then fits
// everything.
func collectRule() *rule {
	return &rule{
		Type: "object",
		Properties: rules{
			{"kind", nameRule("The kind of the resources.")},
			{"name", &rule{Description: "A pattern of their names, in which * stands for any characters; all if absent.", Type: textTypes}},
			{"pattern", &rule{Description: "Another word for name.", Type: textTypes}},
			{"from", &rule{Description: "A pattern of the hosts that export them; all if absent.", Type: textTypes}},
			{"set", &rule{Description: "Parameters that take the place of the exported ones.", Type: []string{"object", "null"}}},
			{"comment", commentRule()},
		},
		Additional: false,
		Required:   []string{"kind"},
	}
}

// kindRule is the rule of one declaration: the fields of the kind and the keys
// that every resource has. A required parameter may be received instead.
// JSON Schema can not say that one required key may be received instead. So a declaration
// with recv has no required parameters here.
func (w *ruler) kind(k Kind) *rule {
	r := w.rule(k.Type)
	r.Title, r.Description, r.Type = k.Name, k.doc(), "object"
	links := func(doc string) *rule { return &rule{Description: doc, Ref: "#/$defs/references"} }
	common := rules{
		{"name", nameRule("The name of the resource, unique within its kind.")},
		{"comment", commentRule()},
		{"meta", &rule{Description: "How the engine runs the resource.", Ref: "#/$defs/meta"}},
		{"recv", &rule{
			Description: "Parameters that are received from other resources, as kind[name].key.",
			Type:        []string{"object", "null"}, Additional: &rule{Type: "string", Pattern: patternRefKey},
		}},
		{"before", links("Resources that wait for this one.")},
		{"depend", links("Resources that this one waits for.")},
		{"notify", links("Resources that wait for this one and are refreshed when it changes.")},
		{"listen", links("Resources that this one waits for, and whose changes refresh it.")},
	}
	for _, c := range common {
		if k.Type.Field(c.name) == nil || k.Type.Field(c.name).Key != c.name {
			r.Properties = append(r.Properties, c)
		}
	}
	if len(r.Required) > 0 {
		r.If = &rule{Not: &rule{Required: []string{"recv"}}}
		r.Then = &rule{Required: r.Required}
	}
	r.Required = []string{"name"}
	return r
}
