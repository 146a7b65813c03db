package integration_test

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// privateNames are words that only this project used for things for which the field has a word. Names of
// files and declared names are free of them.
var privateNames = strings.Fields(`scribe purse fight guise shelf shelves errand looker sight glance beat linger beside brake
	poke debt owed absolve among firm wish asking pace`)

// TestPrivateNames: a name of the code, exported or not, has the words of the field.
func TestPrivateNames(t *testing.T) {
	for path, file := range sources(t) {
		if word := privateWord(strings.TrimSuffix(filepath.Base(path), ".go")); word != "" {
			t.Errorf("%s: the name of the file has the private word %q", path, word)
		}
		for _, decl := range file.tree.Decls {
			for _, id := range declaredBy(decl) {
				if word := privateWord(id.Name); word != "" {
					t.Errorf("%s: %s has the private word %q", file.set.Position(id.Pos()), id.Name, word)
				}
			}
		}
	}
}

// TestPrivateNamesAreSeen shows which names the test above refuses.
func TestPrivateNamesAreSeen(t *testing.T) {
	for name, want := range map[string]string{
		"Brake": "brake", "askWishes": "wish", "HTTPBeat": "beat", "pace": "pace", "beside_files": "beside", "newShelves": "shelves",
		"workspace": "", "Heartbeat": "", "confirm": "", "Insights": "",
	} {
		if got := privateWord(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// privateWord returns the private word that a name has, in the singular, empty for none.
func privateWord(name string) string {
	for _, w := range wordsOfName(name) {
		for _, s := range []string{w, strings.TrimSuffix(w, "s"), strings.TrimSuffix(w, "es")} {
			if slices.Contains(privateNames, s) {
				return s
			}
		}
	}
	return ""
}

// wordsOfName cuts a name into its words, in lower case: before a capital after a small letter, before the last capital of
// an abbreviation, and at anything that is no letter.
func wordsOfName(name string) []string {
	var b strings.Builder
	for i, c := range name {
		upper := func(i int) bool { return i < len(name) && unicode.IsUpper(rune(name[i])) }
		lower := func(i int) bool { return i < len(name) && unicode.IsLower(rune(name[i])) }
		if i > 0 && upper(i) && (lower(i-1) || lower(i+1)) {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return strings.FieldsFunc(strings.ToLower(b.String()), func(c rune) bool { return !unicode.IsLetter(c) })
}

// declaredBy returns the names that a declaration of a package declares: functions, methods, types with their fields and
// methods, constants, variables and parameters. The inside of bodies is left out.
func declaredBy(decl ast.Decl) (ids []*ast.Ident) {
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			ids = append(ids, n.Name)
		case *ast.TypeSpec:
			ids = append(ids, n.Name)
		case *ast.ValueSpec:
			ids = append(ids, n.Names...)
		case *ast.Field:
			ids = append(ids, n.Names...)
		case *ast.FuncLit:
			return false
		case *ast.BlockStmt:
			return false
		}
		return true
	})
	return ids
}
