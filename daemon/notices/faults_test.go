package notices_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/daemon/notices"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/internal/nstest"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// passes waits for something, while the clock goes on by a second at each look.
func (g *rig) passes(what string, yes func() bool) {
	g.t.Helper()
	clock := g.clock.(interface{ Advance(time.Duration) })
	await.Until(g.t, what, func() bool {
		clock.Advance(time.Second)
		return yes()
	})
}

// of returns how a receiver stands.
func (g *rig) of(name string) notices.Status {
	for _, s := range g.Status() {
		if s.Name == name {
			return s
		}
	}
	return notices.Status{}
}

// TestFaultyAnswers: whatever a server does in place of taking a message, it gets that message again until it takes it. Only an answer that
// refuses it for ever drops it, and the next message says so.
func TestFaultyAnswers(t *testing.T) {
	elsewhere := newHook(t)
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		error   string
		refused bool
	}{
		"500":      {answer: status(500), error: "answers 500"},
		"404":      {answer: status(404), error: "answers 404"},
		"429":      {answer: status(429), error: "answers 429"},
		"410":      {answer: status(410), error: "answers 410", refused: true},
		"400":      {answer: status(400), error: "answers 400", refused: true},
		"redirect": {answer: http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect).ServeHTTP, error: "a redirect, which is not followed"},
		"cut":      {answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, error: "EOF"},
		"silent": {answer: func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done() // the client has given up
		}, error: "no answer within 30s"},
	} {
		t.Run(name, func(t *testing.T) {
			h, g := newHook(t), newRig(t)
			g.clock = enginetest.NewClock()
			h.answers(c.answer)
			g.start(h.settings(""))
			g.happens("failed", "svc[nginx]", "")
			g.passes("the error", func() bool { return strings.Contains(errText(g.of("ops").Err), c.error) })
			if c.refused {
				g.passes("its end", func() bool { return g.of("ops").Messages == 0 })
				g.happens("failed", "svc[ssh]", "")
			}
			h.answers(nil)
			g.passes("a message", func() bool { return len(h.messages()) > 0 && g.of("ops").Err == nil })
			m, want := h.messages()[0], 0
			if c.refused {
				want = 1
			}
			if m.Dropped != want || want == 0 && (m.Total != 1 || m.Events[0].Resource != "svc[nginx]") {
				t.Errorf("the message is %s", m.body)
			}
			if s := g.of("ops"); s.Sent != 1 || !c.refused && s.Failed == 0 || s.Dropped != want {
				t.Errorf("it stands so: %+v", s)
			}
		})
	}
	if len(elsewhere.messages()) > 0 {
		t.Error("a redirect was followed")
	}
}

