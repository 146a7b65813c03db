package mgmt

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/journal/ineffect"
)

// journalFile is the file in StateDir that has the records which must survive a
// crash.
const journalFile = "journal.db"

// openStore returns the stores of the records of the run, and of the history: in
// StateDir if there is one, else in memory. Where that cannot be written the run
// goes on in memory, and says so: a full disk must not stop the repair of its
// machine.
func (s *session) openStore() (engine.Store, error) {
	o := &s.opt
	if o.readOnly && o.StateDir != "" && o.Store == nil {
		s.keepHistory(journal.NewHistory(journal.HistoryOptions{}))
		m, err := Remembered(o.StateDir)
		if err != nil {
			o.Logger.Warn("what earlier runs remember is not known: neither what would be undone, nor refreshes that are pending", slog.Any("error", err))
			m = journal.NewMemory()
		}
		return m, nil
	}
	if o.StateDir == "" || o.readOnly || o.Store != nil {
		s.keepHistory(journal.NewHistory(journal.HistoryOptions{}))
		if o.Store != nil {
			return o.Store, nil
		}
		return journal.NewMemory(), nil
	}
	path := filepath.Join(o.StateDir, journalFile)
	_ = os.MkdirAll(o.StateDir, 0o700) // else the journal says why not
	j, err := journal.Open(path, journal.Options{Log: o.Logger})
	switch {
	case err == nil:
		s.closers = append(s.closers, func() error { return withoutRoom(j.Close(), o.Logger) })
		s.e.history = j.History()
		l := journal.NewLenient(j, o.Logger, engine.SystemClock{})
		s.closers = append(s.closers, l.Close)
		return l, nil
	case journal.NoRoom(err):
		o.Logger.Warn("THE STATE FOLDER CANNOT BE WRITTEN: refreshes that are pending, pauses and the history are lost when the program ends",
			slog.String("path", path), slog.Any("error", err))
		s.forgetful = true
		s.keepHistory(journal.NewHistory(journal.HistoryOptions{}))
		return journal.NewMemory(), nil
	default:
		return nil, err
	}
}

// Remembered returns a copy of the memory of the runs with a state folder, of a
// running one too. It alters nothing. The error says why that can't be read.
func Remembered(stateDir string) (engine.Store, error) {
	return journal.Peek(filepath.Join(stateDir, journalFile))
}

// HistoryIn returns a copy of the history that the runs with a state folder have kept, to be
// asked by Query only. It alters nothing, and works whether one of them goes on or not. The
// error is fs.ErrNotExist where there is none, or says why it can't be read.
func HistoryIn(stateDir string) (*journal.History, error) {
	return journal.PeekHistory(filepath.Join(stateDir, journalFile))
}

// ledger is the file in which the commands that run stand, empty where no later run would find it.
func (o *options) ledger() string {
	if o.StateDir == "" || o.readOnly {
		return ""
	}
	return filepath.Join(o.StateDir, "commands")
}

// inEffectFile is the file in StateDir that names the resources of the last graph.
const inEffectFile = "in-effect"

// readInEffect returns the resources that an earlier Run has had in effect with the same Options.Input, nil if there is none.
func (o *options) readInEffect() []string {
	if !o.comparesStart() {
		return nil
	}
	names, err := ineffect.Read(filepath.Join(o.StateDir, inEffectFile), o.Input)
	if err != nil {
		o.Logger.Warn("which resources were in effect before this start is not known, so none counts as removed", slog.Any("error", err))
	}
	return names
}

// comparesStart reports whether the first graph is compared with the last one of an earlier Run.
// A run that ends by itself has no user who could tell it to go on.
func (o *options) comparesStart() bool {
	return o.StateDir != "" && o.Input != "" && !o.readOnly && !o.ConvergedExit && o.Noop != NoopAll
}

// keepInEffect has the names of the graphs kept, where there is a place for them and something takes effect.
func (s *session) keepInEffect() {
	o := &s.opt
	if s.forgetful || o.StateDir == "" || o.readOnly || o.Noop == NoopAll {
		return
	}
	s.effect = ineffect.New(filepath.Join(o.StateDir, inEffectFile), o.Logger, engine.SystemClock{})
	s.closers = append(s.closers, s.effect.Close)
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

func (s *session) keepHistory(h *journal.History) {
	s.e.history = h
	s.closers = append(s.closers, h.Close)
}

// History returns the events of this and, if there is a StateDir, in
// earlier runs; nil if Run has failed at its start. It waits for Run, and may be
// used until that returns. Its users decide its content: the engine itself
// writes nothing there.
func (e *Engine) History() *journal.History {
	<-e.ready
	return e.history
}
