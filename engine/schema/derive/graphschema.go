package derive

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/sorted"
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
	sorted.Func(kinds, func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
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
	// The schema of one kind, which other programs read, has no expressions: only a graph file is computed.
	for _, d := range defs {
		d.rule.parts(computed)
	}
	defs = append(defs, named{"expression", expressionRule()})
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
			{"noop", computed(&rule{Description: "Whether every resource only looks and reports.", Type: "boolean"})},
			{"include", &rule{Description: "Other graph files, relative to this one.", Type: []string{"array", "string", "null"}, MinLength: new(int64(1)), Items: &rule{Type: "string", MinLength: new(int64(1))}}},
			{"resources", resources},
			{"edges", &rule{Description: "The order of two resources.", Type: []string{"array", "null"}, Items: &rule{Ref: "#/$defs/edge"}}},
			{"collect", &rule{Description: "Resources of other hosts to take over.", Type: []string{"array", "null"}, Items: collectRule()}},
			{"vars", &rule{Description: "Variables, by their names: values, or maps with type, default and doc.", Type: []string{"object", "null"}}},
			{"data", dataRule()},
			{"defaults", &rule{Description: "Values for the resources of a kind, or of all under *.", Type: []string{"object", "null"}, Additional: &rule{Type: "object"}}},
			{"secrets", &rule{Description: "Sources of secrets, in the order in which they are asked.", Type: "array", Items: &rule{Type: "object"}}},
			{"use", &rule{Description: "Modules.", Type: "array", Items: useRule()}},
		},
		Additional: false,
		Defs:       defs,
	}
}

// dataRule is the schema of the key data.
// A path may have expressions, which are text; the words of merge may not.
func dataRule() *rule {
	return &rule{
		Description: "Files of values, the most exact first.",
		Type:        []string{"object", "null"},
		Properties: rules{
			{"files", &rule{Type: "array", Items: &rule{Type: textTypes}}},
			{"merge", &rule{Type: []string{"object", "null"}, Additional: &rule{Enum: []any{"first", "deep", "append"}}}},
		},
		Additional: false,
	}
}

// useRule is the schema of an entry of use.
// The inputs of a module stand in its own file, which an editor does not read: the loader checks them.
func useRule() *rule {
	r := &rule{
		Type: "object",
		Properties: rules{
			{"module", &rule{Description: "The folder of the module.", Type: "string", MinLength: new(int64(1))}},
			{"name", nameRule("The name of the instance; that of the module if absent.")},
			{"with", &rule{Description: "The inputs.", Type: []string{"object", "null"}}},
		},
		Additional: false,
		Required:   []string{"module"},
	}
	// A loop needs a name with an expression, which only the loader can demand.
	r.Properties = append(r.Properties, conditions()...)
	return r
}

// conditions are the keys that say whether and how often something is there.
// Resources and entries of use have them.
func conditions() rules {
	return rules{
		{"when", computed(&rule{Description: "Whether it is there.", Type: "boolean"})},
		{"for_each", computed(&rule{Description: "A list or a map: there is one for each item.", Type: []string{"array", "object"}})},
	}
}

// expressionRule is the schema of a text with an expression. Its type is checked when the graph is loaded, since an editor can't know it.
func expressionRule() *rule {
	return &rule{Description: "A text with expressions between ${{ and }}.", Type: "string", Pattern: `\$\{\{`}
}

// computed returns a rule that takes an expression in the place of a value, too.
// It owns r: the rules for values inside of r are altered, so that expressions may stand at every depth.
func computed(r *rule) *rule {
	r.parts(computed)
	// The words about the value stay outside, where editors look for them.
	bare := *r
	bare.Description, bare.Deprecated, bare.Default, bare.ReadOnly, bare.WriteOnly = "", false, nil, false, false
	return &rule{Description: r.Description, Deprecated: r.Deprecated, Default: r.Default, ReadOnly: r.ReadOnly, WriteOnly: r.WriteOnly, AnyOf: []*rule{&bare, {Ref: "#/$defs/expression"}}}
}

// parts puts rules in the place of the rules for the values in a value. Those that take any text, or anything at all, stay.
// The order of keys is kept, since editors show it.
func (r *rule) parts(change func(*rule) *rule) {
	change = unlessText(change)
	for i := range r.Properties {
		r.Properties[i].rule = change(r.Properties[i].rule)
	}
	if r.Items != nil {
		r.Items = change(r.Items)
	}
	if of, ok := r.Additional.(*rule); ok && of != nil {
		r.Additional = change(of)
	}
}

// unlessText leaves out the rules that take every text that has an expression.
// A rule that takes an expression already is left as it is, so a rule may come by twice.
func unlessText(change func(*rule) *rule) func(*rule) *rule {
	return func(r *rule) *rule {
		of := []*rule{r}
		for _, o := range append(of, r.AnyOf...) {
			// A bound of another kind, such as an enum, is one that the text of an expression would break.
			types, _ := o.Type.([]string)
			takesText := o.Type == "string" || slices.Contains(types, "string") || o.Type == nil && o.Ref == "" && o.AnyOf == nil
			if o.Ref == "#/$defs/expression" || takesText && o.Pattern == "" && o.Enum == nil && o.Format == "" && o.MaxLength == nil && o.AllOf == nil {
				r.parts(change)
				return r
			}
		}
		return change(r)
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
	common = append(common, conditions()...)
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
