package virtual

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/internal/sorted"
)

// Generate makes an interface of the common parts of backends. For one backend it
// has all functions with their signatures. For several it has the functions of all
// with the parameters that all have, as the first one has them. The order is that of
// the first; aliases are left out unless asked for, and then the order is by name.
// It is a draft: whole backends make bad interfaces.
func Generate(module string, aliases bool, first *Backend, others ...*Backend) *Interface {
	i := &Interface{Module: module}
	for _, f := range first.Functions {
		if strings.HasPrefix(f.Name, "_") || (f.AliasOf != "" && !aliases) {
			continue
		}
		f.AliasOf = ""
		f.Params = slices.Clone(f.Params)
		if common(&f, others) {
			i.Functions = append(i.Functions, f)
		}
	}
	if aliases {
		sorted.Func(i.Functions, func(a, b Function) int { return cmp.Compare(a.Name, b.Name) })
	}
	return i
}

// common leaves f with the parameters that the others have too; false if one lacks
// it.
func common(f *Function, others []*Backend) bool {
	for _, o := range others {
		g := find(o.Functions, f.Name)
		if g == nil {
			return false
		}
		f.Params = slices.DeleteFunc(f.Params, func(p Param) bool {
			if p.named() {
				return g.param(p.Name) == nil
			}
			return g.rest(p.Kind) == nil
		})
	}
	return true
}
