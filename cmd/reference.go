package cmd

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/gapi/puppet"
	foreign "github.com/reactivegraph/mgmt/gapi/words"
)

//go:generate go run ./mgmt reference ../docs/reference ../examples

// The parts of the reference that are written by hand.
var (
	//go:embed reference/yaml.md
	yamlPage string
	//go:embed reference/cli.md
	cliPage string
	//go:embed reference/configuration.md
	configPage string
	//go:embed reference/kinds.md
	kindsPage string
	//go:embed reference/types.md
	typesPage string
	//go:embed reference/interfaces.md
	interfacesHead string
)

// A person who edits a generated page reads it first.
const generated = "<!-- Made by `mgmt reference`. Change what it is made from: run `make docs`. -->\n\n"

// newReference makes the hidden verb that writes the reference. A test compares its pages
// with those of the repository.
// EXAMPLES is the folder with one graph for each kind. `make docs` runs the verb.
func newReference(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "reference FOLDER EXAMPLES",
		Short:  "Write the reference in Markdown: the format, each kind with its example, and the command line",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			pages, err := a.referencePages(cmd.Root(), os.DirFS(args[1]))
			if err != nil {
				return err
			}
			return writePages(args[0], pages)
		},
	}
}

// writePages writes pages below a folder and removes those of kinds that are no
// more.
// The folder kinds belongs to it alone: a page there without a kind is removed.
func writePages(dir string, pages map[string]string) error {
	old, err := fs.Glob(os.DirFS(dir), "kinds/*.md")
	if err != nil {
		return err
	}
	for _, name := range old {
		if _, ok := pages[name]; !ok {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "kinds"), 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if err := writeFile(filepath.Join(dir, name), []byte(pages[name])); err != nil {
			return err
		}
	}
	return nil
}

// referencePages returns the pages of the reference by their paths. The example of
// a kind is the file KIND.yaml.
// Every page comes from the code of this program, and none from the network or the clock.
// So equal programs write equal pages, and a test can compare them.
// The keys of the result are paths with slashes, below the folder of the reference.
func (a *app) referencePages(root *cobra.Command, examples fs.FS) (map[string]string, error) {
	kinds, err := a.allKinds()
	if err != nil {
		return nil, err
	}
	meta, err := metaType()
	if err != nil {
		return nil, err
	}
	pages := map[string]string{
		"cli.md": generated + strings.NewReplacer("{{codes}}", exitCodes, "{{verbs}}", verbPages(root)).Replace(cliPage),
		"yaml.md": generated + strings.NewReplacer(
			"{{meta}}", fieldTable(meta),
			"{{kinds}}", strings.TrimSuffix(kindTable(kinds, "kinds/"), "\n"),
		).Replace(yamlPage),
		"configuration.md":   generated + strings.Replace(configPage, "{{settings}}\n", settings.Markdown(), 1),
		"puppet-catalogs.md": generated + puppet.Page(),
		"interfaces.md":      generated + a.interfacesPage(virtual.DefaultCatalog()),
		"kinds/README.md":    generated + strings.Replace(kindsPage, "{{kinds}}", strings.TrimSuffix(kindTable(kinds, ""), "\n"), 1),
	}
	api, err := control.Document()
	if err != nil {
		return nil, err
	}
	pages["openapi.json"] = string(api)
	coming, err := foreign.Page()
	if err != nil {
		return nil, err
	}
	pages["coming-from.md"] = generated + coming
	types, err := typesOfForm()
	if err != nil {
		return nil, err
	}
	pages["types.md"] = generated + types
	for _, k := range kinds {
		example, err := exampleOf(k.Name, examples)
		if err != nil {
			return nil, err
		}
		pages["kinds/"+k.Name+".md"] = generated + derive.Markdown(k) + example
	}
	return pages, nil
}

// interfacesPage is the page of the virtual modules: the functions of each, and
// which backend does it.
func (a *app) interfacesPage(c *virtual.Catalog) string {
	parts := []string{interfacesHead}
	for _, module := range c.Modules() {
		if i, err := c.Interface(module); err == nil {
			parts = append(parts, virtual.Page(i, c.Backends(module), a.kind(module)))
		}
	}
	return strings.Join(parts, "\n")
}

