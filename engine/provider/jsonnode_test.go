package provider_test

import (
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
)

// jsonNode reads JSON as a tree with positions, as a frontend would.
func jsonNode(file, src string) (*schema.Node, error) {
	n, found := jsonnode.Parse([]byte(src), jsonnode.Options{File: file})
	return n, found.Err()
}
