package inputs

import (
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// IsSecret reports whether the type of a parameter is a secret, or has one in it.
// A parameter of an unknown kind is none by its type, and the builder refuses the kind. A value
// that was computed from a secret is hidden all the same, see yaml.Rendering.
func IsSecret(a *cli.App, d *gapi.Declaration, key string) bool {
	t := TypeOf(a, d, key)
	return t != nil && t.HoldsSecret()
}

// TypeOf returns the type of a parameter; nil where nothing is known of it.
func TypeOf(a *cli.App, d *gapi.Declaration, key string) *schema.Type {
	k, err := a.Kinds().Kind(d.Kind)
	if err != nil || k.Type == nil {
		return nil
	}
	if field := k.Type.Field(key); field != nil {
		return field.Type
	}
	return nil
}

// Marked reports whether a parameter is marked by the metaparameter secret, as one is that was made from a secret.
// A mark may name a part of a parameter; the whole parameter then counts as marked.
func Marked(r *gapi.Declaration, param string) bool {
	n := r.Meta.Get("secret")
	if n == nil {
		return false
	}
	return slices.ContainsFunc(append(slices.Clone(n.Items), n), func(n *schema.Node) bool {
		return n.Text == param || strings.HasPrefix(n.Text, param+".") || strings.HasPrefix(n.Text, param+"[")
	})
}
