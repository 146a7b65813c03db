package author

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// docFlags are the flags of doc.
// It has no flags of a machine: a page is the same on every machine.
type docFlags struct{ output cli.Output }

// NewDoc makes the verb doc. Its pages come from the types, as the reference does, so they
// fit the kinds of this very program.
func NewDoc(a *cli.App) *cobra.Command {
	f := &docFlags{}
	cmd := &cobra.Command{
		Use:   "doc [KIND|FOLDER]",
		Short: "List the kinds of resources, or describe one",
		Long: `Doc lists the kinds of resources. With a KIND, it describes that kind: its purpose,
its parameters with types and defaults, and the values that it sends. The page meta
describes the metaparameters of all kinds. With the FOLDER of a module, written with
a slash, it shows the inputs and outputs of the module.`,
		Example: `  mgmt doc
  mgmt doc file
  mgmt doc meta
  mgmt doc ./modules/nginx
  mgmt doc exec -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteKind,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return f.list(a)
			}
			// A word with a slash is a folder, as no kind has one: see pageOf.
			return f.page(a, args[0])
		},
	}
	cli.Forms(cmd, &f.output, "output format", cli.OneOf{kindJSON{}, []kindJSON{}}, "text", "markdown")
	cli.TypesFlag(a, cmd)
	return cmd
}

// kindJSON is a kind in JSON.
type kindJSON struct {
	Kind      string          `json:"kind"`
	Summary   string          `json:"summary"`
	Abilities []string        `json:"abilities"`
	Doc       string          `json:"doc,omitempty"`    // Markdown; of one kind only
	Schema    json.RawMessage `json:"schema,omitempty"` // JSON Schema of the parameters; of one kind only
	Sends     json.RawMessage `json:"sends,omitempty"`  // JSON Schema of the values that it sends; of one kind only
}

// newKindJSON is the short description of a kind, for lists.
// Doc, Schema and Sends are left out there: they would make the list of all kinds very long.
func newKindJSON(k derive.Kind) kindJSON {
	return kindJSON{Kind: k.Name, Summary: cli.FirstSentence(cli.KindText(k)), Abilities: k.Abilities}
}

// list writes all kinds with the first sentence of each.
// On a terminal each kind has one line, cut to its width.
func (f *docFlags) list(a *cli.App) error {
	kinds, err := cli.AllKinds(a)
	if err != nil {
		return err
	}
	list := make([]kindJSON, len(kinds))
	for i, k := range kinds {
		list[i] = newKindJSON(k)
	}
	return f.output.Write(a.Out, list, func(w io.Writer) error {
		if f.output.Form() == "markdown" {
			_, err := io.WriteString(w, KindTable(kinds, "kinds/"))
			return err
		}
		listText(a, list)
		return nil
	})
}

// listText writes a line for each kind.
func listText(a *cli.App, kinds []kindJSON) {
	width := 0
	for _, k := range kinds {
		width = max(width, len(k.Kind))
	}
	columns := 0
	// Off a terminal nothing is cut: a program or grep reads the whole sentence.
	if size := cli.TerminalSize(a.Out); size != nil {
		columns, _ = size()
	}
	for _, k := range kinds {
		fmt.Fprintln(a.Out, render.Cut(fmt.Sprintf("%-*s  %s", width, k.Kind, k.Summary), columns))
	}
}

// KindTable lists kinds with links to their pages in a folder.
func KindTable(kinds []derive.Kind, dir string) string {
	var b strings.Builder
	b.WriteString("| kind | what it does |\n| --- | --- |\n")
	for _, k := range kinds {
		fmt.Fprintf(&b, "| [%s](%s%s.md) | %s |\n", k.Name, dir, k.Name, render.TableCell(cli.FirstSentence(cli.KindText(k))))
	}
	return b.String()
}

// modulePage returns the page of the module in a folder, which shows its inputs as parameters, and its outputs as sent values.
func modulePage(a *cli.App, dir string) (derive.Kind, error) {
	// The page has the form of a kind's: the inputs of a module are like the parameters of a resource.
	m, ds := yaml.Module(dir, yaml.Options{Source: a.Source()})
	if err := ds.Err(); err != nil {
		return derive.Kind{}, err
	}
	doc := cmp.Or(m.Doc, "A module.") + "\n\nA graph uses it with the key `use`. The parameters are its inputs; the values that it sends are its outputs, as `module.NAME.OUTPUT`."
	return derive.Kind{Name: m.Name, Doc: doc, Type: m.Inputs, Sends: m.Outputs}, nil
}

// page writes the page of one kind.
// An unknown kind is an error with the nearest name, and code 1.
func (f *docFlags) page(a *cli.App, name string) error {
	k, err := pageOf(a, name)
	if err != nil {
		return err
	}
	doc, err := fullKindJSON(k)
	if err != nil {
		return err
	}
	return f.output.Write(a.Out, doc, func(w io.Writer) error {
		text := derive.Markdown
		if f.output.Form() != "markdown" {
			text = func(k derive.Kind) string { return derive.Text(k, pageWidth(a.Out)) }
		}
		_, err := io.WriteString(w, text(k))
		return err
	})
}

// pageOf returns the subject of a page: a kind, or the metaparameters in the form of
// one.
// Transports have pages too: their attributes are those of a target file.
func pageOf(a *cli.App, name string) (derive.Kind, error) {
	if strings.Contains(name, "/") { // as no kind has it
		return modulePage(a, name)
	}
	k, err := cli.KindNamed(a, name)
	_, unknown := errors.AsType[*engine.UnknownKindError](err)
	if t, ok := a.Set.Transports().Definition(name); unknown && ok {
		return derive.Kind{Name: name, Doc: "A transport: these are the attributes of its targets.\n\n" + t.Doc, Type: a.Set.Transports().Type(name)}, nil
	}
	if !unknown || name != "meta" {
		return k, err
	}
	t, err := cli.MetaType()
	return derive.Kind{Name: name, Doc: "How the engine runs a resource, of whatever kind: the keys of its `meta`.", Type: t}, err
}

// fullKindJSON describes a kind in full: its doc, the schema of its parameters, and the
// schema of its sent values.
func fullKindJSON(k derive.Kind) (doc kindJSON, err error) {
	doc = newKindJSON(k)
	doc.Doc = cli.KindText(k)
	if doc.Schema, err = derive.KindSchema(k); err == nil && k.Sends != nil {
		doc.Sends, err = derive.JSONSchema(k.Sends)
	}
	return doc, err
}

// pageWidth is how wide a page for w may be.
// It is 80 columns off a terminal and at most 100 on one, since longer lines are hard to
// read.
func pageWidth(w io.Writer) int {
	if size := cli.TerminalSize(w); size != nil {
		columns, _ := size()
		return min(columns, 100)
	}
	return 80
}
