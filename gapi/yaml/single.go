package yaml

import (
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// Document reads the one document of a text other than a graph, such as a configuration
// file. The name is that of the file, for positions. The node is nil for a text without a
// value, as one of comments only, and where the findings leave nothing to look at.
// It does no I/O. The bounds on lines, depth and aliases hold for it, and the caller bounds the
// bytes.
func Document(name string, src []byte) (*schema.Node, schema.Diagnostics) {
	n, ds := parse(name, src)
	if n == nil && len(ds) == 1 && ds[0].Message == emptyGraph {
		return nil, nil
	}
	return n, ds
}

// Discreet returns a document of a private file with the findings about it. Texts that findings
// must not repeat are left out: see gapi.Private. ours recognises the expected form, which
// findings call by its name. A text that could not be parsed is not recognised either, so its
// findings repeat none of it.
func Discreet(file string, n *schema.Node, ds schema.Diagnostics, ours func(*schema.Node) bool, form string) (*schema.Node, schema.Diagnostics) {
	switch {
	case n == nil:
		return nil, discreet(ds)
	case ours(n):
		return n, ds
	}
	return nil, gapi.Unshown(file, form)
}
