// Package statedir opens the state folder of a run: the journal with the records that must survive a crash, the history, and the
// names of the resources in effect.
//
// # Laws
//
//   - A full or read-only disk does not stop a run: it goes on in memory, and says so. The repair of its machine is worth more.
//   - A run that only looks alters nothing: it reads copies, and makes no folder.
//   - A folder that is removed, replaced or mounted over while it is in use is taken again, and written anew with all that this process has of it: the
//     records and the history by the journal, other files by handles that were opened before. Loss tells what could not be.
//   - The folder has one user. A second run that alters gets the error of the journal.
//   - Close undoes Open in the opposite order, and leaves nothing behind in a temporary folder.
package statedir

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/journal/ineffect"
	"github.com/reactivegraph/mgmt/engine/records"
)

// The files in a state folder that this package knows.
const (
	journalFile   = "journal.db"     // the records that must survive a crash, and the history
	inEffectFile  = "in-effect"      // the names of the resources of the last graph
	declaredFile  = "declared"       // digests of the declarations of the resources that are right
	ledgerFile    = "commands"       // the commands that run
	collectedFile = "collected.json" // the exports that this host has collected last
	exportedFile  = "exported.json"  // the names of the exports of this host
)

// Options say how a state folder is used.
type Options struct {
	Folder   Folder        // nil for a temporary folder, which Close removes
	Store    records.Store // the caller's, in place of the journal; nil for the journal
	ReadOnly bool          // the run only looks
	Keep     bool          // the names of the resources in effect are kept, for the next start
	Clock    clock.Clock   // of the tries to write again; needed
	Log      *slog.Logger  // needed
}

// Dir is an open state folder. All that it has opened ends with Close.
type Dir struct {
	Path    string           // where resources keep state; empty for a run that only looks and has no folder
	Store   records.Store    // the records of the run
	History *journal.History // never nil
	Effect  Effect           // nil where nothing is to be kept

	o         Options
	forgetful bool     // nothing can be written to the folder
	unkept    *Loss    // where it is forgetful
	keeping   *keeping // nil where no journal is kept
	closers   []func() error
}

// Open opens a state folder, and makes it where it is not there, for its user alone. The error says why it can't be used; a disk
// without room is none.
func Open(o Options) (*Dir, error) {
	d := &Dir{Path: PathOf(o.Folder), o: o}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if o.Keep && o.Folder != nil && !o.ReadOnly && !d.forgetful {
		d.Effect = o.Folder.effect(&o)
		d.closers = append(d.closers, d.Effect.Close)
		d.Renews(d.Effect.Renew)
	}
	return d, nil
}

// open sets the folder and the stores: in the folder if there is one, else in memory.
func (d *Dir) open() (err error) {
	o := &d.o
	if o.Folder == nil && !o.ReadOnly {
		if d.Path, err = os.MkdirTemp("", "mgmt-"); err != nil {
			return err
		}
		d.closers = append(d.closers, func() error { return os.RemoveAll(d.Path) })
	}
	switch {
	case o.Store != nil:
		d.inMemory(o.Store)
	case o.Folder == nil:
		d.inMemory(journal.NewMemory())
	case o.ReadOnly:
		d.inMemory(d.copied())
	default:
		return d.openJournal()
	}
	return nil
}

// inMemory sets a store of another place, with a history in memory.
func (d *Dir) inMemory(s records.Store) {
	d.Store, d.History = s, journal.NewHistory(journal.HistoryOptions{})
	d.closers = append(d.closers, d.History.Close)
}

// copied returns what earlier runs remember, for a run that only looks.
func (d *Dir) copied() records.Store {
	m, err := d.o.Folder.remembered()
	if err != nil {
		d.o.Log.Warn("what earlier runs remember is not known: neither what would be undone, nor refreshes that are pending", slog.Any("error", err))
		return journal.NewMemory()
	}
	return m
}

// openJournal opens the journal in the folder. Where that cannot be written the run goes on in memory, and says so.
func (d *Dir) openJournal() error {
	path := filepath.Join(d.Path, journalFile)
	_ = os.MkdirAll(d.Path, 0o700) // else the journal says why not
	j, err := d.o.Folder.journal(d.o.Log)
	switch {
	case err == nil:
		lenient := journal.NewLenient(j, d.o.Log, d.o.Clock)
		d.Store, d.History = lenient, j.History()
		d.closers = append(d.closers, func() error { return withoutRoom(j.Close(), d.o.Log) }, lenient.Close)
		d.o.Folder.keep(d, j, lenient)
		return nil
	case journal.NoRoom(err):
		d.o.Log.Warn("THE STATE FOLDER CANNOT BE WRITTEN: refreshes that are pending, pauses and the history are lost when the program ends",
			slog.String("path", path), slog.Any("error", err))
		d.forgetful, d.unkept = true, &Loss{Since: d.o.Clock.Now(), Err: err}
		d.inMemory(journal.NewMemory())
		return nil
	}
	return err
}

