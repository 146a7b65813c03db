package statedir

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/journal/ineffect"
	"github.com/reactivegraph/mgmt/engine/records"
)

// Folder is a place for state, with the code that keeps its journal. In returns one. A program that keeps no state names none,
// and does not link that code.
type Folder interface {
	// Path is the path of the folder.
	Path() string
	// Abs returns the folder by its absolute path. The error says why the present folder is not known.
	Abs() (Folder, error)

	// hold takes the folder again where it was removed or replaced. again says that it was. With an error it is not ours.
	hold() (again bool, err error)
	// others are the names of files in the folder that the caller looks after, and renew writes again those that were removed.
	others() []string
	renew() error
	// journal opens the journal for a run that alters.
	journal(*slog.Logger) (keeper, error)
	// keep looks after the folder of a Dir until its Close.
	keep(*Dir, keeper, *journal.Lenient)
	// remembered returns a copy of the records, of a run that goes on, too.
	remembered() (records.Store, error)
	// effect returns the keeper of the names in effect.
	effect(*Options) Effect
	// declared returns what keeps the declarations, which are all that the function returns.
	declared(o *Options, all func() any) Declared
	// inEffect returns the names that were in effect from an input; none where there were none.
	inEffect(input string) (ineffect.Names, error)
}

// Effect keeps the names of the resources in effect, for the next start; see ineffect.Keeper.
type Effect interface {
	// Keep notes that a graph from an input is in effect. The names are asked for when they are written.
	Keep(names func() ineffect.Names, input string)
	// Renew writes them again where the file was removed.
	Renew() error
	Close() error
}

// Declared keeps digests of the declarations of the resources that are right, for the next start; see ineffect.Log.
type Declared interface {
	// Put has an entry written soon, nil for one that is gone.
	Put(key string, entry any)
	// Flush writes what was put.
	Flush()
	// Renew writes all again where the file was removed.
	Renew() error
	Close() error
}

// keeper is a journal.Journal.
type keeper interface {
	records.Store
	History() *journal.History
	Keep(context.Context) (again bool, err error)
	Close() error
}

// In returns the folder of a path, which need not be there yet; nil for an empty path.
func In(path string) Folder {
	if path == "" {
		return nil
	}
	return folder{path: path}
}

// Held returns the folder of a path that its caller has taken for itself, as by a lock. hold takes it again where it was removed or replaced, and reports whether
// it was; it is called about once a second while a run has the folder, and nothing is written anew while it returns an error. others are the names of files
// in the folder that the caller writes again itself, by renew, which is called as often and nil for nothing. It is nil for an empty path.
func Held(path string, hold func() (again bool, err error), renew func() error, others ...string) Folder {
	if path == "" {
		return nil
	}
	return folder{path, hold, renew, others}
}

// PathOf returns the path of a folder, empty for none.
func PathOf(f Folder) string {
	if f == nil {
		return ""
	}
	return f.Path()
}

type folder struct {
	path string
	held func() (again bool, err error) // nil where nobody else has to do with it
	anew func() error                   // nil for nothing
	kept []string
}

func (f folder) Path() string { return f.path }

func (f folder) others() []string { return f.kept }

func (f folder) hold() (again bool, err error) {
	if f.held != nil {
		return f.held()
	}
	_, err = os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		again, err = true, os.MkdirAll(f.path, 0o700)
	}
	return again && err == nil, err
}

func (f folder) renew() error {
	if f.anew == nil {
		return nil
	}
	return f.anew()
}

func (f folder) Abs() (Folder, error) {
	path, err := filepath.Abs(f.path)
	f.path = path
	return f, err
}

func (f folder) journal(log *slog.Logger) (keeper, error) {
	j, err := journal.Open(filepath.Join(f.path, journalFile), journal.Options{Log: log, Kept: true})
	if err != nil {
		return nil, err
	}
	return j, nil
}

func (f folder) keep(d *Dir, j keeper, l *journal.Lenient) { d.keep(j, l) }

func (f folder) remembered() (records.Store, error) { return Remembered(f.path) }

func (f folder) effect(o *Options) Effect {
	return ineffect.New(filepath.Join(f.path, inEffectFile), o.Log, o.Clock)
}

func (f folder) inEffect(input string) (ineffect.Names, error) {
	return ineffect.Read(filepath.Join(f.path, inEffectFile), input)
}

func (f folder) declared(o *Options, all func() any) Declared {
	return ineffect.NewLog("the declarations of the resources", filepath.Join(f.path, declaredFile), all, o.Log, o.Clock)
}
