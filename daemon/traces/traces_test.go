package traces_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/daemon/traces"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// collector answers with codes, one after the other, then with 200, and keeps what it has taken.
type collector struct {
	mu     sync.Mutex
	codes  []int
	asked  int
	bodies []string
	header http.Header
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	c.header = r.Header
	if len(c.codes) > 0 {
		code := c.codes[0]
		c.codes = c.codes[1:]
		w.WriteHeader(code)
		return
	}
	c.bodies = append(c.bodies, r.URL.Path+" "+string(body))
}

// sends runs an Exporter over some runs, to its end.
func sends(t *testing.T, url string, runs ...reactor.Run) *traces.Exporter {
	t.Helper()
	o, err := traces.FromEnv(url, func(key string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20x,a=b"}[key]
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Service, o.Clock, o.Log = "mgmt", clock.System{}, slog.New(slog.DiscardHandler)
	e := traces.New(o)
	for _, r := range runs {
		e.Ran(r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // at the end of a daemon, what is there is sent
	e.Run(ctx)
	return e
}

// TestSpans: a run is a span with a link to the run that caused it, and without values and errors.
func TestSpans(t *testing.T) {
	c := &collector{}
	s := httptest.NewServer(c)
	defer s.Close()
	e := sends(t, s.URL,
		reactor.Run{ID: 1, Resource: "file[/a]", Changes: []engine.Change{{Field: "content", From: "old value", To: "new value"}}, Changed: true, Duration: time.Second},
		reactor.Run{ID: 2, Resource: "exec[b]", State: resgraph.StateFailed, Err: fmt.Errorf("a text of an error"), Triggers: []reactor.Trigger{{Cause: reactor.CauseRefresh, From: "file[/a]", Run: 1}, {Cause: reactor.CauseEvent}}})
	if sent, dropped := e.Counts(); sent != 2 || dropped != 0 || len(c.bodies) != 1 {
		t.Fatalf("%d sent, %d dropped, %d requests", sent, dropped, len(c.bodies))
	}
	path, body, _ := strings.Cut(c.bodies[0], " ")
	if path != "/v1/traces" || c.header.Get("Authorization") != "Bearer x" || c.header.Get("A") != "b" || strings.Contains(body, "value\"}}") && strings.Contains(body, "old value") || strings.Contains(body, "a text of") {
		t.Errorf("%s %v %s", path, c.header, body)
	}
	var doc struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					TraceID, SpanID, Name, StartTimeUnixNano, EndTimeUnixNano string
					Links                                                     []struct{ TraceID, SpanID string }
					Status                                                    struct{ Code int }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatal(err)
	}
	spans := doc.ResourceSpans[0].ScopeSpans[0].Spans
	a, b := spans[0], spans[1]
	if a.Name != "file" || len(a.TraceID) != 32 || len(a.SpanID) != 16 || a.Status.Code != 0 || a.EndTimeUnixNano <= a.StartTimeUnixNano {
		t.Errorf("%+v", a)
	}
	if b.Status.Code != 2 || len(b.Links) != 1 || b.Links[0].TraceID != a.TraceID || b.Links[0].SpanID != a.SpanID || b.SpanID == a.SpanID {
		t.Errorf("%+v", b)
	}
}

// TestCollectorAway: a collector that refuses for good, or is not there, costs the spans and nothing else.
func TestCollectorAway(t *testing.T) {
	c := &collector{codes: []int{400}}
	s := httptest.NewServer(c)
	if sent, dropped := sends(t, s.URL, reactor.Run{ID: 1, Resource: "a[b]"}).Counts(); sent != 0 || dropped != 1 || c.asked != 1 {
		t.Errorf("%d sent, %d dropped, asked %d times", sent, dropped, c.asked)
	}
	s.Close()
	if sent, dropped := sends(t, s.URL, reactor.Run{ID: 1, Resource: "a[b]"}).Counts(); sent != 0 || dropped != 1 {
		t.Errorf("%d sent, %d dropped", sent, dropped)
	}
}

// TestBusy: a collector that asks for patience gets the same spans again.
func TestBusy(t *testing.T) {
	c := &collector{codes: []int{503}}
	taken := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.ServeHTTP(w, r)
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.bodies) == 1 {
			close(taken)
		}
	}))
	defer s.Close()
	e := traces.New(traces.Options{Endpoint: s.URL, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)})
	for i := range 512 { // as many as a request has
		e.Ran(reactor.Run{ID: uint64(i), Resource: "a[b]"})
	}
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { e.Run(ctx) })
	<-taken
	cancel()
	work.Wait()
	if c.asked != 2 {
		t.Errorf("asked %d times", c.asked)
	}
}

// TestFull: without a reader the queue is bounded, no run waits, and what is lost is counted.
func TestFull(t *testing.T) {
	e := traces.New(traces.Options{Endpoint: "http://192.0.2.1/", Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)})
	for i := range 5000 {
		e.Ran(reactor.Run{ID: uint64(i), Resource: "a[b]"})
	}
	if _, dropped := e.Counts(); dropped != 5000-4096 {
		t.Errorf("%d are dropped", dropped)
	}
}

// TestFromEnv: the variables of OpenTelemetry count, the setting goes first, and no fault repeats what may be a secret.
func TestFromEnv(t *testing.T) {
	for _, c := range []struct {
		setting string
		env     map[string]string
		want    string
	}{
		{"", nil, ""},
		{"http://a:4318", nil, "http://a:4318/v1/traces"},
		{"", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://b/x/"}, "https://b/x/v1/traces"},
		{"", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://b", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/own"}, "http://c/own"},
		{"http://a", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/own"}, "http://a/v1/traces"},
		{"http://a", map[string]string{"OTEL_SDK_DISABLED": "true"}, ""},
		{"a:4318", nil, "error"},
		{"http://a", map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "key=hunter2%0d%0a"}, "error"},
	} {
		o, err := traces.FromEnv(c.setting, func(key string) string { return c.env[key] })
		got := o.Endpoint
		if err != nil {
			got = "error"
		}
		if got != c.want || err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q %v: %q, %v; want %q", c.setting, c.env, o.Endpoint, err, c.want)
		}
	}
}

// BenchmarkRan is what a run costs where traces are on. Where they are off, nothing hears of a run.
func BenchmarkRan(b *testing.B) {
	e := traces.New(traces.Options{Endpoint: "http://192.0.2.1/", Clock: clock.System{}, Log: slog.New(slog.DiscardHandler)})
	b.ReportAllocs()
	for b.Loop() {
		e.Ran(reactor.Run{ID: 1, Resource: "file[/a]"})
	}
}
