package statedir

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/internal/boltfile"
	"github.com/reactivegraph/mgmt/engine/journal"
)

// lookEvery is how often a run looks whether its folder is still the one that it has opened. No event of the kernel tells of all that may happen to it: a
// file system may be mounted over it, or a folder above it renamed.
const lookEvery = time.Second

// Loss says what a state folder has lost while it was in use.
type Loss struct {
	Since time.Time // when that was seen first
	Lost  []string  // files that could not be written again, by their paths in the folder, and are still not there
	Other []string  // files in whose place the folder has others now
	Err   error     // why the folder can't be used; nil where all but Lost and Other is as it was
}

// keeping is what a Dir needs to keep its folder. Its goroutine alone uses the fields without a lock.
type keeping struct {
	journal keeper
	lenient *journal.Lenient
	files   heldFiles
	at      os.FileInfo // the folder as it was last seen
	tries   boltfile.Tries
	bad     error          // why they could not be
	owes    bool           // the files are to be written again
	told    string         // the last error that was logged
	renew   []func() error // has those who keep a file of their own write it again
	end     func()         // ends the goroutine, and waits for it

	mu   sync.Mutex
	loss *Loss // nil where nothing was lost
}

// keep looks after the folder until Close.
func (d *Dir) keep(j keeper, l *journal.Lenient) {
	except := append([]string{journalFile, declaredFile, ledgerFile}, d.o.Folder.others()...)
	d.keeping = &keeping{journal: j, lenient: l, files: heldFiles{dir: d.Path, except: except, files: map[string]*heldFile{}}}
	d.keeping.at, _ = os.Stat(d.Path) // else the first look finds another one, and alters nothing
	d.keeping.files.look()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for clock.Sleep(ctx, d.o.Clock, lookEvery) == nil {
			d.look()
		}
	})
	d.keeping.end = func() {
		cancel()
		wg.Wait()
		d.look() // what was removed a moment ago is for the next run, too
		d.keeping.files.close()
	}
}

// look takes the folder anew where it was removed or replaced, and writes again what can be written.
func (d *Dir) look() {
	k := d.keeping
	again, err := d.o.Folder.hold()
	moved := false // the folder is another one
	if err == nil {
		now, e := os.Stat(d.Path)
		if err = e; e == nil && (k.at == nil || !os.SameFile(k.at, now)) {
			again, moved, k.at = true, true, now
		}
	}
	ours := err == nil
	if ours {
		anew, e := k.journal.Keep(context.Background())
		again, err = again || anew, errors.Join(e, d.o.Folder.renew())
	}
	var lost, other []string
	switch {
	case ours && (again || k.owes && k.tries.Due(d.o.Clock.Now())): // also where there is no room for the journal
		var e error
		k.mu.Lock()
		renew := slices.Clone(k.renew)
		k.mu.Unlock()
		for _, f := range renew {
			e = errors.Join(e, f())
		}
		if again && !moved {
			k.files.look() // what its owner has replaced since the last look is as he wants it
		}
		var bad error
		lost, other, bad = k.files.restore(moved)
		e = errors.Join(e, bad)
		k.owes, k.tries, err = e != nil, k.tries.After(d.o.Clock.Now(), boltfile.Classify(e)), errors.Join(err, e)
		k.bad = e
	case k.owes:
		err = errors.Join(err, k.bad)
	case ours:
		k.files.look()
	}
	k.tell(d, again, lost, other, err)
}

// tell notes what was lost, and logs it once.
func (k *keeping) tell(d *Dir, again bool, lost, other []string, err error) {
	if k.loss != nil { // it is written here alone
		lost = k.files.missing(union(k.loss.Lost, lost))
	}
	k.mu.Lock()
	if k.loss == nil && (again || err != nil) {
		k.loss = &Loss{Since: d.o.Clock.Now()}
	}
	if k.loss != nil {
		k.loss.Lost = lost
		k.loss.Other, k.loss.Err = union(k.loss.Other, other), err
	}
	k.mu.Unlock()
	attrs := []any{slog.String("path", d.Path)}
	if len(lost) > 0 {
		attrs = append(attrs, slog.String("lost", strings.Join(lost, " ")))
	}
	if len(other) > 0 {
		attrs = append(attrs, slog.String("other", strings.Join(other, " ")))
	}
	switch {
	case err == nil && again:
		k.told = ""
		d.o.Log.Error("THE STATE FOLDER WAS REMOVED OR REPLACED WHILE IT IS IN USE, and is written anew with all that this program has of it", attrs...)
	case err == nil && k.told != "":
		k.told = ""
		d.o.Log.Info("the state folder is written anew now", attrs...)
	case err == nil:
	case err.Error() != k.told:
		k.told = err.Error()
		d.o.Log.Error("THE STATE FOLDER WAS REMOVED, REPLACED OR SHUT WHILE IT IS IN USE, and can't be written anew: what was kept there is lost when the program ends, unless that is mended before",
			append(attrs, slog.Any("error", err))...)
	}
}

// union returns the texts of two lists, sorted.
func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// Loss returns what the folder has lost in this run; nil where it has lost nothing. It is callable from any goroutine, and does not block.
func (d *Dir) Loss() *Loss {
	if d.keeping == nil {
		return d.unkept
	}
	k := d.keeping
	k.mu.Lock()
	defer k.mu.Unlock()
	var l Loss
	if k.loss != nil {
		l = *k.loss
	}
	if since, err := k.lenient.Owed(); l.Err == nil && err != nil {
		if l.Err = err; l.Since.IsZero() {
			l.Since = since
		}
	}
	if l.Since.IsZero() {
		return nil
	}
	return &l
}
