package gapi

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// marked returns the parameters that the metaparameter secret of a declaration names, before
// it has been decoded.
func (it *item) marked() (paths []string) {
	n := it.Meta.Get("secret")
	if n == nil {
		return nil
	}
	for _, item := range n.Items {
		paths = append(paths, item.Text)
	}
	if n.Kind == schema.NodeString {
		paths = append(paths, n.Text)
	}
	return paths
}

// checkSecret refuses marks of parameters that are not there, or that others can see
// whatever mgmt does.
func (b *builder) checkSecret(it *item) {
	for i, path := range engine.MetaOf(it.res).Secret {
		at := fmt.Sprintf("secret[%d]", i)
		d := schema.Diagnostic{Pos: posOf(it.Meta.At(at), it.Pos), Path: at}
		f := it.info.Type.Field(topKey(path))
		switch {
		case f == nil:
			d.Message, d.Suggestion = "secret: there is no parameter "+quote(path), schema.Nearest(topKey(path), it.info.Type.Keys())
		case f.NoSecret:
			d.Message = "secret: " + path + " can't be one: " + instead(f)
		case f.Role == schema.RoleIdentity || f.Key == "name":
			d.Message = "secret: " + path + " says which thing it is, and is shown everywhere"
		default:
			if _, _, err := it.info.Type.At(path); err == nil {
				continue
			} else {
				d.Message = "secret: " + err.Error()
			}
		}
		b.addMeta(it, d)
	}
}

// unsaid returns a message of a resource without the texts that are marked as secrets.
func (it *item) unsaid(message string) string {
	var hidden secrets.Texts
	for _, path := range engine.MetaOf(it.res).Secret {
		if v, err := schema.Get(it.res, path); err == nil {
			hidden.Learn(v, true)
		}
	}
	return hidden.Clean(message)
}
