// Package traces sends a span for each run to a collector, as OTLP over HTTP in JSON. The official SDK would be some 3 MB of the program; of it,
// this needs one request and one queue.
//
// # Laws
//
//   - No run waits: Ran puts a span into a queue of a bounded length, and drops it where that is full. What is dropped is counted.
//   - A span has no value of a parameter, no text of an error, and no secret.
//   - The IDs of a span follow from the session and the number of the run. So a link needs no memory of the run that it leads to.
package traces

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mrand "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/internal/backoff"
)

// Bounds of what is kept and sent.
const (
	maxQueue = 4096
	maxBatch = 512
	pause    = 5 * time.Second  // for which spans are gathered
	timeout  = 10 * time.Second // of one try
	tries    = 5                // of one batch
)

var again = backoff.Span{First: time.Second, Most: 30 * time.Second}

// Options are the surroundings of an Exporter.
type Options struct {
	Endpoint string            // where spans are posted, with the path
	Headers  map[string]string // which may have a secret
	Service  string            // the attribute service.name
	Host     string
	Version  string
	Clock    clock.Clock
	Log      *slog.Logger
}

// FromEnv completes an endpoint, which may be empty, by the variables that OpenTelemetry defines. The endpoint is empty where there is none, or
// where OTEL_SDK_DISABLED is true. No error repeats a URL or a header.
func FromEnv(endpoint string, env func(string) string) (o Options, err error) {
	o.Service = env("OTEL_SERVICE_NAME")
	traces := env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") // with its path
	base := env("OTEL_EXPORTER_OTLP_ENDPOINT")
	if endpoint != "" {
		base, traces = endpoint, ""
	}
	if traces == "" && base != "" {
		traces = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	if traces == "" || strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return o, nil
	}
	u, err := url.Parse(traces)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return o, errors.New("traces: the endpoint is not a URL of the form http://HOST:4318")
	}
	o.Endpoint, o.Headers = traces, map[string]string{}
	headers := env("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
	if headers == "" {
		headers = env("OTEL_EXPORTER_OTLP_HEADERS")
	}
	for pair := range strings.SplitSeq(headers, ",") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			text, err := url.PathUnescape(strings.TrimSpace(value))
			if err != nil || strings.ContainsAny(text, "\r\n\x00") {
				return o, errors.New("traces: a header of OTEL_EXPORTER_OTLP_HEADERS cannot be read")
			}
			o.Headers[strings.TrimSpace(key)] = text
		}
	}
	return o, nil
}

// Exporter sends spans.
type Exporter struct {
	Options
	session [16]byte
	queue   chan span
	full    chan struct{} // a batch is there
	client  *http.Client
	dropped atomic.Int64
	sent    atomic.Int64
}

// New returns an Exporter, whose Run sends.
func New(o Options) *Exporter {
	e := &Exporter{Options: o, queue: make(chan span, maxQueue), full: make(chan struct{}, 1), client: &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the headers are for this collector
	}}
	_, _ = rand.Read(e.session[:])
	return e
}

// Counts returns how many spans were sent and dropped.
func (e *Exporter) Counts() (sent, dropped int) { return int(e.sent.Load()), int(e.dropped.Load()) }

// span is one run, as OTLP has it in JSON.
type span struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes"`
	Links      []link      `json:"links,omitempty"`
	Status     status      `json:"status"`
}

type attribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

type link struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	Attributes []attribute `json:"attributes"`
}

type status struct {
	Code int `json:"code,omitempty"`
}

func text(key, value string) attribute { return attribute{key, map[string]any{"stringValue": value}} }
func number(key string, n int64) attribute {
	return attribute{key, map[string]any{"intValue": strconv.FormatInt(n, 10)}}
}

// ids returns those of a run.
func (e *Exporter) ids(run uint64) (trace, span string) {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(e.session[:len(e.session):len(e.session)], run))
	return hex.EncodeToString(sum[:16]), hex.EncodeToString(sum[16:24])
}

