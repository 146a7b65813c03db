package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// explain writes one value of a resource, and the place and the line of the source that it is from. The place of a computed value is
// that of its expression, also in a module or in the defaults.
// The whole graph is computed for that, as a loop or a default may have made the value.
//
// A secret is shown as redacted, whether its type says so or the graph does.
func (f *renderFlags) explain(a *cli.App, d *gapi.Declared) error {
	ref, err := schema.ParseRef(f.explained)
	if err != nil || ref.Key == "" {
		return fmt.Errorf("--explain %s: write a resource and a key of it, such as file[/etc/motd].content", f.explained)
	}
	// The case of a kind does not matter, here as in a graph.
	ref.Kind = strings.ToLower(ref.Kind)
	// Two resources of one name are an error of the graph; the first one is explained then.
	at := slices.IndexFunc(d.Resources, func(r gapi.Declaration) bool {
		return schema.Ref{Kind: strings.ToLower(r.Kind), Name: r.Name}.ID() == schema.Ref{Kind: ref.Kind, Name: ref.Name}.ID()
	})
	if at < 0 {
		return fmt.Errorf("--explain %s: the graph has no such resource; mgmt render lists them", f.explained)
	}
	r := &d.Resources[at]
	n := r.Value
	// A path of keys leads into maps alone. Metaparameters stand apart from the parameters, so
	// meta is their first key.
	for key := range strings.SplitSeq(ref.Key, ".") {
		if n == r.Value && key == "meta" {
			n = r.Meta
			continue
		}
		n = n.Get(key)
	}
	if n == nil && f.explainReceived(a, r, ref.Key) {
		return nil
	}
	if n == nil {
		fmt.Fprintf(a.Out, "%s is not given: the default of the kind counts, which mgmt doc %s shows\n", render.Visible(f.explained), ref.Kind)
		fmt.Fprintf(a.Out, "the resource is declared at %s\n", render.Visible(r.Pos.String()))
		return nil
	}
	// The type and the mark are those of the whole parameter: a part of a secret is one.
	param, _, _ := strings.Cut(ref.Key, ".")
	if inputs.IsSecret(a, r, param) || inputs.Marked(r, param) {
		n = &schema.Node{Kind: schema.NodeString, Text: schema.Redacted, Pos: n.Pos}
	}
	var v any
	if ds := schema.Decode(n, &v); ds.Err() != nil {
		return ds
	}
	if err := render.WriteYAML(a.Out, map[string]any{f.explained: v}); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "from %s\n", render.Visible(n.Pos.String()))
	if line := sourceLine(a.Source(), n.Pos); line != "" {
		fmt.Fprintf(a.Out, "  %s\n", render.Visible(line))
	}
	return nil
}

// explainReceived writes the senders of a value that the resource receives, and the line of the source. It returns false where nothing sends one.
// A key above or below the received one counts, too: the whole and its parts are received
// together.
func (f *renderFlags) explainReceived(a *cli.App, r *gapi.Declaration, key string) bool {
	found := false
	for _, w := range r.Recv {
		if w.Field != key && !strings.HasPrefix(key, w.Field+".") && !strings.HasPrefix(w.Field, key+".") {
			continue
		}
		found = true
		fmt.Fprintf(a.Out, "%s is known when the graph runs: %s sends it\nfrom %s\n", render.Visible(f.explained), render.Visible(w.From.String()), render.Visible(w.Pos.String()))
		if line := sourceLine(a.Source(), w.Pos); line != "" {
			fmt.Fprintf(a.Out, "  %s\n", render.Visible(line))
		}
	}
	return found
}

// sourceLine returns a line of a source with an expression in it. It returns no text for another line, as a value there may be a secret.
// The line is without the blanks at its ends. A file that can't be read gives no text, since the
// position is enough.
func sourceLine(from gapi.Source, pos schema.Pos) string {
	src, err := from.ReadRegular(context.Background(), pos.File, yaml.DefaultMaxBytes, "too big: a graph")
	if err != nil {
		return ""
	}
	lines := strings.Split(string(src), "\n")
	if pos.Line < 1 || int(pos.Line) > len(lines) || !strings.Contains(lines[pos.Line-1], "${{") {
		return ""
	}
	return strings.TrimSpace(lines[pos.Line-1])
}
