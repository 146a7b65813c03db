package inputs

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/files"
)

// Look tells whether inputs have changed since: a digest of their names and of the results of a
// look at each. The zero value is of none.
type Look struct {
	sum     [sha256.Size]byte
	settled bool
}

// Settled reports whether a change from now on will show.
func (l Look) Settled() bool { return l.settled }

// Recorder makes a Look. It is for one goroutine.
type Recorder struct {
	files   *files.Shared
	started time.Time
	text    strings.Builder
	settled bool
}

// NewRecorder returns a Recorder of a run that begins now, by the clock of the host.
func NewRecorder(init *engine.Init) *Recorder {
	return &Recorder{files: files.Of(init), started: engine.ClockOf(init.Host).Now(), settled: true}
}

// Add adds an input, and the result of a look at it.
func (l *Recorder) Add(p string, st atomicfile.Stat) {
	st.Links = 0
	fmt.Fprintf(&l.text, "%q %v\n", p, st)
	l.settled = l.settled && st.Settled(l.files.Clock(st.Dev, p), l.started)
}

// End returns the Look at all that was added.
func (l *Recorder) End() Look {
	return Look{sha256.Sum256([]byte(l.text.String())), l.settled}
}

// Seen is the state that a run has found right: its inputs, and the file that they make. Two are compared by ==.
type Seen struct {
	OK  bool
	Key string // the parameters
	In  Look
	Out Look
}

// Settled reports whether a change of an input or of the file will show.
func (s Seen) Settled() bool { return s.In.settled && s.Out.settled }
