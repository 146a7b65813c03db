package account

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// Print tells two states of the databases of a system apart, without reading them.
type Print struct {
	stats [databases]atomicfile.Stat
	known bool // equal stats are of equal databases
}

// PrintOf looks at the databases. now is the time of the look. What cannot be looked at is
// like nothing.
func PrintOf(root string, now time.Time) (p Print) {
	etc, err := folder(root)
	if err != nil {
		return Print{}
	}
	dir, clock := atomicfile.At(etc), atomicfile.ClockOf(etc)
	for i, name := range fileNames {
		st, err := dir.Lstat(name)
		switch {
		case errors.Is(err, unix.ENOENT):
			continue
		case err != nil, !st.Settled(clock, now):
			return Print{}
		}
		p.stats[i] = st
	}
	p.known = true
	return p
}

// Same reports whether what was read after one look is what is there at the other one.
func (p Print) Same(o Print) bool { return p.known && p == o }
