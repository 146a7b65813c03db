package reactor

import "github.com/reactivegraph/mgmt/engine"

// metas are the metaparameters that resources were given last. A graph has many resources and few different
// metaparameters, so that equal ones are kept once. It belongs to the one swap that goes on.
type metas [16]*engine.MetaParams

// share returns the metaparameters of a resource. It makes the resource take equal ones in their place, where there
// are such: the engine alters no metaparameters from Init on.
func (m *metas) share(res engine.Res) *engine.MetaParams {
	own := engine.MetaOf(res)
	sharer, ok := res.(engine.MetaSharer)
	if !ok || own == nil {
		return res.MetaParams()
	}
	sharer.ShareMetaParams(m.first(own))
	return res.MetaParams() // a method of another kind may have got in the way
}

// first returns the first ones that were equal to own, which may be own.
func (m *metas) first(own *engine.MetaParams) *engine.MetaParams {
	for i, other := range m {
		if other != nil && other.Equal(own) {
			m[0], m[i] = m[i], m[0] // the next one is likely to be the same
			return other
		}
	}
	copy(m[1:], m[:]) // the oldest one falls out
	m[0] = own
	return own
}
