package metrics_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/metrics"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

var update = flag.Bool("update", false, "write testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// standing is a clock that stands still, and whose timers are those of the machine.
type standing struct{ clock.System }

func (standing) Now() time.Time { return time.UnixMilli(1_700_000_000_250) }

// used returns a Metrics of which every series has a value.
func used() *metrics.Metrics {
	m := metrics.New(metrics.Options{
		Version: "v1.2.3",
		Clock:   standing{},
		Source: func(context.Context) (metrics.Sample, error) {
			s := metrics.Sample{Resyncs: 4, Subscriptions: 5, Watches: 6, Polled: 7, Notices: []metrics.Notices{{Receiver: "ops", Queued: 1, Sent: 2, Failed: 3, Dropped: 4}}, Traces: &metrics.Traces{Sent: 9, Dropped: 1}}
			s.Counts[resgraph.StateWaiting], s.Counts[resgraph.StateOK], s.Counts[resgraph.StateFailed] = 3, 8, 9
			return s, nil
		},
	})
	l := m.Listener()
	l.Swapped(reactor.Swap{Generation: 1})
	l.Swapped(reactor.Swap{Generation: 2})
	m.Refused(&reactor.RemovalsError{})
	ms := time.Millisecond
	for _, r := range []reactor.Run{
		{Resource: "file[/a]", State: resgraph.StateOK, Duration: ms / 2},
		{Resource: "file[/a[b]]", State: resgraph.StateOK, Duration: 2 * ms, Changed: true, Class: reactor.Corrective,
			Waited: 30 * time.Microsecond, Triggers: []reactor.Trigger{{Cause: reactor.CauseEvent}, {Cause: reactor.CauseSweep}}},
		{Resource: "file[/b]", State: resgraph.StateOK, Duration: ms, Changed: true, Class: reactor.Intended},
		{Resource: "exec[x]", State: resgraph.StateOK, Duration: 700 * time.Second, Changed: true, Class: reactor.Cascade, Refreshed: true},
		{Resource: "exec[x]", State: resgraph.StateFailed, Duration: ms, Err: errors.New("x"), Changed: true},
		{Resource: "exec[y]", State: resgraph.StateWouldChange, Duration: ms, Noop: true},
		{Resource: "exec[y]", State: resgraph.StateHeld, Duration: ms, Noop: true, Waited: ms, Triggers: []reactor.Trigger{{Cause: reactor.CausePoll}}},
		{Resource: "exec[z]", State: resgraph.StateUnknown, Duration: ms, Noop: true},
	} {
		l.Ran(r)
	}
	l.Paused(reactor.Pause{}, true)
	l.Paused(reactor.Pause{Resource: "file[/a]"}, false)
	l.Held("file[/b]", &reactor.Held{Limit: reactor.LimitFlapping})
	l.Held("file[/b]", nil)
	l.Converged(true, reactor.Counts{})
	return m
}

// text writes the metrics as the textfile has them: without those of Go.
func text(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mgmt.prom")
	if err := m.WriteTextfile(path); err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestExposition(t *testing.T) {
	got := text(t, used())
	i := strings.Index(got, `goversion="`) + len(`goversion="`)
	got = got[:i] + "go0" + got[i+strings.Index(got[i:], `"`):]
	golden(t, "testdata/exposition.txt", []byte(got))
	problems, err := promlint.New(strings.NewReader(got)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// golden compares a text with a file, or writes it with -update.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestDocumented: docs/metrics.md names every metric, and no other one.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "`"); ok && strings.HasPrefix(line, "| `mgmt_") {
			documented[name] = true
		}
	}
	exposed := map[string]bool{}
	for line := range strings.Lines(text(t, used())) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			exposed[strings.Fields(name)[0]] = true
		}
	}
	if diff := cmp.Diff(exposed, documented); diff != "" {
		t.Error(diff)
	}
}

