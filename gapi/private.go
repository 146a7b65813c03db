package gapi

import (
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Private reports whether other users may not read a file. Such a file may have been named by mistake, and no finding
// repeats its text unless it has the expected form. A file that is gone is not private.
func Private(path string) bool {
	info, err := os.Stat(path)
	return err == nil && PrivateMode(info.Mode())
}

// PrivateMode is Private of the mode of a file.
func PrivateMode(mode fs.FileMode) bool { return mode.IsRegular() && mode&0o004 == 0 }

// HasKey returns a function that recognises a map by one of these keys at its top, and nothing, an empty map and a list:
// the findings about those repeat none of their text.
func HasKey(keys ...string) func(*schema.Node) bool {
	return func(n *schema.Node) bool {
		if n == nil || n.Kind == schema.NodeNull || n.Kind == schema.NodeList || n.Kind == schema.NodeMap && len(n.Pairs) == 0 {
			return true
		}
		return slices.ContainsFunc(n.Pairs, func(p schema.Pair) bool { return slices.Contains(keys, p.Key) })
	}
}

// HasWords recognises a map whose keys are words, and anything that is no map, since the findings about that repeat nothing. Lines of
// another file, such as one of passwords, are not words.
func HasWords(n *schema.Node) bool {
	if n == nil || n.Kind != schema.NodeMap {
		return true
	}
	return !slices.ContainsFunc(n.Pairs, func(p schema.Pair) bool {
		return len(p.Key) > maxWord || strings.Trim(p.Key, "abcdefghijklmnopqrstuvwxyz_-") != ""
	})
}

// maxWord is longer than the key of each setting and fact.
const maxWord = 40

// Unshown is the one finding about a private file that does not have the expected form, such as "graph".
func Unshown(file, form string) schema.Diagnostics {
	return schema.Diagnostics{{Pos: schema.Pos{File: file, Line: 1, Col: 1},
		Message: "this is no " + form + "; other users may not read the file, so nothing of it is shown"}}
}
