package files

import (
	"fmt"
	"strings"
	"sync"
	"unicode"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosting"
)

// Of returns what all files have in common, or nil.
func Of(init *engine.Init) *Shared {
	s, _ := init.Shared.(*Shared)
	return s
}

// OfHost returns the shared state of all files, or nil, for a kind with another shared state.
func OfHost(h engine.Host) *Shared {
	sh, ok := h.(hosting.Sharer)
	if !ok {
		return nil
	}
	s, _ := sh.SharedOf("file").(*Shared)
	return s
}

// Managed is a path that the files of the graph know as managed.
type Managed struct{ path string }

// Tell makes path the known path; empty for none.
func (t *Managed) Tell(s *Shared, path string) {
	if s == nil || path == t.path {
		return
	}
	if path != "" {
		s.Manage(path)
	}
	if t.path != "" {
		s.Unmanage(t.path)
	}
	t.path = path
}

// locks keep editors of parts of one file apart: the next editor reads the result of the one
// before. The zero value is ready.
type locks struct {
	lockMu sync.Mutex
	held   map[string]*lock
}

type lock struct {
	sync.Mutex
	users int // who have it, or wait for it
}

// partWriter is a kind that edits only a part of a file.
type partWriter interface{ WritesPart() }

// wholeFile is the kind file. It says what it and a resource of another kind, which writes a
// file of the same path, want differently.
type wholeFile interface {
	PartClash(other engine.Res) error
}

// Clash says why a resource that writes a file, or a part of it, and one of
// another kind for the same file clash.
func Clash(r, other engine.Res) error {
	if f, ok := other.(wholeFile); ok {
		return f.PartClash(r)
	}
	_, one := r.(partWriter)
	if _, both := other.(partWriter); one && both {
		return nil
	}
	return fmt.Errorf("a %s and a %s both write the content", r.Kind(), other.Kind())
}

// PlainPath refuses any text but the path of a file, and paths that no person means.
func PlainPath(what, p string) error {
	if err := CheckPath(what, p); err != nil {
		return err
	}
	switch {
	case strings.ContainsFunc(p, unicode.IsControl):
		return fmt.Errorf("%s %q has a control character in it", what, p)
	case strings.HasSuffix(p, "/"):
		return fmt.Errorf("%s %q ends in a slash, and has to be a file", what, p)
	}
	return nil
}
