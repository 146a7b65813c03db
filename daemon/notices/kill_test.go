package notices_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/daemon/notices"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/internal/await"
)

// The test program is also the daemon that is killed.
const (
	childEnv = "MGMT_NOTICES_CHILD" // the receivers
	pathEnv  = "MGMT_NOTICES_JOURNAL"
)

func TestMain(m *testing.M) {
	if list := os.Getenv(childEnv); list != "" {
		if err := child(list, os.Getenv(pathEnv)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child makes events, every fortieth of which the filter accepts, and tells of them until it is killed. It prints what it has made.
func child(list, path string) error {
	j, err := journal.Open(path, journal.Options{History: journal.HistoryOptions{FlushEvery: time.Millisecond}})
	if err != nil {
		return err
	}
	receivers, ds := notices.Parse(list)
	if ds.Err() != nil {
		return ds
	}
	ready, err := notices.Prepare(receivers, func(...string) error { return nil })
	if err != nil {
		return err
	}
	n := notices.New(ready)
	n.Begin(context.Background(), notices.Options{Sending: notices.Sending{Host: "web1"}, Store: j, History: j.History(), Look: func(string) (string, map[string]string) { return "", nil }})
	go n.Run(context.Background())
	for i := 0; ; i++ {
		outcome := "changed"
		if i%40 == 0 {
			outcome = "failed"
		}
		id := j.History().Append(journal.Entry{Resource: fmt.Sprintf("file[/%d]", i), Outcome: outcome, Data: []byte(`{}`)})
		fmt.Println(id, outcome)
		if i%20 == 0 {
			time.Sleep(time.Millisecond) // the load of a machine, not a wait for something
		}
	}
}

// TestKilledAnywhere: a daemon is killed again and again, while its receiver refuses, hangs up, or answers after the kill. Each event that the
// filter accepts and that the history has is delivered, in one message alone; and a message that comes twice is the same.
func TestKilledAnywhere(t *testing.T) {
	h := newHook(t)
	var mu sync.Mutex
	bodies, tries := map[string]string{}, 0
	h.mu.Lock() // the requests come from another process
	h.sees = func(m taken) {
		mu.Lock()
		defer mu.Unlock()
		tries++
		if was, again := bodies[m.ID]; again && was != string(m.body) {
			t.Errorf("%s came as %s, and then as %s", m.ID, was, m.body)
		}
		bodies[m.ID] = string(m.body)
	}
	h.mu.Unlock()
	h.answers(func(w http.ResponseWriter, _ *http.Request) {
		switch rand.IntN(3) {
		case 0:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 1:
			panic(http.ErrAbortHandler) // the message is there, and the answer is not
		}
	})
	list := fmt.Sprintf(`[{name: ops, group: 1ms, max_size: 64MiB, filter: 'outcome == "failed"', webhook: {url: %q}}]`, h.URL)
	path := filepath.Join(t.TempDir(), "journal.db")
	for range 12 {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env, c.Stderr = append(os.Environ(), childEnv+"="+list, pathEnv+"="+path), os.Stderr
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 1 + rand.IntN(400) {
			lines.Scan()
		}
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	h.answers(nil)
	j, err := journal.Open(path, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var want []uint64
	for e, err := range j.History().Query(t.Context(), journal.Query{Outcome: "failed"}) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, e.ID)
	}
	g := &rig{t: t, store: j, history: j.History()}
	g.start(list)
	g.stop() // sends the rest
	got := map[uint64]string{}
	total := 0
	mu.Lock()
	defer mu.Unlock()
	for id, body := range bodies {
		var m notices.Message
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatal(err)
		}
		total += m.Total
		for _, e := range m.Events {
			if other, twice := got[e.ID]; twice || e.Outcome != "failed" {
				t.Errorf("event %d is in %s and in %s: %s", e.ID, other, id, e.Outcome)
			}
			got[e.ID] = id
		}
		if m.Dropped > 0 {
			t.Errorf("%s says that %d were dropped", id, m.Dropped)
		}
	}
	// The history may lack what was told right before a kill.
	for _, id := range want {
		if got[id] == "" {
			t.Errorf("event %d was not told", id)
		}
	}
	if total != len(got) {
		t.Errorf("%d events were told, and %d of them are listed", total, len(got))
	}
	t.Logf("%d events, %d messages, %d tries", len(want), len(bodies), tries)
}

// TestKilledBeforeTheFirstMessage: what happened in the first start of a receiver is told after a kill, though no message was queued yet.
func TestKilledBeforeTheFirstMessage(t *testing.T) {
	h := newHook(t)
	first := newRig(t)
	first.start(h.settings(", group: 1h"))
	await.Until(t, "the receiver", func() bool { return first.of("ops").Name != "" })
	id := first.happens("failed", "file[/a]", "")
	killed := journal.NewMemory() // what is in the store now
	for rec, err := range first.store.Records(t.Context(), "notices") {
		if err != nil {
			t.Fatal(err)
		}
		if err := killed.Commit(t.Context(), []records.Write{{Table: "notices", Key: rec.Key, Value: rec.Value}}); err != nil {
			t.Fatal(err)
		}
	}
	first.stop()
	second := &rig{t: t, store: killed, history: first.history}
	second.start(h.settings(""))
	second.stop()
	got := h.messages()
	if len(got) != 2 || len(got[1].Events) != 1 || got[1].Events[0].ID != id {
		t.Errorf("%d messages, the second of %v: want event %d in both", len(got), got[len(got)-1].Events, id)
	}
}
