package yaml

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Notation is one way to write a graph. A new one is a row of the table and a package that reads it.
type Notation struct {
	Name       string
	Extensions []string // of its files, with the dot; a file of tests has the first one
	Flag       string   // the flag of the verbs that names a graph in it
	Folder     bool     // a folder stands for its files of this notation

	// Format returns a document in its usual form. It is nil for a notation that fmt leaves alone.
	Format func(src []byte) ([]byte, error)

	// parse returns the tree of a document that prescan has accepted; nil for a graph that is no document, such as a program. Each call of
	// edges makes a taker that may take the edges from the start.
	parse func(file string, src []byte, edges func() taker) (*schema.Node, schema.Diagnostics)
}

// Notations returns the table. Where two rows have one extension, the first one decides, and a flag names the other.
func Notations() []Notation {
	return []Notation{
		{Name: "YAML", Extensions: []string{".yaml", ".yml"}, Flag: "yaml", Folder: true, Format: Format, parse: parseYAML},
		{Name: "JSON", Extensions: []string{".json"}, Flag: "yaml", Format: Format, parse: parseYAML}, // JSON is YAML, too
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
