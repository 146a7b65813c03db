package words

import (
	"embed"
	"fmt"
	"strings"
)

// Examples are the same small server in the notations of the tools, and in ours.
//
//go:embed example
var Examples embed.FS

// notations are the examples in the order in which the page shows them. That of Ansible is left out: docs/coming-from-ansible.md tells a longer story.
var notations = []struct{ Title, File, Language string }{
	{"mgmt of purpleidea", "upstream.yaml", "yaml"},
	{"Puppet", "manifest.pp", "puppet"},
	{"Salt", "state.sls", "yaml"},
	{"here", "ours.yaml", "yaml"},
}

// Page returns the page "Coming from ..." in Markdown: the examples and the table. The
// error is that of an example that is not there.
func Page() (string, error) {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, n := range notations {
		text, err := Examples.ReadFile("example/" + n.File)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n### %s\n\n```%s\n%s```\n", heading(n.Title), n.Language, text)
	}
	b.WriteString(pageTable)
	for _, s := range sections {
		b.WriteString("\n## " + s.title + "\n\n" + s.intro + "\n\n")
		rows(&b, s.places...)
	}
	b.WriteString("\n## Parameters and values\n\nA line such as `state: started` is about a value, the others are about the name of a parameter.\n")
	for _, kind := range kinds() {
		fmt.Fprintf(&b, "\n### %s\n\n", kind)
		rows(&b, kind, kind+".")
	}
	return b.String(), nil
}

func heading(title string) string {
	if title == "here" {
		return "In this program"
	}
	return "In " + title
}

var sections = []struct {
	title, intro string
	places       []string
}{
	{"What nothing means", "These parameters have another default here. `mgmt validate` says so. A running graph gets a note about groups of users, and about the others if it has words of mgmt of purpleidea.", []string{"absent ", "differs "}},
	{"Kinds", "Modules of Ansible are named with `ansible.builtin.` or without.", []string{"kind"}},
	{"In addition to the parameters of every resource", "References are texts such as `svc[nginx]`. `Service['nginx']` of Puppet and `service: nginx` of Salt are read too.", []string{"each", "name"}},
	{"Metaparameters", "They stand below the key `meta` of a resource.", []string{"meta", "meta."}},
	{"The top of a graph", "A graph is a map with the key `resources`.", []string{"top"}},
}

// kinds returns our kinds with rows, in the order of the table.
func kinds() []string {
	var list []string
	seen := map[string]bool{"kind": true, "each": true, "meta": true, "top": true, "name": true, "absent": true, "differs": true}
	for _, w := range load().rows {
		kind, _, _ := strings.Cut(w.Place, ".")
		kind, _, _ = strings.Cut(kind, " ")
		if !seen[kind] {
			seen[kind] = true
			list = append(list, kind)
		}
	}
	return list
}

// rows writes the rows of some places; a place that ends in a dot or a blank stands for all
// with this beginning.
func rows(b *strings.Builder, places ...string) {
	b.WriteString("| word | of | here | |\n| --- | --- | --- | --- |\n")
	for _, w := range load().rows {
		if !within(w.Place, places) {
			continue
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", theirs(w), w.Origin(), ours(w), strings.ReplaceAll(w.Note, "|", `\|`))
	}
}

func within(place string, places []string) bool {
	for _, p := range places {
		open := strings.HasSuffix(p, ".") || strings.HasSuffix(p, " ")
		if place == p || open && strings.HasPrefix(place, p) {
			return true
		}
	}
	return false
}

// valueWords are what the words for sorts of values stand for.
var valueWords = map[string]string{"~": `""`, "[]": "[a list]", "{}": "{a map}", "~text": "a text"}

func theirs(w *Word) string {
	if rest, ok := absence(w); ok {
		return strings.ReplaceAll(rest, "+", "`, `")
	}
	_, key, value := strings.Cut(w.Place, ".")
	word := w.Theirs
	if text, ok := valueWords[word]; ok {
		word = text
	}
	if value {
		return key + ": " + word
	}
	return word
}

// absence returns the parameters of a row about what nothing means.
func absence(w *Word) (keys string, ok bool) {
	sort, keys, ok := strings.Cut(w.Place, " ")
	return keys, ok && (sort == "absent" || sort == "differs")
}

// functions say what the functions do.
var functions = map[string]string{
	"zero": "left out where it is 0", "trim": "taken when the graph is read",
	"list": "a list", "commas": "a list", "map": "a map",
}

func ours(w *Word) string {
	_, key, value := strings.Cut(w.Place, ".")
	_, absent := absence(w)
	switch {
	case w.Refused():
		return "refused"
	case w.Dropped():
		return "left out"
	case w.Func() != "":
		return functions[w.Func()]
	case absent:
		return "`" + w.Ours + "`"
	case value:
		return "`" + key + ": " + strings.ReplaceAll(strings.ReplaceAll(w.Ours, " ", "`, `"), "=", ": ") + "`"
	default:
		return "`" + strings.ReplaceAll(strings.ReplaceAll(w.Ours, " ", "`, `"), "=", ": ") + "`"
	}
}

const pageHead = `# Coming from mgmt, Ansible, Puppet and Salt

This page translates the words of these tools. "mgmt of purpleidea" is the older program of that name. A graph may use words of another
tool: if the meaning is clear, mgmt takes the word and notes its own at load:

` + "```text" + `
$ mgmt validate graph.yaml
graph.yaml:3:3: note: the kind "service" is svc here (Ansible, Puppet)
graph.yaml:5:12: note: state: started of svc is state: running here (Ansible)
ok: 1 resource, 0 edges
` + "```" + `

It notes a word once, not at every resource. ` + "`mgmt fmt -w graph.yaml`" + ` replaces the words. A word whose meaning is not clear is an error
that says what to write.

| you have | what to do |
| --- | --- |
| a graph of mgmt of purpleidea in YAML | ` + "`mgmt validate FILE`" + ` says what is different, ` + "`mgmt run FILE`" + ` runs it |
| a graph of mgmt of purpleidea in mcl | write it in YAML: there is no reader for mcl |
| a playbook of Ansible | write its tasks as resources, with the words of the modules; [a web server told twice](../coming-from-ansible.md) shows how |
| a catalog of Puppet | ` + "`mgmt run --puppet-catalog FILE`" + ` runs it, see [Puppet catalogs](../puppet-catalogs.md) |
| a type of the Resource API of Puppet | ` + "`--types FOLDER`" + ` reads it, see [types as data](../types-as-data.md) |
| states of Salt | write them as resources, with the words of the states; ` + "`mgmt call`" + ` calls functions such as ` + "`pkg.list_pkgs`" + ` |
| a machine, and nothing else | ` + "`mgmt import`" + ` writes a graph of it |

## The same small server

A package, its configuration, its service, a user and a command.
`

const pageTable = `
Four things differ. mgmt does not end: it keeps the machine so. Resources that do not depend on each other run at once. A changed file
restarts nothing unless ` + "`notify`" + ` says so. A failed resource blocks those that depend on it, and is retried.
`