// Renews has a file in the folder written again by its own keeper where the folder was removed.
func (d *Dir) Renews(renew func() error) {
	if k := d.keeping; k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.renew = append(k.renew, renew)
	}
}

// withoutRoom takes the error of a journal's Close. That the disk was full at the end
// costs the end of the history, and does not fail the run.
func withoutRoom(err error, log *slog.Logger) error {
	if !journal.NoRoom(err) {
		return err
	}
	log.Warn("the end of the history could not be written and is lost", slog.Any("error", err))
	return nil
}

// Close closes what Open has opened. A temporary folder goes last.
func (d *Dir) Close() error {
	if d.keeping != nil {
		d.keeping.end()
	}
	var errs []error
	for _, c := range slices.Backward(d.closers) {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// Ledger is the path of the file in which the commands that run stand, so that a later run finds commands which an earlier one has left behind. It is empty where no later run would look.
func (d *Dir) Ledger() string {
	if d.o.ReadOnly {
		return ""
	}
	return d.lasting(ledgerFile)
}

// Collected is the path of the file with the exports that this host has collected last. It is empty where none can be kept.
func (d *Dir) Collected() string {
	if d.forgetful {
		return ""
	}
	return d.lasting(collectedFile)
}

// Exported is the path of the file with the names of what this host has exported. It is empty where none can be kept.
func (d *Dir) Exported() string {
	if d.forgetful {
		return ""
	}
	return d.lasting(exportedFile)
}

// lasting returns the path of a file for later runs; empty where the folder is a temporary one.
func (d *Dir) lasting(file string) string {
	if d.o.Folder == nil {
		return ""
	}
	return filepath.Join(d.Path, file)
}

// InEffect returns the names of the resources that an earlier run has had in effect from an input; none where there was none, or
// where they can't be read, which is logged: then none counts as removed.
func (d *Dir) InEffect(input string) ineffect.Names {
	if d.o.Folder == nil {
		return ineffect.Names{}
	}
	names, err := d.o.Folder.inEffect(input)
	if err != nil {
		d.o.Log.Warn("which resources were in effect before this start is not known, so none counts as removed", slog.Any("error", err))
	}
	return names
}

// Remembered returns a copy of the records of the runs with a state folder, of a run that goes on too. It alters nothing. The
// error says why they can't be read.
func Remembered(path string) (records.Store, error) {
	return journal.Peek(filepath.Join(path, journalFile))
}

// HistoryIn returns a copy of the history that the runs with a state folder have kept, to be asked by Query only. It alters
// nothing, and works whether one of them goes on or not. The error is fs.ErrNotExist where there is none, or says why it can't be
// read.
func HistoryIn(path string) (*journal.History, error) {
	return journal.PeekHistory(filepath.Join(path, journalFile))
}

// unkept is the Declared of a run that only looks.
type unkept struct{}

func (unkept) Put(string, any) {}
func (unkept) Flush()          {}
func (unkept) Renew() error    { return nil }
func (unkept) Close() error    { return nil }

// Declarations returns what an earlier run has kept of declarations, and what keeps those of this one: all are what the function returns.
// It returns nil where nothing is to be kept, and nothing is known. What can't be read, which is logged, is nothing: then each resource counts as newly declared.
func Declarations[E any](d *Dir, all func() map[string]E) (was ineffect.Declarations[E], keep Declared) {
	if d.Effect == nil {
		if d.o.Folder != nil {
			was, _ = ineffect.ReadDeclarations[E](filepath.Join(d.Path, declaredFile)) // a look needs no more rights for it
		}
		if len(was.Prints) > 0 {
			keep = unkept{}
		}
		return was, keep
	}
	was, err := ineffect.ReadDeclarations[E](filepath.Join(d.Path, declaredFile))
	if err != nil {
		d.o.Log.Warn("with which declarations the resources were right before this start is not known, so each counts as newly declared", slog.Any("error", err))
	}
	salt := was.Salt
	keep = d.o.Folder.declared(&d.o, func() any { return ineffect.Declarations[E]{Salt: salt, Prints: all()} })
	d.closers = append(d.closers, keep.Close)
	d.Renews(keep.Renew)
	return was, keep
}
