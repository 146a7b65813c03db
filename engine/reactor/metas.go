package reactor

import "github.com/reactivegraph/mgmt/engine"

// metas are the metaparameters that resources were given last. A graph has many resources and few different
// metaparameters, so that equal ones are kept once. It belongs to the one swap that goes on.
type metas [16]*engine.MetaParams

// share returns the metaparameters of a resource. It makes the resource take equal ones in their place, where there
// are such: the engine alters no metaparameters from Init on.
func (m *metas) share(res engine.Res) *engine.MetaParams {
	own := res.MetaParams()
	sharer, ok := res.(engine.MetaSharer)
	if !ok || own == nil {
		return own
	}
	for i, other := range m {
		if other != nil && other.Equal(own) {
			m[0], m[i] = m[i], m[0] // the next one is likely to be the same
			if other != own {
				sharer.ShareMetaParams(other)
			}
			return res.MetaParams() // not other: a method of another kind may have got in the way
		}
	}
	copy(m[1:], m[:]) // the oldest one falls out
	m[0] = own
	return own
}
