package enginetest

import (
	"context"
	"errors"

	"github.com/reactivegraph/mgmt/engine"
)

// toyShared is the value that all toys share. It holds nothing but its own state.
type toyShared struct {
	bug           bug
	begun, closed bool
	ended         bool // by the bug of a Cleanup
}

// Shared implements engine.SharedRes.
func (r *toy) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return "toy", func(context.Context, engine.Host) (engine.Shared, error) {
		if r.bug == "shared does not open" {
			return nil, errors.New("no shared thing")
		}
		return &toyShared{bug: r.bug}, nil
	}
}

func (s *toyShared) Begin() {
	if s.bug == "begin panics" {
		panic("begin")
	}
	s.begun = true
}

func (s *toyShared) End() {
	if s.bug == "end panics" {
		panic("end")
	}
	s.begun = false
}

func (s *toyShared) Close() error {
	switch {
	case s.bug == "close fails":
		return errors.New("no close")
	case s.begun, s.closed:
		return errors.New("Close came before End, or twice")
	}
	s.closed = true
	return nil
}
