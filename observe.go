package mgmt

// With returns an Observer that tells both: o first, then next. A function that is nil in
// both stays nil, so the engine does not make the value for it.
func (o Observer) With(next Observer) Observer {
	return Observer{
		Swapped:   both(o.Swapped, next.Swapped),
		Ran:       both(o.Ran, next.Ran),
		Converged: both2(o.Converged, next.Converged),
		Lingers:   both(o.Lingers, next.Lingers),
		Paused:    both2(o.Paused, next.Paused),
		Held:      both2(o.Held, next.Held),
		Loaded:    both(o.Loaded, next.Loaded),
		Refused:   both(o.Refused, next.Refused),
		Warned:    both(o.Warned, next.Warned),
	}
}

// both returns a function that calls first and then next.
func both[T any](first, next func(T)) func(T) {
	switch {
	case first == nil:
		return next
	case next == nil:
		return first
	}
	return func(v T) {
		first(v)
		next(v)
	}
}

// both2 is both for functions of two values.
func both2[T, U any](first, next func(T, U)) func(T, U) {
	switch {
	case first == nil:
		return next
	case next == nil:
		return first
	}
	return func(v T, w U) {
		first(v, w)
		next(v, w)
	}
}
