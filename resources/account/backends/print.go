package backends

import (
	"errors"
	"time"

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// Print tells two states of the databases of a system apart, without reading them.
// It is taken before a reading, so that a later Print shows whether that may be old.
type Print struct {
	stats [databases]atomicfile.Stat
	known bool // equal stats are of equal databases
}

// PrintOf looks at the databases. now is the time of the look. A database that
// cannot be looked at counts as missing. It costs a stat for each of the four files.
func PrintOf(root string, now time.Time) (p Print) {
	etc, err := folder(root)
	if err != nil {
		return Print{}
	}
	p.known = true
	dir, clock := atomicfile.At(etc), atomicfile.ClockOf(etc)
	for i, name := range fileNames {
		st, err := dir.Lstat(name)
		switch {
		case errors.Is(err, unix.ENOENT):
			continue
		case err != nil:
			return Print{}
		}
		p.stats[i] = st
		p.known = p.known && st.Settled(clock, now)
	}
	return p
}

// Differs reports whether something was written between two looks, as far as that can be told: the
// tools always write another file.
func (p Print) Differs(o Print) bool { return p.stats != o.stats }

// Same reports whether the databases have the same contents at both looks. Files
// that were written just now are never the same: within one tick of the file
// system's clock another write would not show.
func (p Print) Same(o Print) bool { return p.known && p.stats == o.stats }