// TestNoRun: what failed without a run is an error, and no run that took no time.
func TestNoRun(t *testing.T) {
	m := metrics.New(metrics.Options{})
	m.Ran(reactor.Run{Resource: "file[/a]", State: resgraph.StateFailed, Err: errors.New("the watch ended"), Retry: true})
	m.Ran(reactor.Run{Resource: "file[/b]", State: resgraph.StateUnknown, Until: "file[/a]", Noop: true, Triggers: []reactor.Trigger{{Cause: reactor.CauseEvent}}})
	m.Ran(reactor.Run{Resource: "file[/b]", State: resgraph.StateFailed, Err: errors.New("x"), Duration: 1})
	got := text(t, m)
	for _, want := range []string{
		`mgmt_errors_total{kind="file"} 2`, `mgmt_runs_total{kind="file",outcome="failed"} 1`, `mgmt_runs_total{kind="file",outcome="unknown"} 0`,
		`mgmt_run_duration_seconds_count{kind="file"} 1`, "mgmt_event_latency_seconds_count 0",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("%s is missing in:\n%s", want, got)
		}
	}
}

// TestFindingM1HeldBeside: removals that are held beside the graph in effect count until they are not.
func TestFindingM1HeldBeside(t *testing.T) {
	m := metrics.New(metrics.Options{})
	for want, held := range []*reactor.RemovalsError{nil, {}} {
		m.Swapped(reactor.Swap{Held: held})
		if line := fmt.Sprintf("mgmt_graph_held %d\n", want); !strings.Contains(text(t, m), line) {
			t.Errorf("no %q", line)
		}
	}
}

// TestNothing: of what there is nothing to say, nothing is said, and no zero either.
func TestNothing(t *testing.T) {
	got := text(t, metrics.New(metrics.Options{}))
	for _, name := range []string{"mgmt_runs_total", "mgmt_run_duration_seconds", "mgmt_responding", "mgmt_resources"} {
		if strings.Contains(got, name) {
			t.Errorf("%s is in:\n%s", name, got)
		}
	}
}

// TestBounded: neither names of resources nor many kinds make many series.
func TestBounded(t *testing.T) {
	m := metrics.New(metrics.Options{})
	for i := range 1000 {
		m.Ran(reactor.Run{Resource: fmt.Sprintf("file[/%d]", i), Duration: time.Hour})
	}
	if n := strings.Count(text(t, m), "\n"); n > 100 {
		t.Errorf("%d lines for one kind", n)
	}
	for i := range 3 * metrics.MaxKinds {
		m.Ran(reactor.Run{Resource: fmt.Sprintf("kind%d[x]", i), Duration: time.Hour})
	}
	got := text(t, m)
	if n := strings.Count(got, "mgmt_errors_total{"); n != metrics.MaxKinds+1 {
		t.Errorf("%d kinds", n)
	}
	rest := fmt.Sprintf(`mgmt_runs_total{kind="other",outcome="ok"} %d`, 2*metrics.MaxKinds+1)
	if !strings.Contains(got, rest) {
		t.Errorf("%s is missing", rest)
	}
}

func TestLoopThatDoesNotAnswer(t *testing.T) {
	clock := enginetest.NewClock()
	m := metrics.New(metrics.Options{Clock: clock})
	m.Ran(reactor.Run{Resource: "file[/a]", State: resgraph.StateOK})
	m.SetSource(func(ctx context.Context) (metrics.Sample, error) {
		clock.Advance(time.Minute)
		<-ctx.Done() // a scrape without a bound would wait for ever
		return metrics.Sample{Polled: 9}, ctx.Err()
	})
	got := text(t, m)
	if !strings.Contains(got, "mgmt_responding 0") || !strings.Contains(got, "mgmt_runs_total{") {
		t.Error("not what is known:\n" + got)
	}
	if strings.Contains(got, "mgmt_waiting") || strings.Contains(got, "mgmt_resources") {
		t.Error("shown though not known:\n" + got)
	}
}

