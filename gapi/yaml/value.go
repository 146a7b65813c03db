package yaml

import "github.com/reactivegraph/mgmt/engine/schema"

// Value reads one document of YAML other than a graph. The error is
// schema.Diagnostics, whose places have no file.
// An empty text is an error.
func Value(src []byte) (*schema.Node, error) {
	n, ds := parse("", src)
	return n, ds.Err()
}
