package statedir

import (
	"log/slog"
	"path/filepath"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/journal/ineffect"
)

// Folder is a place for state, with the code that keeps its journal. In returns one. A program that keeps no state names none,
// and does not link that code.
type Folder interface {
	// Path is the path of the folder.
	Path() string
	// Abs returns the folder by its absolute path. The error says why the present folder is not known.
	Abs() (Folder, error)

	// journal opens the journal for a run that alters.
	journal(*slog.Logger) (keeper, error)
	// remembered returns a copy of the records, of a run that goes on, too.
	remembered() (engine.Store, error)
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
	Close() error
}

// Declared keeps digests of the declarations of the resources that are right, for the next start; see ineffect.Log.
type Declared interface {
	// Put has an entry written soon, nil for one that is gone.
	Put(key string, entry any)
	// Flush writes what was put.
	Flush()
	Close() error
}

// keeper is a journal.Journal.
type keeper interface {
	engine.Store
	History() *journal.History
	Close() error
}

// In returns the folder of a path, which need not be there yet; nil for an empty path.
func In(path string) Folder {
	if path == "" {
		return nil
	}
	return folder(path)
}

// PathOf returns the path of a folder, empty for none.
func PathOf(f Folder) string {
	if f == nil {
		return ""
	}
	return f.Path()
}

type folder string

func (f folder) Path() string { return string(f) }

func (f folder) Abs() (Folder, error) {
	path, err := filepath.Abs(string(f))
	return folder(path), err
}

func (f folder) journal(log *slog.Logger) (keeper, error) {
	j, err := journal.Open(filepath.Join(string(f), journalFile), journal.Options{Log: log})
	if err != nil {
		return nil, err
	}
	return j, nil
}

func (f folder) remembered() (engine.Store, error) { return Remembered(string(f)) }

func (f folder) effect(o *Options) Effect {
	return ineffect.New(filepath.Join(string(f), inEffectFile), o.Log, o.Clock)
}

func (f folder) inEffect(input string) (ineffect.Names, error) {
	return ineffect.Read(filepath.Join(string(f), inEffectFile), input)
}

func (f folder) declared(o *Options, all func() any) Declared {
	return ineffect.NewLog("the declarations of the resources", filepath.Join(string(f), declaredFile), all, o.Log, o.Clock)
}
