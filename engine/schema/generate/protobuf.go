package generate

import (
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema/derive"
	"github.com/reactivegraph/mgmt/engine/schema/idl"
)

// protobuf writes one file with a message for each resource: NAME.proto. Messages of several files would need imports of
// each other, and those of resources do not speak of each other: a reference is a text.
func protobuf(p *idl.Package, _ Options) (Files, error) {
	var kinds []derive.Kind
	for _, d := range p.Resources() {
		kinds = append(kinds, kindOf(d))
	}
	name := strings.ReplaceAll(p.Name, "-", "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "p" + name
	}
	text, err := derive.Protobuf(name, header("// ", p.Name), kinds)
	return Files{p.Name + ".proto": text}, err
}
