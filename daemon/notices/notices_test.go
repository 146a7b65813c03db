package notices_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/daemon/notices"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/internal/await"
)

// hook is a receiver on loopback.
type hook struct {
	*httptest.Server
	mu    sync.Mutex
	got   []taken
	reply func(w http.ResponseWriter, r *http.Request) // in place of 204
	sees  func(taken)                                  // is called with each try, under mu; nil for nothing
}

// taken is a message as it came.
type taken struct {
	notices.Message
	head http.Header
	body []byte
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client was stopped
		}
		m := taken{head: r.Header, body: body}
		if err := json.Unmarshal(body, &m.Message); err != nil {
			t.Errorf("the body is no message: %v", err)
		}
		h.mu.Lock()
		if h.sees != nil {
			h.sees(m)
		}
		reply := h.reply
		if reply == nil {
			h.got = append(h.got, m)
		}
		h.mu.Unlock()
		if reply != nil {
			reply(w, r)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(h.Close)
	return h
}

// answers has the receiver answer otherwise; with nil it takes what comes.
func (h *hook) answers(f func(http.ResponseWriter, *http.Request)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reply = f
}

// messages returns what was taken.
func (h *hook) messages() []taken {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.got[:len(h.got):len(h.got)]
}

// rig is what a daemon gives to Notices.
type rig struct {
	t       *testing.T
	store   records.Store
	history *journal.History
	log     strings.Builder
	clock   clock.Clock
	hurry   <-chan struct{}
	command func(context.Context, engine.Command) (*engine.Result, error)
	*notices.Notices
	stop func()
}

func newRig(t *testing.T) *rig {
	g := &rig{t: t, store: journal.NewMemory(), history: journal.NewHistory(journal.HistoryOptions{})}
	t.Cleanup(func() { _ = g.history.Close() })
	return g
}

// read reads receivers as the configuration file has them.
func read(t testing.TB, text string) []*notices.Ready {
	t.Helper()
	list, ds := notices.Parse(text)
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	ready, err := notices.Prepare(list, func(...string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return ready
}

// start begins to tell receivers; stop ends it as the end of a daemon does.
func (g *rig) start(text string) {
	g.Notices = notices.New(read(g.t, text))
	g.Begin(context.Background(), notices.Options{
		Sending: notices.Sending{Host: "web1", Clock: g.clock, Log: slog.New(slog.NewTextHandler(&locked{w: &g.log}, nil)), Command: g.command},
		Store:   g.store, History: g.history, Hurry: g.hurry, Look: func(string) (string, map[string]string) { return "web", map[string]string{"tier": "db"} },
	})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { g.Run(ctx) })
	clock, _ := g.clock.(interface{ Advance(time.Duration) })
	hurry := g.hurry
	g.stop = sync.OnceFunc(func() {
		cancel()
		done := make(chan struct{})
		go func() {
			wg.Wait()
			close(done)
		}()
		await.Until(g.t, "the end", func() bool {
			if clock != nil && hurry == nil {
				clock.Advance(time.Second)
			}
			select {
			case <-done:
				return true
			default:
				return false
			}
		})
	})
	g.t.Cleanup(g.stop)
}

// locked is a writer for several goroutines.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// happens adds an event to the history.
func (g *rig) happens(outcome, resource, rest string) uint64 {
	data := `{"outcome":"` + outcome + `"` + rest + `}`
	return g.history.Append(journal.Entry{Resource: resource, Outcome: outcome, Data: []byte(data)})
}

// settings returns a receiver of a hook, with further settings.
func (h *hook) settings(more string) string {
	if !strings.Contains(more, "group:") {
		more += ", group: 1ms"
	}
	return fmt.Sprintf("[{name: ops, webhook: {url: %q}%s}]", h.URL, more)
}

// TestWebhookIsSigned: a message has an id, a time and the signature of both and the body.
func TestWebhookIsSigned(t *testing.T) {
	h, g := newHook(t), newRig(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.start(fmt.Sprintf("[{name: ops, group: 1ms, webhook: {url: %q, secret_file: %q}}]", h.URL, secret))
	g.happens("failed", "svc[nginx]", `,"error":"exit status 1"`)
	await.Until(t, "a message", func() bool { return len(h.messages()) == 1 })
	m := h.messages()[0]
	at := m.head.Get("webhook-timestamp")
	if got, want := m.head.Get("webhook-signature"), notices.Sign([]byte("0123456789abcdef"), m.ID, at, m.body); got != want || at == "" {
		t.Errorf("the signature is %q, want %q", got, want)
	}
	if m.head.Get("webhook-id") != m.ID || !strings.HasPrefix(m.ID, "msg_") {
		t.Errorf("the id is %q in the header and %q in the body", m.head.Get("webhook-id"), m.ID)
	}
	if m.Text != "web1: svc[nginx] failed: exit status 1" || m.Total != 1 || m.Events[0].Labels["tier"] != "db" {
		t.Errorf("the message is %s", m.body)
	}
}

// TestSignature: the signature is the one that openssl computes of the same key, id, time and body, by the recipe of docs/notices.md.
func TestSignature(t *testing.T) {
	got := notices.Sign([]byte("a-key-of-this-vector-1"), "msg_000000000000000000000001", "1796083200", []byte(`{"id":"x","text":"web1: svc[nginx] failed"}`))
	if want := "v1,7OLRhXc0YZC3dOc2ljofI56fW/rvHOHOzVgAOzkuzGA="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestManyFailuresAreOneMessage: ten thousand failures at once are one message of bounded size.
func TestManyFailuresAreOneMessage(t *testing.T) {
	h, g := newHook(t), newRig(t)
	g.start(fmt.Sprintf("[{name: ops, group: 1h, webhook: {url: %q}}]", h.URL))
	for i := range 10_000 {
		g.happens("failed", fmt.Sprintf("file[/srv/%d]", i), `,"error":"`+strings.Repeat("x", 200)+`"`)
	}
	g.stop() // queues and sends what has been gathered
	list := h.messages()
	if len(list) != 1 {
		t.Fatalf("%d messages", len(list))
	}
	m := list[0]
	if m.Total != 10_000 || m.Counts["failed"] != 10_000 || m.Text != "web1: 10000 failed" || len(m.Events) == 0 || len(m.Events) > 50 || len(m.body) > 64<<10 {
		t.Errorf("%d events in %d bytes, %d listed: %s", m.Total, len(m.body), len(m.Events), m.Text)
	}
}

// TestStoppedIsSentLater: what a receiver did not take before the end is sent after the next start, with the same id.
func TestStoppedIsSentLater(t *testing.T) {
	h, g := newHook(t), newRig(t)
	ids := make(chan string, 1000)
	h.answers(func(w http.ResponseWriter, r *http.Request) {
		ids <- r.Header.Get("webhook-id")
		w.WriteHeader(http.StatusInternalServerError)
	})
	g.start(h.settings(""))
	g.happens("failed", "svc[nginx]", "")
	id := await.Of(t, "a try", ids)
	g.stop()
	h.answers(nil)
	g.start(h.settings(""))
	await.Until(t, "a message", func() bool { return len(h.messages()) == 1 })
	if m := h.messages()[0]; m.ID != id || m.Total != 1 {
		t.Errorf("%s came as %s", id, m.body)
	}
}
