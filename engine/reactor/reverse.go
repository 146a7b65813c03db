package reactor

import "context"

// remembers reports whether what is there has to be looked at before v is altered
// for the first time: the metaparameter reverse.
func (r *Reactor) remembers(*vertex) bool { return false }

// remember keeps what is there now.
func (r *Reactor) remember(context.Context, *vertex) error { return nil }
