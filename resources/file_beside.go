package resources

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"unicode"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// What is here is for the kinds beside file that write files: they have in common
// with the files what those have in common, so that no folder is purged of what
// another kind has made, and what holds a secret is known.

// withFiles is the Shared of such a kind.
func withFiles() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return (*FileRes)(nil).Shared()
}

// filesOf returns what all files have in common, or nil.
func filesOf(init *engine.Init) *fileShared {
	s, _ := init.Shared.(*fileShared)
	return s
}

// filesOfHost returns what all files have in common, or nil, for a kind that has something
// else in common.
func filesOfHost(h engine.Host) *fileShared {
	sh, ok := h.(engine.SharedHost)
	if !ok {
		return nil
	}
	s, _ := sh.SharedOf("file").(*fileShared)
	return s
}

// managed is a path of which the files of the graph know that it is managed.
type managed struct{ path string }

// tell makes path the one that they know of; empty for none.
func (t *managed) tell(s *fileShared, path string) {
	if s == nil || path == t.path {
		return
	}
	if path != "" {
		s.manage(path)
	}
	if t.path != "" {
		s.unmanage(t.path)
	}
	t.path = path
}

// fileLocks keep those apart that edit parts of one file: what one has written is
// there when the next one reads. The zero value is ready.
type fileLocks struct {
	lockMu sync.Mutex
	locks  map[string]*fileLock
}

type fileLock struct {
	sync.Mutex
	users int // who have it, or wait for it
}

// lock waits until nobody else edits the file at a path, and keeps it until unlock
// is called. It may be called on nil.
func (s *fileShared) lock(path string) (unlock func()) {
	if s == nil {
		return func() {}
	}
	s.lockMu.Lock()
	l := s.locks[path]
	if l == nil {
		l = &fileLock{}
		if s.locks == nil {
			s.locks = map[string]*fileLock{}
		}
		s.locks[path] = l
	}
	l.users++
	s.lockMu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		s.lockMu.Lock()
		defer s.lockMu.Unlock()
		if l.users--; l.users == 0 {
			delete(s.locks, path)
		}
	}
}

// wroteAt notes that the file at a path was written.
func (s *fileShared) wroteAt(p string, by *engine.Init) {
	if s == nil {
		return
	}
	if st, err := atomicfile.Follow(path.Dir(p)); err == nil {
		s.wrote(st.Dev, path.Dir(p), by)
	}
}

// partClash says what the file and a resource of another kind, which writes a file of
// that path, want differently.
func (r *FileRes) partClash(other engine.Res) error {
	if _, ok := engine.As[engine.ClashingRes](other); !ok {
		return fmt.Errorf("a %s is no file", other.Kind())
	}
	if t, ok := other.(*TarRes); ok && t.Extract != "" {
		return t.folderClash(r)
	}
	switch wants := r.wants(); {
	case wants != "" && wants != "a file":
		return fmt.Errorf("the file wants %s, and the %s writes a file", wants, other.Kind())
	case r.bodied() && !r.Keep: // what is kept, others may edit
		return fmt.Errorf("the file has a content of its own, and the %s writes one too", other.Kind())
	}
	return nil
}

// partWriter is a kind that edits only a part of a file.
type partWriter interface{ writesPart() }

// writesClash says why a resource that writes a file, or a part of it, and one of
// another kind for the same file clash.
func writesClash(r, other engine.Res) error {
	if f, ok := other.(*FileRes); ok {
		return f.partClash(r)
	}
	_, one := r.(partWriter)
	if _, both := other.(partWriter); one && both {
		return nil
	}
	return fmt.Errorf("a %s and a %s both write the content", r.Kind(), other.Kind())
}

// plainPath refuses what is no path of a file, and what no person means.
func plainPath(what, p string) error {
	if err := fileCheckPath(what, p); err != nil {
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

// parentOf returns, where nothing is altered, the error that making a file in a
// missing folder would have.
func parentOf(init *engine.Init, p string) error {
	return (&fileRun{FileRes: &FileRes{init: init}}).parent(fileAt(p))
}

// explainParent makes of the error of making a file in a missing folder one that says
// what to do.
func explainParent(init *engine.Init, p string, err error) error {
	return (&fileRun{FileRes: &FileRes{init: init}}).noParent(fileAt(p), err)
}

// watchAll is the Watch of a kind whose sources are paths.
func watchAll(ctx context.Context, init *engine.Init, paths []string, o engine.WatchOptions) error {
	sub, err := init.Host.Watch(ctx, paths, o)
	if err != nil {
		return err
	}
	defer sub.Close()
	init.Running()
	for {
		select {
		case <-sub.C():
			init.Event()
		case <-ctx.Done():
			return nil
		}
	}
}

// broken collects the rules that are broken.
func broken(rules []rule) (errs []error) {
	for _, r := range rules {
		if r.broken {
			errs = append(errs, errors.New(r.text))
		}
	}
	return errs
}

// rule is one that spans parameters.
type rule struct {
	broken bool
	text   string
}
