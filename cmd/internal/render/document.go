package render

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// WriteJSONAsYAML writes in YAML the JSON of a value.
// Numbers keep their digits.
func WriteJSONAsYAML(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	// The way over JSON gives YAML the same keys and leaves the same fields out.
	var plain any
	if err := Unmarshal(text, &plain); err != nil {
		return err
	}
	return WriteYAML(w, plain)
}

// Unmarshal reads JSON and keeps the digits of numbers.
// A float64 would lose those above 2^53.
func Unmarshal(text []byte, out any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(out)
}

// WriteDocument writes a document in the form that was chosen: as JSON, or as YAML with the same keys.
func WriteDocument(w io.Writer, form string, doc any) error {
	if form == "yaml" {
		return WriteJSONAsYAML(w, doc)
	}
	return WriteJSON(w, doc)
}

// WriteItem writes one of several documents that come one after the other: JSON on a line of its own, YAML behind the line that begins a document.
func WriteItem(w io.Writer, form string, doc any) error {
	if form != "yaml" {
		return WriteJSONLine(w, doc)
	}
	if _, err := io.WriteString(w, "---\n"); err != nil {
		return err
	}
	return WriteJSONAsYAML(w, doc)
}

// WriteJSON writes one indented document. The names of its fields are part of
// the command line: docs/reference/cli lists them.
func WriteJSON(w io.Writer, v any) error { return encodeJSON(w, v, "  ") }

// WriteJSONLine writes one document on a line, for readers that take one after the other.
func WriteJSONLine(w io.Writer, v any) error { return encodeJSON(w, v, "") }

// encodeJSON writes a document without a character that could do something to a terminal.
func encodeJSON(w io.Writer, v any, indent string) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	// The escapes are for HTML. Paths and commands have <, > and & in them, which people read here.
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, EscapeJSON(b.String()))
	return err
}

// PlanDoc is a plan in JSON.
type PlanDoc struct {
	Graph   string  `json:"graph"`
	Summary summary `json:"summary"`
	// These are not shown, since --select has not chosen them.
	Others *summary `json:"others,omitempty"`
	// In the order of the plan; never null, so that a program can count them.
	Resources []stepJSON `json:"resources"`
	// These are in effect and not in the graph; their work stays as it is.
	Leaving []string `json:"leaving,omitempty"`
	// Those of Leaving for which a daemon holds the graph until mgmt resume.
	Asking []string `json:"asking,omitempty"`
}

// stepJSON is what would be done with one resource.
type stepJSON struct {
	Resource  string         `json:"resource"`
	State     resgraph.State `json:"state"`
	Changes   []changeJSON   `json:"changes,omitempty"`
	Because   []string       `json:"because,omitempty"`    // these would refresh it
	Until     string         `json:"until,omitempty"`      // with unknown
	BlockedBy string         `json:"blocked_by,omitempty"` // with blocked
	Error     string         `json:"error,omitempty"`      // with failed
	Left      bool           `json:"left,omitempty"`       // it has left the graph, and would be undone
}

// PlanJSON is a plan as JSON. Its keys are a promise: scripts read them.
// others may be nil.
func PlanJSON(p, others *mgmt.Preview) PlanDoc {
	doc := PlanDoc{Graph: p.Graph, Summary: SummaryOf(p), Resources: make([]stepJSON, len(p.Steps)), Leaving: p.Leaving, Asking: p.Asking}
	if others != nil {
		doc.Others = new(SummaryOf(others))
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		j := stepJSON{Resource: s.Resource, State: s.State, Changes: changesJSON(s.Changes), Because: s.Because, Until: s.Until, BlockedBy: s.BlockedBy, Left: s.Left}
		if s.Err != nil {
			j.Error = s.Err.Error()
		}
		doc.Resources[i] = j
	}
	return doc
}

// changeJSON is a change in JSON. From and To have the types that the field has
// in a graph; absent means none. Unknown is there in place of To.
type changeJSON struct {
	Field   string      `json:"field,omitempty"` // path of the parameter; absent for the thing as a whole
	Verb    engine.Verb `json:"verb,omitempty"`  // created, deleted, refreshed or ran; absent where the values say it
	From    any         `json:"from,omitempty"`
	To      any         `json:"to,omitempty"`
	Unknown bool        `json:"unknown,omitempty"`
}

// changesJSON describes changes; a value that is not known yet has a mark of its own,
// since null is a value.
func changesJSON(cs []engine.Change) []changeJSON {
	list := make([]changeJSON, len(cs))
	for i, c := range cs {
		list[i] = changeJSON{Field: c.Field, Verb: c.Verb, From: c.From, To: c.To}
		// engine.Unknown is the value of a field that is known only after a run, see law 11.
		if c.To == any(engine.Unknown) {
			list[i].To, list[i].Unknown = nil, true
		}
	}
	return list
}

// sortedKeys returns the keys in order, so that the output is the same on every run.
func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
