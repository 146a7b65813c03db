package files

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/internal/unix"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/names"
)

// The longest path, and the longest part of a path, that the system takes.
const (
	MaxPath = 4095
	maxName = 255
)

func CheckPath(what, p string) error {
	if err := CheckText(what, p); err != nil {
		return err
	}
	if !strings.HasPrefix(p, "/") {
		return fmt.Errorf("%s %q is not absolute, it must begin with a slash", what, p)
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return fmt.Errorf("%s %q has .. in it, write the path that is meant", what, p)
		}
		if len(part) > maxName {
			return fmt.Errorf("%s: the part %q... has %d bytes, more than %d", what, part[:20], len(part), maxName)
		}
	}
	return nil
}

func CheckText(what, p string) error {
	switch {
	case p == "":
		return fmt.Errorf("%s is empty", what)
	case strings.ContainsRune(p, 0):
		return fmt.Errorf("%s %q has a NUL byte in it", what, p)
	case len(p) > MaxPath:
		return fmt.Errorf("%s %q... has %d bytes, more than %d", what, p[:20], len(p), MaxPath)
	}
	return nil
}

// ParentOf returns, where nothing is altered, the error that making a file in a
// missing folder would have.
func ParentOf(init *engine.Init, p string) error {
	dir, _ := At(safepath.Of(init.Host), p)
	_, err := dir.Self()
	return ExplainParent(init, p, err)
}

// ExplainParent adds a way out to the error of making a file in a missing folder.
func ExplainParent(init *engine.Init, p string, err error) error {
	w := safepath.Of(init.Host)
	dir, name := At(w, p)
	return NoParent(Of(init), w.ForOwner(0), dir.Path(name), err)
}

// At returns a path as a name in a folder that each use looks for anew.
func At(w safepath.Walker, p string) (dir atomicfile.Dir, name string) {
	p = strings.TrimRight(p, "/")
	i := strings.LastIndexByte(p, '/')
	if i < 0 { // the root
		return atomicfile.AtBy(w, ""), "."
	}
	return atomicfile.AtBy(w, p[:i]), p[i+1:]
}

// HasParent reports whether the folder of a path is there.
func HasParent(by safepath.Walker, p string) bool {
	st, err := atomicfile.FollowBy(by, path.Dir(p))
	return err == nil && st.IsDir()
}

// NoParent turns the error of making something in a missing folder into one that
// says what to do. A folder that another resource makes needs nothing but time:
// Watch hears of it. s may be nil.
func NoParent(s *Shared, by safepath.Walker, p string, err error) error {
	if !IsMissing(err) {
		return err
	}
	parent := path.Dir(p)
	if HasParent(by, p) {
		return Explained(err, "%s can't be made: its parent folder is there, but takes nothing new (or was made again meanwhile)", p)
	}
	for dir := parent; ; dir = path.Dir(dir) {
		st, serr := atomicfile.FollowBy(by, dir)
		switch {
		case serr == nil && !st.IsDir():
			return Explained(err, "%s: %s is a %s and not a folder", p, dir, st.Kind())
		case serr == nil && s.Manages(parent):
			return Explained(err, "%s: its parent folder %s does not exist (yet); it is in the graph", p, parent)
		case serr == nil:
			return Explained(err, "%s: the parent folder %s does not exist; add file[%s/] to the graph%s", p, parent, parent, OrPackage(parent))
		case dir == "/":
			return err
		}
	}
}

// packaged are the folders in which packages have, by custom, folders of their own.
var packaged = []string{"/etc/", "/usr/", "/opt/", "/srv/", "/var/lib/", "/var/log/", "/var/cache/", "/var/spool/", "/var/www/"}

// OrPackage is the other way to a folder that a package may bring.
func OrPackage(folder string) string {
	i := slices.IndexFunc(packaged, func(p string) bool { return strings.HasPrefix(folder, p) })
	if i < 0 {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(folder, packaged[i]), "/")
	if names.CheckPackage(name) != nil {
		name = "NAME"
	}
	return fmt.Sprintf("; or, if a package brings it, let this resource come after that package, as in depend: [\"pkg[%s]\"]", name)
}

// explainedError is an error in other words.
type explainedError struct {
	text string
	err  error
}

func (e *explainedError) Error() string { return e.text }

func (e *explainedError) Unwrap() error { return e.err }

func Explained(err error, format string, args ...any) error {
	return &explainedError{fmt.Sprintf(format, args...), err}
}

func IsMissing(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)
}

// The permissions that a symbolic mode starts from, and those of a file with a
// secret in it.
const (
	FreshFile   = 0o644
	FreshFolder = 0o755
	PrivateMode = 0o600
)