// serving answers with the metrics at the root.
func serving(m *metrics.Metrics) *httpd.Server {
	return &httpd.Server{Table: httpd.MustTable(httpd.Info{}, []httpd.Route{{Method: "GET", Pattern: "/metrics", Summary: "The metrics.", Public: true, Serve: m.Handler()}})}
}

// TestHandler: what a scraper is told is of one format, whole and without fault, and
// has the names that it always had.
func TestHandler(t *testing.T) {
	server := httptest.NewServer(serving(used()))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" || resp.ContentLength <= 0 {
			t.Fatal(resp, err)
		}
		if method == http.MethodGet {
			checkNames(t, body)
		}
	}
}

// checkNames compares the metrics that a page has with testdata/names.txt.
func checkNames(t *testing.T, page []byte) {
	t.Helper()
	problems, err := promlint.New(bytes.NewReader(page)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	var got []byte
	for line := range bytes.Lines(page) {
		if name, ok := bytes.CutPrefix(line, []byte("# TYPE ")); ok {
			got = append(got, name...)
		}
	}
	golden(t, "testdata/names.txt", got)
}

// TestManyScrapes: those that are too many are told so, and the others are answered.
func TestManyScrapes(t *testing.T) {
	asked, answer, codes := make(chan bool), make(chan bool), make(chan int)
	handler := serving(metrics.New(metrics.Options{Source: func(context.Context) (metrics.Sample, error) {
		asked <- true
		<-answer
		return metrics.Sample{}, nil
	}}))
	scrape := func() (refused int) {
		go func() {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			if w.Code != http.StatusOK && w.Header().Get("Content-Type") != httpd.ProblemType {
				t.Errorf("%d has the type %s", w.Code, w.Header().Get("Content-Type"))
			}
			codes <- w.Code
		}()
		select {
		case <-asked:
			return 0
		case code := <-codes:
			return code
		}
	}
	for n := range 10 {
		want := 0
		if n >= 4 {
			want = http.StatusServiceUnavailable
		}
		if got := scrape(); got != want {
			t.Fatalf("scrape %d: %d, want %d", n, got, want)
		}
	}
	for n := range 8 {
		answer <- true
		if code := <-codes; code != http.StatusOK {
			t.Errorf("%d is told %d", n, code)
		}
		if n < 4 && scrape() != 0 {
			t.Fatal("nobody is let in for one who has gone")
		}
	}
}

// TestScrapeWhileCounting: what is told while it is counted, and while kinds are new,
// never goes down, and adds up.
func TestScrapeWhileCounting(t *testing.T) {
	m := metrics.New(metrics.Options{})
	stop, done := make(chan bool), make(chan bool)
	var runs int
	go func() {
		defer close(done)
		for ; ; runs++ {
			select {
			case <-stop:
				return
			default:
				m.Ran(reactor.Run{Resource: fmt.Sprintf("kind%d[x]", runs%50), State: resgraph.StateOK, Duration: time.Duration(runs%7) * time.Second, Changed: true,
					Triggers: []reactor.Trigger{{Cause: reactor.CauseEvent}}})
				m.Converged(runs%2 == 0, reactor.Counts{})
				m.Held("x", &reactor.Held{Limit: reactor.LimitFlapping})
			}
		}
	}()
	last := map[string]float64{}
	for range 50 {
		last = checkCounts(t, last, text(t, m))
	}
	close(stop)
	<-done
	if end := checkCounts(t, last, text(t, m)); end["mgmt_holds_total{limit=\"flapping\"}"] != float64(runs) {
		t.Errorf("%v of %d were counted", end["mgmt_holds_total{limit=\"flapping\"}"], runs)
	}
}

// checkCounts reads a page, of which nothing that counts may be less than it was, and
// in which the last bucket is the count.
func checkCounts(t *testing.T, last map[string]float64, page string) map[string]float64 {
	t.Helper()
	now := map[string]float64{}
	for line := range strings.Lines(page) {
		if i := strings.LastIndexByte(line, ' '); !strings.HasPrefix(line, "#") {
			v, err := strconv.ParseFloat(strings.TrimSpace(line[i:]), 64)
			if err != nil {
				t.Fatal(err)
			}
			now[line[:i]] = v
		}
	}
	for name, v := range now {
		if name != "mgmt_converged" && v < last[name] {
			t.Errorf("%s is %v and was %v", name, v, last[name])
		}
		if rest, ok := strings.CutPrefix(name, "mgmt_run_duration_seconds_bucket"); ok && strings.Contains(rest, `le="+Inf"`) {
			if n := now["mgmt_run_duration_seconds_count"+strings.Replace(rest, `,le="+Inf"`, "", 1)]; n != v {
				t.Errorf("%s is %v, and the count %v", name, v, n)
			}
		}
	}
	return now
}

// TestStrangeNames: a text that the format has no place for is told as another one,
// and what no limit is known by is no limit.
func TestStrangeNames(t *testing.T) {
	m := metrics.New(metrics.Options{Version: "a\"b\\c\nd"})
	for _, resource := range []string{"k\xff[x]", "\xff", "k\xfe[x]", "a\"b[x]", ""} {
		for range 2 {
			m.Ran(reactor.Run{Resource: resource, Duration: 1})
		}
	}
	m.Held("x", &reactor.Held{Limit: "hand"})
	got := text(t, m)
	for _, want := range []string{
		`version="a\"b\\c\nd"}`, `mgmt_runs_total{kind="other",outcome="ok"} 6`, `mgmt_runs_total{kind="a\"b",outcome="ok"} 2`,
		`mgmt_runs_total{kind="",outcome="ok"} 2`, `mgmt_holds_total{limit="budget"} 0`, `mgmt_holds_total{limit="flapping"} 0`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in:\n%s", want, got)
		}
	}
	if !utf8.ValidString(got) || strings.Contains(got, "hand") {
		t.Error(got)
	}
}