// exampleOf returns the part of a kind's page that shows its example; nothing if
// there is none.
func exampleOf(kind string, examples fs.FS) (string, error) {
	text, err := fs.ReadFile(examples, kind+".yaml")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return "\n## A graph with it\n\nThis is `examples/" + kind + ".yaml`.\n\n```yaml\n" + string(text) + "```\n", err
}

// fieldTable lists the fields of a type.
func fieldTable(t *schema.Type) string {
	rows := []string{"| key | type | default | meaning |", "| --- | --- | --- | --- |"}
	for _, f := range t.Fields {
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |", f.Key, tableCell(derive.TypeName(f.Type)), defaultCell(f), tableCell(derive.DocText(f))))
	}
	return strings.Join(rows, "\n")
}

// defaultCell writes the default of a field: a zero too, unless nothing is
// something else.
// An optional field without a default has nothing, which differs from its zero; so has a field whose text tells what
// its absence means.
func defaultCell(f *schema.Field) string {
	if text := derive.DefaultText(f); text != "" || f.Type.Optional || strings.Contains(derive.DocText(f), "If absent, ") {
		return text
	}
	switch f.Type.Kind {
	case schema.KindBool:
		return "`false`"
	case schema.KindInt, schema.KindFloat, schema.KindDuration:
		return "`0`"
	case schema.KindList:
		return "`[]`"
	default:
		return ""
	}
}

// verbPages returns a section for each verb, and for each below it.
func verbPages(root *cobra.Command) string {
	var b strings.Builder
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "help" {
			verbPage(&b, cmd)
			b.WriteString(verbPages(cmd))
		}
	}
	return b.String()
}

// verbPage writes the part of the reference about one verb.
// The section has the help text once more, so a page never says something else than --help.
func verbPage(b *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(b, "## %s\n\n", cmd.CommandPath())
	fmt.Fprintf(b, "%s.\n\n", cmd.Short)
	fmt.Fprintf(b, "```text\n%s\n```\n\n", cmd.UseLine())
	if cmd.Long != "" {
		fmt.Fprintf(b, "%s\n\n", paragraphs(cmd.Long))
	}
	if cmd.Example != "" {
		fmt.Fprintf(b, "```sh\n%s\n```\n\n", unindent(cmd.Example))
	}
	rows := ""
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			rows += flagRow(f)
		}
	})
	if rows != "" {
		b.WriteString("| flag | default | meaning |\n| --- | --- | --- |\n" + rows + "\n")
	}
}

// flagRow writes a flag as a row of a table.
// A default that says the same as no flag is left out: false, 0, an empty list.
// The argument of the flag is the word in backquotes of its usage text, as pflag has it.
func flagRow(f *pflag.Flag) string {
	arg, usage := pflag.UnquoteUsage(f)
	name := "`--" + f.Name
	if f.Shorthand != "" {
		name = "`-" + f.Shorthand + "`, " + name
	}
	switch {
	case f.Value.Type() == "bool":
		name += "`"
	case f.NoOptDefVal != "":
		name += "[=" + arg + "]`"
	default:
		name += " " + arg + "`"
	}
	value := ""
	if !slices.Contains([]string{"", "false", "0", "[]"}, f.DefValue) {
		value = "`" + f.DefValue + "`"
	}
	return fmt.Sprintf("| %s | %s | %s |\n", name, value, tableCell(usage))
}

// unindent takes the two spaces away with which examples begin.
// An example may have more blanks than that, which stay.
func unindent(text string) string {
	return strings.ReplaceAll("\n"+text, "\n  ", "\n")[1:]
}

// paragraphs turns help into Markdown: lines that are indented are code.
// Help is wrapped for a terminal, Markdown joins the lines of a paragraph by itself.
func paragraphs(text string) string {
	var out []string
	for p := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(p, "  ") {
			p = "```text\n" + unindent(p) + "\n```"
		}
		out = append(out, p)
	}
	return strings.Join(out, "\n\n")
}
