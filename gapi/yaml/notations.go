package yaml

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/toml"
)

// Notation is one way to write a graph. A new one is a row of the table and a package that reads it.
type Notation struct {
	Name       string
	Extensions []string // of its files, with the dot; a file of tests has the first one
	Flag       string   // the flag of the verbs that names a graph in it
	Folder     bool     // a folder stands for its files of this notation

	// Cursor says that an editor's cursor tells by the text around it where it stands, also in a text that can't be parsed: see gapi/lsp.
	Cursor bool

	// looks recognises a document without a known name; nil for one that only its name tells.
	looks func(src []byte) bool

	// Format returns a document in its usual form. It is nil for a notation that fmt leaves alone.
	Format func(src []byte) ([]byte, error)

	// Rewrite puts our words in the place of those of other tools. It is nil where those stay.
	Rewrite func(src []byte, list []gapi.Rewrite) ([]byte, error)

	// parse returns the tree of a document that prescan has accepted; nil for a graph that is no document, such as a program. Each call of
	// edges makes a taker that may take the edges from the start.
	parse func(file string, src []byte, edges func() taker) (*schema.Node, schema.Diagnostics)
}

// Notations returns the table. Where two rows have one extension, the first one decides, and a flag names the other.
func Notations() []Notation {
	return []Notation{
		{Name: "YAML", Extensions: []string{".yaml", ".yml"}, Flag: "yaml", Folder: true, Cursor: true, Format: Format, Rewrite: Rewrite, parse: parseYAML},
		{Name: "JSON", Extensions: []string{".json"}, Flag: "yaml", Cursor: true, Format: Format, Rewrite: Rewrite, parse: parseYAML}, // JSON is YAML, too
		{Name: "TOML", Extensions: []string{".toml"}, Flag: "yaml", Folder: true, looks: toml.Looks, Format: toml.Format, parse: parseTOML},
		{Name: "TypeScript", Extensions: []string{".ts"}, Flag: "ts"},
		{Name: "catalog of Puppet", Extensions: []string{".json"}, Flag: "puppet-catalog"},
	}
}

// NotationOf returns the notation of a file by its name. It is the zero Notation for a name without a known extension.
func NotationOf(name string) Notation {
	ext := filepath.Ext(name)
	for _, n := range Notations() {
		if slices.Contains(n.Extensions, ext) {
			return n
		}
	}
	return Notation{}
}

// IsDocument reports whether graphs of this notation are documents. Other graphs are made by a program, or by another tool.
func (n Notation) IsDocument() bool { return n.parse != nil }

// GraphNotation returns the notation of a graph by its name. Where the name says nothing, as that of standard input, the text tells.
func GraphNotation(name string, src []byte) Notation {
	if n := NotationOf(name); n.IsDocument() {
		return n
	}
	for _, n := range Notations() {
		if n.looks != nil && n.looks(src) {
			return n
		}
	}
	return documentOf(name)
}

// documentOf is NotationOf for a document. YAML reads what has no known name.
func documentOf(name string) Notation {
	if n := NotationOf(name); n.IsDocument() {
		return n
	}
	return Notations()[0]
}

// FlagExtensions returns the extensions of the graphs that a flag names, without dots, as shells want them.
func FlagExtensions(flag string) (all []string) {
	for _, n := range Notations() {
		if n.Flag == flag {
			for _, ext := range n.Extensions {
				all = append(all, strings.TrimPrefix(ext, "."))
			}
		}
	}
	return all
}

// TestPatterns names the files of tests, for a message.
func TestPatterns() string {
	return patterns(func(n Notation) []string {
		if !n.Folder {
			return nil
		}
		return []string{testEnding + n.Extensions[0]}
	})
}

// folderPatterns names the files for which a folder of graphs stands.
func folderPatterns() string {
	return patterns(func(n Notation) []string {
		if !n.Folder {
			return nil
		}
		return n.Extensions
	})
}

// documentPatterns names the files of all documents.
func documentPatterns() string {
	return patterns(func(n Notation) []string {
		if !n.IsDocument() {
			return nil
		}
		return n.Extensions
	})
}

// patterns names files by the endings that a function gives for each notation, as in "*.yaml, *.yml or *.json".
func patterns(endings func(Notation) []string) string {
	var all []string
	for _, n := range Notations() {
		for _, ending := range endings(n) {
			all = append(all, "*"+ending)
		}
	}
	last := len(all) - 1
	if last == 0 {
		return all[0]
	}
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// parseTOML takes a document as a whole.
func parseTOML(file string, src []byte, _ func() taker) (*schema.Node, schema.Diagnostics) {
	root, ds := toml.Document(file, src)
	if root == nil && ds == nil {
		ds = one(schema.Pos{File: file}, emptyGraph)
	}
	return root, ds
}
