package watches

import "context"

// Turns has CheckApply and Watch look one after the other: while CheckApply runs Watch waits,
// and compares then with the state that CheckApply has seen last. So its own changes make no event.
// It is full while one of them looks.
type Turns chan struct{}

func NewTurns() Turns { return make(Turns, 1) }

// Lock waits until no other look goes on. The error is why the context has ended.
func (l Turns) Lock(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l Turns) Unlock() { <-l }
