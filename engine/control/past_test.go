package control

import (
	"errors"
	"net/http"
	"slices"
	"testing"
)

// TestPast: a history without a daemon answers as the daemon that has kept it would.
func TestPast(t *testing.T) {
	rec := newRecorder()
	h := run(t, rec)
	for n := range uint64(5) {
		rec.Ran(changedRun("file[/a]", 2*n+1))
		rec.Ran(changedRun("file[/b]", 2*n+2))
	}
	all := events(t, rec, h)
	past := Past{History: h}

	log, err := past.Log(t.Context(), Query{Resource: "file[/a]", Limit: 3})
	if err != nil || len(log.Events) != 3 || !log.More {
		t.Fatalf("the log is %+v, %v", log, err)
	}
	if !slices.IsSortedFunc(log.Events, func(a, b *Event) int { return int(a.ID) - int(b.ID) }) || log.Events[2].ID != all[len(all)-2].ID {
		t.Errorf("the log does not end with the newest event: %+v", log.Events)
	}
	if log, err = past.Log(t.Context(), Query{}); err != nil || len(log.Events) != len(all) || log.More {
		t.Errorf("without a limit the log has %d of %d events, %v", len(log.Events), len(all), err)
	}

	why, err := past.Why(t.Context(), "file[/b]", 2)
	if err != nil || len(why.Runs) != 2 || why.Runs[0].Resource != "file[/b]" {
		t.Errorf("the runs are %+v, %v", why, err)
	}
	_, err = past.Why(t.Context(), "file[/unknown]", 2)
	if e, ok := errors.AsType[*Error](err); !ok || e.Status != http.StatusNotFound {
		t.Errorf("an unknown resource gives %v", err)
	}
	if _, err := (Past{History: brokenHistory{}}).Log(t.Context(), Query{}); err == nil {
		t.Error("a history that can't be read gives an answer")
	}
}

// TestMissed: events that the engine itself has left out are counted with those that the queue has dropped.
func TestMissed(t *testing.T) {
	rec := newRecorder()
	h := run(t, rec)
	rec.Missed(3)
	rec.Missed(4)
	rec.Ran(changedRun("file[/a]", 1))
	dropped := 0
	for _, e := range events(t, rec, h) {
		if e.Outcome == Dropped {
			dropped += e.Dropped
		}
	}
	if dropped != 7 {
		t.Errorf("%d events were told to be dropped, and not 7", dropped)
	}
}