// TestRetryAfter: a receiver that asks for time gets it, up to the longest wait of all.
func TestRetryAfter(t *testing.T) {
	for header, least := range map[string]time.Duration{"200": 200 * time.Second, "80000": 5 * time.Minute} {
		h, g := newHook(t), newRig(t)
		g.clock = enginetest.NewClock()
		asked := make(chan time.Time, 100)
		h.answers(func(w http.ResponseWriter, _ *http.Request) {
			asked <- g.clock.Now()
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		g.start(h.settings(""))
		g.happens("failed", "svc[nginx]", "")
		g.passes("the second try", func() bool { return len(asked) >= 2 })
		h.answers(nil)
		first := <-asked
		if wait := (<-asked).Sub(first); wait < least || wait > 4*time.Hour {
			t.Errorf("Retry-After: %s: it was tried again after %s", header, wait)
		}
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestSilentReceiverHoldsUpNobody: while one receiver never answers, another one is told.
func TestSilentReceiverHoldsUpNobody(t *testing.T) {
	silent, well, g := newHook(t), newHook(t), newRig(t)
	g.clock = enginetest.NewClock()
	tried := make(chan struct{}, 100)
	silent.answers(func(_ http.ResponseWriter, r *http.Request) {
		tried <- struct{}{}
		<-r.Context().Done()
	})
	g.start(fmt.Sprintf("[{name: silent, group: 1ms, webhook: {url: %q}}, {name: well, group: 1ms, webhook: {url: %q}}]", silent.URL, well.URL))
	g.happens("failed", "svc[a]", "")
	g.passes("a try", func() bool { return len(tried) > 0 })
	for i := 1; i <= 3; i++ {
		g.happens("failed", fmt.Sprintf("svc[%d]", i), "")
		g.passes("a message", func() bool { return total(well.messages()) == i+1 })
	}
}

// total counts the events of messages, each once.
func total(list []taken) (n int) {
	seen := map[string]bool{}
	for _, m := range list {
		if !seen[m.ID] {
			n += m.Total
		}
		seen[m.ID] = true
	}
	return n
}

// TestNothingIsLostWithoutAWord: events come, time passes, the receiver works or does not, in any order, and the bounds are small. At the end
// each event was told, or is among those that a message says were dropped. The queue is never above its bound.
func TestNothingIsLostWithoutAWord(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	h, g := newHook(t), newRig(t)
	clock := enginetest.NewClock()
	g.clock = clock
	g.start(h.settings(", max_size: 64KiB, max_age: 1h"))
	events := 0
	happen := func(n int) {
		for range n {
			g.happens("failed", fmt.Sprintf("file[/%d]", events), `,"error":"`+strings.Repeat("x", rng.IntN(900))+`"`)
			events++
		}
	}
	h.answers(status(http.StatusServiceUnavailable))
	g.passes("a loss", func() bool { happen(60); return g.of("ops").Dropped > 0 })
	for range 150 {
		switch rng.IntN(6) {
		case 0:
			h.answers(nil)
		case 1, 2:
			h.answers(status(http.StatusServiceUnavailable))
		case 3:
			clock.Advance(time.Duration(rng.IntN(1000)) * time.Second)
		default:
			happen(rng.IntN(60))
			clock.Advance(time.Second)
		}
		if s := g.of("ops"); s.Bytes > 64<<10 {
			t.Fatalf("the queue has %d bytes", s.Bytes)
		}
	}
	h.answers(nil)
	sum := func() (told, dropped int) {
		seen := map[string]bool{}
		for _, m := range h.messages() {
			if !seen[m.ID] {
				told, dropped = told+m.Total, dropped+m.Dropped
			}
			seen[m.ID] = true
		}
		return told, dropped
	}
	g.passes("each event, told or dropped", func() bool { told, dropped := sum(); return told+dropped >= events })
	g.stop()
	// The sum may be more: the receiver had taken a message whose try was cut by the time limit, and that was dropped later.
	if told, dropped := sum(); told > events || dropped == 0 {
		t.Errorf("%d told and %d dropped of %d", told, dropped, events)
	}
	if !strings.Contains(g.log.String(), "events were dropped before they were told") {
		t.Error("the log does not tell of the losses")
	}
}

// TestOldAreSaidWithoutNewOnes: where all that was queued got too old and nothing happens any more, the receiver still hears of it.
func TestOldAreSaidWithoutNewOnes(t *testing.T) {
	h, g := newHook(t), newRig(t)
	g.clock = enginetest.NewClock()
	h.answers(status(500))
	g.start(h.settings(", max_age: 1m"))
	g.happens("failed", "svc[a]", "")
	g.passes("a loss", func() bool { return g.of("ops").Dropped == 1 })
	h.answers(nil)
	g.passes("a message", func() bool { return len(h.messages()) > 0 })
	if m := h.messages()[0]; m.Total != 0 || m.Dropped != 1 || m.Text != "web1: 1 earlier event was dropped" {
		t.Errorf("the message is %s", m.body)
	}
}

// TestFullDisk: with a full disk messages are still delivered; those that are not taken are kept in memory, and stand in the journal
// when there is room again.
func TestFullDisk(t *testing.T) {
	if !nstest.InNamespace(t) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Unmount(dir, 0) }()
	path := filepath.Join(dir, "journal.db")
	j, err := journal.Open(path, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	clock := enginetest.NewClock()
	lenient := journal.NewLenient(j, slog.New(slog.DiscardHandler), clock)
	h := newHook(t)
	g := &rig{t: t, store: lenient, history: j.History(), clock: clock}
	g.start(h.settings(""))
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 9<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	h.answers(status(500))
	for i := range 20 * 30 { // more than the free pages of the journal take
		g.happens("failed", fmt.Sprintf("svc[%d]", i), `,"error":"`+strings.Repeat("x", 900)+`"`)
		if i%30 == 29 {
			g.passes("a message in the queue", func() bool { return g.of("ops").Messages == i/30+1 })
		}
	}
	if _, why := lenient.Owed(); why == nil {
		t.Error("the disk was not full")
	}
	h.answers(nil)
	g.passes("a message", func() bool { return len(h.messages()) > 0 })
	h.answers(status(500))
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	g.stop()
	if err := errors.Join(lenient.Close(), j.Close()); err != nil {
		t.Fatal(err)
	}
	if j, err = journal.Open(path, journal.Options{}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	h.answers(nil)
	g = &rig{t: t, store: j, history: j.History(), clock: clock}
	g.start(h.settings(""))
	g.passes("the rest", func() bool { return total(h.messages()) >= 20*30 })
	g.stop()
	for _, m := range h.messages() {
		if m.Dropped > 0 || total(h.messages()) != 20*30 {
			t.Errorf("%d events: %s", total(h.messages()), m.Text)
		}
	}
}

// TestCommandIsBounded: a command gets the message, and one that does not end is stopped with all that it has started.
func TestCommandIsBounded(t *testing.T) {
	h, err := host.New(t.Context(), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	dir := t.TempDir()
	for name, c := range map[string]struct{ script, want string }{
		"takes it": {"cat > " + dir + "/message", ""},
		"fails":    {"echo no >&2; echo more >&2; exit 3", "/bin/sh: exit status 3: no"},
		"hangs":    {"echo $$ > " + dir + "/pid; sleep 100000 & sleep 100000", "/bin/sh has not ended within 30s, and was stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			g.clock, g.command = enginetest.NewClock(), h.Command
			g.start(fmt.Sprintf("[{name: ops, group: 1ms, command: [/bin/sh, -c, %q]}]", c.script))
			g.happens("failed", "svc[nginx]", "")
			if name == "hangs" {
				g.passes("a process", func() bool { pid, _ := os.ReadFile(dir + "/pid"); return len(pid) > 0 })
			}
			if c.want == "" {
				g.passes("a message", func() bool { return g.of("ops").Sent == 1 })
				if text, err := os.ReadFile(dir + "/message"); err != nil || !strings.Contains(string(text), `"resource":"svc[nginx]"`) {
					t.Errorf("%s, %v", text, err)
				}
				return
			}
			g.passes("the error", func() bool { return errText(g.of("ops").Err) == c.want })
		})
	}
}

// TestReceiversAreReplaced: a receiver of the same name keeps its queue, one that is gone loses it with a word, and a new one hears of what
// happens from then on.
func TestReceiversAreReplaced(t *testing.T) {
	down, up, g := newHook(t), newHook(t), newRig(t)
	down.answers(status(500))
	two := fmt.Sprintf("[{name: ops, group: 1ms, webhook: {url: %q}}, {name: gone, group: 1ms, webhook: {url: %q}}]", down.URL, down.URL)
	g.start(two)
	g.happens("failed", "svc[a]", "")
	await.Until(t, "two tries", func() bool { return g.of("ops").Failed > 0 && g.of("gone").Failed > 0 })
	g.Set(read(t, fmt.Sprintf("[{name: ops, group: 1ms, webhook: {url: %q}}, {name: new, group: 1ms, webhook: {url: %q}}]", up.URL, down.URL)))
	await.Until(t, "the message of the queue", func() bool { return total(up.messages()) == 1 })
	await.Until(t, "the new receiver", func() bool { return g.of("new").Name != "" && g.of("gone").Name == "" })
	if s := g.of("new"); s.Messages > 0 || s.Failed > 0 {
		t.Errorf("the new one is told of the past: %+v", s)
	}
	g.stop()
	if !strings.Contains(g.log.String(), "their receiver is not configured any more") {
		t.Errorf("the log is %s", g.log.String())
	}
	for rec := range g.store.Records(t.Context(), "notices/gone") {
		t.Errorf("the queue of the receiver that is gone has %s", rec.Key)
	}
}

// TestSecretsStayApart: neither the key nor the URL of a webhook is in a log, an error or a status.
func TestSecretsStayApart(t *testing.T) {
	const key, token = "0123456789-the-key", "the-token"
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, key, token)
	}))
	dir := t.TempDir()
	for name, text := range map[string]string{"key": key, "url": server.URL + "/" + token, "bad": "http://a b/" + token, "short": "0123456789"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := newRig(t)
	g.clock = enginetest.NewClock()
	g.start(fmt.Sprintf("[{name: ops, group: 1ms, webhook: {url_file: %q, secret_file: %q}}]", dir+"/url", dir+"/key"))
	g.happens("failed", "svc[a]", "")
	g.passes("two tries", func() bool { return g.of("ops").Failed > 1 })
	server.Close()
	g.passes("the other error", func() bool { return strings.Contains(errText(g.of("ops").Err), "refused") })
	g.stop()
	var said strings.Builder
	said.WriteString(g.log.String() + fmt.Sprintf("%+v", g.Status()))
	for file, more := range map[string]string{"bad": "", "key": "", "short": ", secret_file: " + dir + "/short", "none": ""} {
		list, ds := notices.Parse(fmt.Sprintf("[{name: ops, webhook: {url_file: %q%s}}]", filepath.Join(dir, file), more))
		_, err := notices.Prepare(list, func(...string) error { return nil })
		if ds.Err() != nil || err == nil {
			t.Errorf("%s: %v, %v", file, ds, err)
		}
		said.WriteString(errText(err))
	}
	if strings.Contains(said.String(), key) || strings.Contains(said.String(), token) || strings.Contains(said.String(), "0123456789") {
		t.Errorf("a secret is in %s", said.String())
	}
}

// TestEndIsNotHeldUp: a receiver that never answers does not hold up the end where somebody is in a hurry, and the message is kept.
func TestEndIsNotHeldUp(t *testing.T) {
	h, g := newHook(t), newRig(t)
	tried := make(chan struct{}, 100)
	h.answers(func(_ http.ResponseWriter, r *http.Request) {
		tried <- struct{}{}
		<-r.Context().Done()
	})
	hurry := make(chan struct{})
	g.hurry, g.clock = hurry, enginetest.NewClock() // whose time does not pass
	g.start(h.settings(", group: 1h"))
	g.happens("failed", "svc[a]", "") // is queued and tried at the end
	go func() {
		<-tried
		close(hurry)
	}()
	g.stop()
	g.hurry = nil
	h.answers(nil)
	g.start(h.settings(""))
	g.passes("the message", func() bool { return total(h.messages()) == 1 })
}