// Ran takes a run that has ended now. It does not wait.
func (e *Exporter) Ran(r reactor.Run) {
	now := e.Clock.Now()
	kind, _, _ := strings.Cut(r.Resource, "[")
	trace, id := e.ids(r.ID)
	s := span{
		TraceID: trace, SpanID: id, Name: kind, Kind: 1, // internal
		Start: strconv.FormatInt(now.Add(-r.Duration).UnixNano(), 10), End: strconv.FormatInt(now.UnixNano(), 10),
		Attributes: []attribute{
			text("mgmt.resource", r.Resource), text("mgmt.kind", kind), text("mgmt.state", r.State.String()), text("mgmt.class", r.Class.String()),
			number("mgmt.changes", int64(len(r.Changes))), number("mgmt.run", int64(r.ID)), number("mgmt.attempt", int64(r.Attempt)), number("mgmt.generation", int64(r.Generation)),
		},
	}
	if r.State == resgraph.StateFailed {
		s.Status.Code = 2 // an error
	}
	for _, t := range r.Triggers {
		if t.Run > 0 {
			trace, id := e.ids(t.Run)
			s.Links = append(s.Links, link{trace, id, []attribute{text("mgmt.cause", string(t.Cause)), text("mgmt.resource", t.From)}})
		}
	}
	select {
	case e.queue <- s:
	default:
		e.dropped.Add(1)
	}
	if len(e.queue) >= maxBatch {
		select {
		case e.full <- struct{}{}:
		default:
		}
	}
}

// Run sends spans until ctx ends, and once more then what is there: for a second at most.
func (e *Exporter) Run(ctx context.Context) {
	for {
		t := clock.NewTimer(e.Clock, pause)
		select {
		case <-ctx.Done():
		case <-e.full:
		case <-t.C:
		}
		t.Stop()
		for len(e.queue) > 0 && ctx.Err() == nil {
			e.batch(ctx)
		}
		if ctx.Err() != nil {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			for len(e.queue) > 0 && last.Err() == nil {
				e.batch(last)
			}
			e.dropped.Add(int64(len(e.queue)))
			return
		}
	}
}

// batch sends some spans, and drops them where the collector does not take them.
func (e *Exporter) batch(ctx context.Context) {
	var spans []span
	for len(spans) < maxBatch && len(e.queue) > 0 {
		spans = append(spans, <-e.queue)
	}
	body, err := json.Marshal(e.document(spans))
	for n := int32(0); err == nil; n++ {
		var wait time.Duration
		if wait, err = e.post(ctx, body); err == nil {
			e.sent.Add(int64(len(spans)))
			return
		}
		if wait < 0 || n+1 == tries || ctx.Err() != nil {
			break
		}
		err = nil
		t := clock.NewTimer(e.Clock, max(wait, again.Wait(n, mrand.Int64N)))
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
	e.dropped.Add(int64(len(spans)))
	e.Log.Warn("the collector does not take traces: spans are dropped", slog.Int("spans", len(spans)), slog.Any("error", err))
}

// document puts spans into a request.
func (e *Exporter) document(spans []span) any {
	type m = map[string]any
	return m{"resourceSpans": []m{{
		"resource":   m{"attributes": []attribute{text("service.name", e.Service), text("host.name", e.Host), text("service.version", e.Version)}},
		"scopeSpans": []m{{"scope": m{"name": "mgmt", "version": e.Version}, "spans": spans}},
	}}}
}

// post sends a request once. Another try makes sense after a wait, unless that is negative. No error has the URL or a header.
func (e *Exporter) post(ctx context.Context, body []byte) (wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.Endpoint, bytes.NewReader(body))
	if err != nil {
		return -1, errors.New("the request can't be made")
	}
	req.Header.Set("Content-Type", "application/json")
	for key, value := range e.Headers {
		req.Header.Set(key, value)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		if of, ok := errors.AsType[*url.Error](err); ok {
			err = of.Err // without the URL
		}
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection serves the next one
	switch {
	case resp.StatusCode/100 == 2:
		return 0, nil
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode >= 502 && resp.StatusCode <= 504:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return time.Duration(min(max(seconds, 0), 60)) * time.Second, fmt.Errorf("it answers %d", resp.StatusCode)
	}
	return -1, fmt.Errorf("it answers %d", resp.StatusCode)
}
