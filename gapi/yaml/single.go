package yaml

import "github.com/reactivegraph/mgmt/engine/schema"

// Document reads the one document of a text other than a graph, such as a configuration
// file. The name is that of the file, for positions. The node is nil for a text without a
// value, as one of comments only, and where the findings leave nothing to look at.
func Document(name string, src []byte) (*schema.Node, schema.Diagnostics) {
	n, ds := parse(name, src)
	if n == nil && len(ds) == 1 && ds[0].Message == emptyGraph {
		return nil, nil
	}
	return n, ds
}