func TestTextfile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mgmt.prom")
	for range 2 {
		if err := used().WriteTextfile(path); err != nil {
			t.Fatal(err)
		}
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 {
		t.Errorf("left behind: %v, %v", list, err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode() != 0o644 {
		t.Errorf("%v, %v: node_exporter can't read it", st.Mode(), err)
	}
	if strings.Contains(text(t, used()), "\ngo_") {
		t.Error("metrics that node_exporter has too")
	}
	if err := used().WriteTextfile(filepath.Join(dir, "none", "x.prom")); err == nil {
		t.Error("a folder that is not there: no error")
	}
	if err := os.Mkdir(filepath.Join(dir, "dir.prom"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := used().WriteTextfile(filepath.Join(dir, "dir.prom")); err == nil {
		t.Error("a folder in its place: no error")
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("left behind after an error: %v, %v", list, err)
	}
	if metrics.CheckTextfile("a.prom") != nil || metrics.CheckTextfile("a.txt") == nil {
		t.Error("names")
	}
}

// TestCost: what runs on the loop allocates nothing.
func TestCost(t *testing.T) {
	m := used()
	r := reactor.Run{Resource: "file[/etc/passwd]", State: resgraph.StateOK, Changed: true, Refreshed: true, Duration: time.Millisecond}
	r.Triggers = []reactor.Trigger{{Cause: reactor.CauseEvent}}
	if n := testing.AllocsPerRun(100, func() { m.Ran(r); m.Converged(false, reactor.Counts{}) }); n > 0 {
		t.Errorf("%v allocations for a run", n)
	}
}

func BenchmarkRan(b *testing.B) {
	m := used()
	r := reactor.Run{
		Resource: "file[/etc/passwd]", State: resgraph.StateOK, Changed: true, Duration: time.Millisecond,
		Waited: time.Millisecond, Triggers: []reactor.Trigger{{Cause: reactor.CauseEvent}},
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Ran(r)
	}
}
