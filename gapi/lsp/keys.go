package lsp

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/expand"
)

// keyDoc is a key of the format of graphs, with its meaning.
type keyDoc struct{ key, doc string }

// keyTable has the keys of a graph that no type of a kind describes, by the path of the map. * stands for any element. The first row that
// fits counts. It is not altered at run time.
var keyTable = []struct {
	path string
	keys []keyDoc
}{
	{"", []keyDoc{
		{"graph", "The name of the graph; else that of the file."}, {"comment", "Free text."}, {"noop", "Only look and report: alter nothing."},
		{"include", "Further files and folders of this graph. Paths are relative to this file."}, {"resources", "The resources, by kind."},
		{"edges", "Edges between resources."}, {"collect", "Resources of other hosts that this host takes over."},
		{"vars", "Variables, which --var, --vars and MGMT_VAR_NAME set."}, {"data", "Layers of data, the most exact first."},
		{"defaults", "Parameters of all resources of a kind; * stands for every kind."}, {"secrets", "Where secrets are from, in the order in which they are asked."},
		{"use", "Modules that the graph uses."},
	}},
	{"edges -", []keyDoc{
		{"name", "A name that is only shown."}, {"from", "The resource that comes first: kind[name]."}, {"to", "The resource that waits for it: kind[name]."},
		{"notify", "Refresh the second one when the first one has changed."}, {"comment", "Free text."},
	}},
	{"edges - from", []keyDoc{{"kind", "The kind of the resource."}, {"name", "The name of the resource."}}},
	{"edges - to", []keyDoc{{"kind", "The kind of the resource."}, {"name", "The name of the resource."}}},
	{"use -", []keyDoc{
		{"module", "The folder of the module."}, {"name", "The name of this instance, by which module.NAME reads its outputs."},
		{"with", "The inputs of the module."}, {"when", "The module is left out where this is false."}, {"for_each", "One instance for each element."},
	}},
	{"collect -", []keyDoc{
		{"kind", "The kind of the exported resources."}, {"name", "A pattern of their names; * stands for any characters."},
		{"from", "A pattern of the hosts that export them."}, {"set", "Parameters that take the place of the exported ones."},
	}},
	{"vars *", variableKeys}, {"inputs *", variableKeys},
	{"outputs *", []keyDoc{{"type", "The type of the value."}, {"value", "The value."}, {"doc", "What the output is for."}}},
	{"data", []keyDoc{{"files", "The files of the layers, the most exact first."}, {"merge", "How the layers are merged, by key: first, deep or append."}}},
	{"secrets -", []keyDoc{
		{"age", "A file whose values are encrypted with age."}, {"credentials", "true: the credentials of systemd."},
		{"command", "A command that prints a secret."}, {"sops", "A file that the program sops decrypts."},
	}},
}

// variableKeys are the keys of a declaration in vars and inputs. A module declares its inputs as a graph declares its variables.
var variableKeys = []keyDoc{
	{"type", "text, int, float, bool, list, map or any; else the type is that of the value."}, {"default", "The value where none is set."},
	{"doc", "What the variable is for."},
}

// moduleKeys are the keys that only the file of a module has.
var moduleKeys = []keyDoc{
	{"module", "The name of an instance without a name of its own."}, {"inputs", "The values that the module needs."}, {"outputs", "The values that the module gives."},
}

// resourceKeys are the keys that every resource has, in addition to the parameters of its kind.
var resourceKeys = []keyDoc{
	{"name", "The name of the resource."}, {"meta", "Metaparameters: how the engine runs the resource."}, {"recv", "Parameters that are received from other resources: kind[name].key."},
	{"before", "Resources that wait for this one."}, {"depend", "Resources that this one waits for."},
	{"notify", "Resources that wait for this one, and are refreshed when it has changed."}, {"listen", "Resources that this one waits for, and whose changes refresh it."},
	{"when", "The resource is left out where this is false."}, {"for_each", "One resource for each element of a list or a map: each.key, each.value, each.index."},
	{"comment", "Free text."},
}

// valueTable has the words of values that no type of a kind describes, by the path of the value.
var valueTable = []struct {
	path  string
	words []string
}{
	{"noop", []string{"true", "false"}}, {"edges - notify", []string{"true", "false"}},
	{"vars * type", varWords}, {"inputs * type", varWords}, {"outputs * type", varWords},
	{"data merge *", []string{"first", "deep", "append"}}, {"secrets - credentials", []string{"true"}},
}

// varWords are the words for types, as package expand reads them. A test of that package would not notice another word here.
var varWords = []string{"text", "int", "float", "bool", "list", "map", "any"}

// fits reports whether a path is that of a row. The star stands for any key, and never for an entry of a list.
func fits(row string, path []string) bool {
	want := strings.Fields(row)
	return slices.EqualFunc(want, path, func(w, p string) bool { return w == "*" && p != item || w == p })
}

// keysAt returns the keys that a map of the format has; nil where a type describes it.
func keysAt(file string, path []string) []keyDoc {
	for _, row := range keyTable {
		if !fits(row.path, path) {
			continue
		}
		// The file of a module has the keys of a graph, too.
		if row.path == "" && filepath.Base(file) == expand.ModuleFile {
			return append(slices.Clip(moduleKeys), row.keys...)
		}
		return row.keys
	}
	return nil
}

// expectKeys are the keys of an expectation of a test whose values are references.
var expectKeys = []string{"order", "changed", "refreshed", "failed", "blocked", "ok"}

// kindAt returns the name of the kind whose resource a path is in, and the path below that resource; ok is false outside of one.
func kindAt(path []string) (kind string, below []string, ok bool) {
	switch {
	case len(path) >= 3 && path[0] == "resources" && path[2] == item:
		return path[1], path[3:], true
	case len(path) >= 5 && path[0] == "tests" && path[2] == "machine" && path[4] == item:
		return path[3], path[5:], true
	case len(path) >= 7 && path[0] == "tests" && path[2] == "steps" && (path[4] == "drift" || path[4] == "expect") && path[6] == item:
		return path[5], path[7:], true
	case len(path) >= 2 && path[0] == "defaults":
		return path[1], path[2:], true
	}
	return "", nil, false
}

// typeAt returns the type at a path below a type, nil where there is none.
func typeAt(t *schema.Type, path []string) *schema.Type {
	for _, p := range path {
		switch {
		case t == nil:
			return nil
		case p == item || t.Kind == schema.KindMap:
			t = t.Elem
		default:
			f := t.Field(p)
			if f == nil {
				return nil
			}
			t = f.Type
		}
	}
	return t
}

// resourceType returns the type at a path below a resource of a kind. It is nil for an unknown kind, and where the key belongs to the declaration.
func (s *server) resourceType(kind string, below []string) *schema.Type {
	if len(below) > 0 && below[0] == "meta" {
		return typeAt(s.o.Meta, below[1:])
	}
	k, err := s.o.Kinds().Kind(strings.ToLower(kind))
	if err != nil {
		return nil
	}
	return typeAt(k.Type, below)
}
