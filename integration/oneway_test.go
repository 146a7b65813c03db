package integration_test

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// jsonPlaces are the functions that ask the decoder of JSON for a place, with the reason.
var jsonPlaces = map[string]string{
	"engine/schema/jsonnode/jsonnode.go offset": "the one reader of JSON that names a line and a column",
	"engine/httpd/body.go DecodeObject":         "the decoder names a field, and jsonnode has its place",
	"cmd/api/file.go jsonDocuments":             "the decoder finds where a value ends, and jsonnode reads it with its places",
	"provider/protocol/line.go offset":          "a message is one line from a program: its author needs the byte, and no file has it",
}

// TestOneReaderOfJSON: a finding in JSON has the place that jsonnode tells, and no other package counts lines of it.
func TestOneReaderOfJSON(t *testing.T) {
	judge(t, usesOf(t, "../", func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		return ok && slices.Contains([]string{"InputOffset", "SyntaxError", "UnmarshalTypeError"}, sel.Sel.Name)
	}), jsonPlaces, "read the text by engine/schema/jsonnode, whose nodes and findings have places")
}

// contentWriters are the functions of kinds that give a file its content, with the reason.
var contentWriters = map[string]string{
	"resources/internal/textpart/textpart.go fresh":     "the one way to write a part of a text file",
	"resources/file/regular.go writeNew":                "the whole file is its content",
	"resources/file/regular.go oldFile":                 "the whole file is its content",
	"resources/internal/archive/unpack.go file":         "a file of an archive is written whole",
	"resources/download/check.go stage":                 "a download is written whole, and renamed when it is complete",
	"resources/account/backends/home.go copyFile":       "a copy of a file of /etc/skel in a new home",
	"resources/internal/private/private.go writeNew":    "a record of mgmt in the folder of the resource",
	"resources/sysctl/proc.go set":                      "a setting of the kernel, which is no text file",
	"resources/internal/rtnet/forward.go setForwarding": "a setting of the kernel, which is no text file",
	"resources/account/backends/lock.go lock":           "an empty file that a lock is on",
	"resources/internal/atomicfile/check.go fill":       "a copy for a check, of what the writer is about to write",
	"resources/internal/atomicfile/check.go lockFolder": "opens a folder",
	"resources/internal/atomicfile/dir.go openAt":       "the writer that the others stand on",
	"resources/internal/atomicfile/remove.go openat":    "opens folders",
	"resources/internal/mounttab/mounts.go Open":        "only reads",
	"resources/internal/pkglock/locks.go holder":        "only reads",
}

// TestOneWriterOfParts: a kind that changes a part of a text file does it by package textpart.
func TestOneWriterOfParts(t *testing.T) {
	judge(t, usesOf(t, "../resources/", func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			sel, ok := n.Type.(*ast.SelectorExpr)
			return ok && sel.Sel.Name == "New" // atomicfile.New
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			return ok && slices.Contains([]string{"WriteFile", "OpenFile", "Create", "CreateTemp", "Open", "Openat"}, sel.Sel.Name) &&
				(sel.Sel.Name != "Open" || ofUnix(sel))
		}
		return false
	}), contentWriters, "change the text by resources/internal/textpart, or say in contentWriters why it is no part of a text file")
}

// ofUnix reports whether a function is of package unix.
func ofUnix(sel *ast.SelectorExpr) bool {
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "unix"
}

// usesOf returns the functions below a folder in which a node is found, packages for tests left out.
func usesOf(t *testing.T, root string, is func(ast.Node) bool) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for file, src := range sources(t) {
		if !strings.HasPrefix(file, root) {
			continue
		}
		for _, decl := range src.tree.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			where := strings.TrimPrefix(file, "../") + " " + f.Name.Name
			ast.Inspect(f, func(n ast.Node) bool {
				found[where] = found[where] || n != nil && is(n)
				return true
			})
		}
	}
	maps.DeleteFunc(found, func(where string, is bool) bool { return !is || ofTests(where) })
	return found
}

// judge compares what was found with what has a reason, both ways.
func judge(t *testing.T, found map[string]bool, reasons map[string]string, advice string) {
	t.Helper()
	for where := range found {
		if reasons[where] == "" {
			t.Errorf("%s: %s", where, advice)
		}
	}
	for where := range reasons {
		if !found[where] {
			t.Errorf("%s has a reason, and does it no more: take it out of the list", where)
		}
	}
}
