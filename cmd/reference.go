package cmd

import (
	"cmp"
	"embed"
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

	"github.com/reactivegraph/mgmt/cmd/author"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/cmd/machine"
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
	// A page of the command line has the text of its name.
	//go:embed reference/cli
	cliTexts embed.FS
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
func newReference(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:    "reference FOLDER EXAMPLES",
		Short:  "Write the reference in Markdown: the format, each kind with its example, and the command line",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			pages, err := referencePages(a, cmd.Root(), os.DirFS(args[1]))
			if err != nil {
				return err
			}
			return writePages(args[0], pages)
		},
	}
}

// pageFolders are the folders of the reference with nothing but pages made here.
var pageFolders = []string{"cli", "kinds"}

// writePages writes pages below a folder. In pageFolders it removes any other page, such as that of a verb that is gone.
func writePages(dir string, pages map[string]string) error {
	for _, folder := range pageFolders {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return err
		}
		old, err := fs.Glob(os.DirFS(dir), folder+"/*.md")
		if err != nil {
			return err
		}
		for _, name := range old {
			if _, ok := pages[name]; ok {
				continue
			}
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if err := cli.WriteFile(filepath.Join(dir, name), []byte(pages[name])); err != nil {
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
func referencePages(a *cli.App, root *cobra.Command, examples fs.FS) (map[string]string, error) {
	kinds, err := cli.AllKinds(a)
	if err != nil {
		return nil, err
	}
	meta, err := cli.MetaType()
	if err != nil {
		return nil, err
	}
	pages := map[string]string{
		"yaml.md": generated + strings.NewReplacer(
			"{{meta}}", fieldTable(meta),
			"{{kinds}}", strings.TrimSuffix(author.KindTable(kinds, "kinds/"), "\n"),
		).Replace(yamlPage),
		"configuration.md":   generated + strings.Replace(configPage, "{{settings}}\n", cli.Settings.Markdown(), 1),
		"puppet-catalogs.md": generated + puppet.Page(),
		"interfaces.md":      generated + interfacesPage(a, virtual.DefaultCatalog()),
		"kinds/README.md":    generated + strings.Replace(kindsPage, "{{kinds}}", strings.TrimSuffix(author.KindTable(kinds, ""), "\n"), 1),
	}
	cli, err := cliPages(root)
	if err != nil {
		return nil, err
	}
	maps.Copy(pages, cli)
	api, err := control.Document()
	if err != nil {
		return nil, err
	}
	pages["openapi.json"] = string(api)
	if pages["documents.json"], err = documentsSchema(root); err != nil {
		return nil, err
	}
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
func interfacesPage(a *cli.App, c *virtual.Catalog) string {
	parts := []string{interfacesHead}
	for _, module := range c.Modules() {
		if i, err := c.Interface(module); err == nil {
			parts = append(parts, virtual.Page(i, c.Backends(module), machine.Kind(a, module)))
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
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |", f.Key, render.TableCell(derive.TypeName(f.Type)), defaultCell(f), render.TableCell(derive.DocText(f))))
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

// cliPages returns the pages of the command line: one a verb, with the verbs below it, and an index with what they share.
func cliPages(root *cobra.Command) (map[string]string, error) {
	shared, pages, index := sharedFlags(root), map[string]string{}, "| verb | what it does |\n| --- | --- |"
	for _, cmd := range root.Commands() {
		if !documented(cmd) {
			continue
		}
		text, err := cliTexts.ReadFile("reference/cli/" + cmd.Name() + ".md")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		page := verbPage(cmd, "#", shared) + "\n" + string(text)
		pages["cli/"+cmd.Name()+".md"] = generated + strings.TrimRight(page, "\n") + "\n"
		index += fmt.Sprintf("\n| [%s](%s.md) | %s. |", cmd.Name(), cmd.Name(), render.TableCell(cmd.Short))
	}
	text, err := cliTexts.ReadFile("reference/cli/README.md")
	if err != nil {
		return nil, err
	}
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(shared)) {
		rows = append(rows, shared[name])
	}
	pages["cli/README.md"] = generated + strings.NewReplacer(
		"{{codes}}", cli.ExitCodes, "{{verbs}}", index, "{{flags}}", strings.Join(rows, "\n"),
	).Replace(string(text))
	return pages, nil
}

// documented tells if a verb has a place in the reference.
func documented(cmd *cobra.Command) bool { return cmd.IsAvailableCommand() && cmd.Name() != "help" }

// sharedFlags returns the rows of the flags that the index explains, by name: those of all verbs, and those that at least four verbs
// have with one text. A verb that gives such a flag another text keeps its own row.
func sharedFlags(root *cobra.Command) map[string]string {
	count := map[string]map[string]int{}
	var add func(*cobra.Command)
	add = func(cmd *cobra.Command) {
		for name, row := range flagRows(cmd) {
			if count[name] == nil {
				count[name] = map[string]int{}
			}
			count[name][row]++
		}
		for _, c := range cmd.Commands() {
			if documented(c) {
				add(c)
			}
		}
	}
	shared := map[string]string{}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { shared[f.Name] = flagRow(f) })
	for _, c := range root.Commands() {
		if documented(c) {
			add(c)
		}
	}
	for name, rows := range count {
		row := slices.MaxFunc(slices.Sorted(maps.Keys(rows)), func(a, b string) int { return cmp.Compare(rows[a], rows[b]) })
		if rows[row] >= 4 {
			shared[name] = row
		}
	}
	return shared
}

// flagRows returns the rows of the flags of a verb by name.
func flagRows(cmd *cobra.Command) map[string]string {
	rows := map[string]string{}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			rows[f.Name] = flagRow(f)
		}
	})
	return rows
}

// verbPage returns the part of the reference about one verb and those below it: the text of --help, so that the two cannot differ.
func verbPage(cmd *cobra.Command, heading string, shared map[string]string) string {
	parts := []string{heading + " " + cmd.CommandPath(), cmd.Short + ".", "```text\n" + cmd.UseLine() + "\n```"}
	if cmd.Long != "" {
		parts = append(parts, paragraphs(cmd.Long))
	}
	if cmd.Example != "" {
		parts = append(parts, "```sh\n"+unindent(cmd.Example)+"\n```")
	}
	own, elsewhere := []string{"| flag | default | meaning |", "| --- | --- | --- |"}, []string(nil)
	rows := flagRows(cmd)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if rows[name] == shared[name] {
			elsewhere = append(elsewhere, "`--"+name+"`")
		} else {
			own = append(own, rows[name])
		}
	}
	if len(own) > 2 {
		parts = append(parts, strings.Join(own, "\n"))
	}
	if len(elsewhere) > 0 {
		parts = append(parts, "[Shared flags](README.md#shared-flags): "+strings.Join(elsewhere, ", ")+".")
	}
	var page strings.Builder
	page.WriteString(strings.Join(parts, "\n\n") + "\n")
	for _, c := range cmd.Commands() {
		if documented(c) {
			page.WriteString("\n" + verbPage(c, heading+"#", shared))
		}
	}
	return page.String()
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
	return fmt.Sprintf("| %s | %s | %s |", name, value, render.TableCell(usage))
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
