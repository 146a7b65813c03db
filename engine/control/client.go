package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// Client asks a daemon. Its methods return an *Error where the daemon answers
// with one, and a *NoDaemonError where there is none. It may be used by many
// goroutines, and needs no closing.
// Each call is a connection of its own, so a daemon that was restarted is found again.
type Client struct {
	// paths are tried in their order; see NewClient.
	paths []string
	// http keeps no connection: each question is one.
	http     http.Client
	patience time.Duration // with an answer that waits for nothing
	clock    clock.Clock   // of patience
}

// ErrSilent says that there is a daemon, which does not answer.
var ErrSilent = errors.New("the daemon does not answer: it is stopped, or hangs")

// clientPatience is how long an answer may take, apart from the wait that it is asked for:
// longer than the daemon gives itself.
const clientPatience = 2 * askTimeout

// maxAnswer bounds an answer of the daemon of this machine. One that tells of a million resources has some hundred MiB.
const maxAnswer = 1 << 30

// NoDaemonError says that no daemon answers.
type NoDaemonError struct {
	Paths []string // where one was looked for
	Err   error    // the last reason
}

func (e *NoDaemonError) Error() string {
	text := "no daemon answers on " + strings.Join(e.Paths, " or ")
	if !errors.Is(e.Err, fs.ErrNotExist) && !errors.Is(e.Err, unix.ECONNREFUSED) {
		text += " (" + reason(e.Err) + ")"
	}
	return text
}

// Unwrap returns the last reason.
func (e *NoDaemonError) Unwrap() error { return e.Err }

// reason returns the end of a chain of errors about a connection, whose other
// links repeat the path.
func reason(err error) string {
	if errno, ok := errors.AsType[unix.Errno](err); ok {
		return errno.Error()
	}
	return err.Error()
}

// NewClient returns a client of the daemon on the first of these sockets on which
// one answers.
// It does not connect. The paths are tried in their order at each call.
func NewClient(paths ...string) *Client {
	c := &Client{paths: paths, patience: clientPatience, clock: clock.System{}}
	c.http.Transport = &http.Transport{DialContext: c.dial, DisableKeepAlives: true, DisableCompression: true}
	return c
}

// Of several reasons it keeps the most telling: a missing file says less than a
// refused right.
func (c *Client) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	var last error
	for _, path := range c.paths {
		conn, err := httpd.Dial(ctx, path)
		if err == nil {
			return conn, nil
		}
		if last == nil || !errors.Is(err, fs.ErrNotExist) {
			last = err
		}
	}
	return nil, &NoDaemonError{c.paths, last}
}

// do sends a request and returns the answer, which is a good one.
// The caller closes the body of the answer. The host in the URL means nothing on a unix
// socket.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body any, header ...string) (*http.Response, error) {
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(data)
	}
	u := url.URL{Scheme: "http", Host: "mgmt", Path: path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), in)
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.http.Do(req)
	for n := 0; n < moreTries && turnedAway(method, err) && c.rest(ctx, firstPause<<n); n++ {
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
		resp, err = c.http.Do(req)
	}
	if err != nil {
		if none, ok := errors.AsType[*NoDaemonError](err); ok {
			return nil, none
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("the daemon did not answer: %w", err)
	}
	// Every good answer of this API has the status 200.
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, errorIn(resp)
}

// A client that was turned away asks again so often. The first pause before that is firstPause, and each one is twice the one before.
const moreTries, firstPause = 8, 10 * time.Millisecond

// turnedAway reports whether a daemon has closed the connection and done nothing for it: it has more clients than places, and takes
// the one that was silent for longest (package httpd). A question may be put twice; of anything else nothing may have been sent.
func turnedAway(method string, err error) bool {
	if errors.Is(err, syscall.EPIPE) {
		return true
	}
	return method == http.MethodGet && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET))
}

// rest waits, and reports whether the context goes on.
func (c *Client) rest(ctx context.Context, pause time.Duration) bool {
	again, stop := clock.After(c.clock, pause)
	defer stop()
	select {
	case <-again:
		return true
	case <-ctx.Done():
		return false
	}
}

// An answer that is not from this API, or too long, is told by its status.
func errorIn(resp *http.Response) error {
	e := &Error{Status: resp.StatusCode}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(data, e)
	}
	if err != nil || e.Text == "" {
		e.Text = "the daemon answers " + resp.Status
	}
	return e
}

// within bounds a request that has to be answered, after it has waited so long.
// The cause is ErrSilent, which a caller can tell from its own context.
func (c *Client) within(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	return clock.WithTimeout(ctx, c.clock, wait+c.patience, ErrSilent)
}

// ask sends a request and decodes the answer.
func ask[T any](ctx context.Context, c *Client, method, path string, query url.Values, body any) (*T, error) {
	return askWaiting[T](ctx, c, 0, method, path, query, body)
}

// askWaiting is ask for questions that the daemon may take a time to answer.
func askWaiting[T any](ctx context.Context, c *Client, wait time.Duration, method, path string, query url.Values, body any) (*T, error) {
	ctx, cancel := c.within(ctx, wait)
	defer cancel()
	resp, err := c.do(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out := new(T)
	if err := json.NewDecoder(httpd.NewBound(resp.Body, maxAnswer)).Decode(out); err != nil {
		return nil, fmt.Errorf("the answer of the daemon to %s cannot be read: %w", path, err)
	}
	return out, nil
}

// Version asks which daemon answers.
func (c *Client) Version(ctx context.Context) (*Version, error) {
	return ask[Version](ctx, c, http.MethodGet, "/v1/version", nil, nil)
}

// StatusQuery says what to tell of the resources.
type StatusQuery struct {
	States []string      // those in these states
	All    bool          // all resources; else only those with another state than ok
	Select string        // those of a selection
	Empty  bool          // a selection of nothing is no error
	Wait   time.Duration // wait so long for the graph to converge
}

// Status asks how things stand.
func (c *Client) Status(ctx context.Context, q StatusQuery) (*Status, error) {
	v := url.Values{}
	if len(q.States) > 0 {
		v.Set("state", strings.Join(q.States, ","))
	}
	if q.All {
		v.Set("all", "true")
	}
	if q.Select != "" {
		v.Set("select", q.Select)
	}
	if q.Empty {
		v.Set("empty", "true")
	}
	if q.Wait > 0 {
		v.Set("wait", "converged")
		v.Set("for_seconds", strconv.FormatFloat(q.Wait.Seconds(), 'f', -1, 64))
	}
	return askWaiting[Status](ctx, c, q.Wait, http.MethodGet, "/v1/status", v, nil)
}

// Names asks for resources whose id begins with a prefix, and for the kinds, modules and labels that begin so.
// The daemon sends at most 1,000 resources, in order.
func (c *Client) Names(ctx context.Context, prefix string) (*Names, error) {
	return ask[Names](ctx, c, http.MethodGet, "/v1/resources", url.Values{"prefix": {prefix}, "terms": {"true"}}, nil)
}

// Choose asks for the resources of a selection, at most so many.
func (c *Client) Choose(ctx context.Context, text string, limit int) (*Names, error) {
	return ask[Names](ctx, c, http.MethodGet, "/v1/resources", url.Values{"select": {text}, "limit": {strconv.Itoa(limit)}}, nil)
}

// Why asks for the last n runs of a resource, and what led to them.
func (c *Client) Why(ctx context.Context, resource string, n int) (*Why, error) {
	return ask[Why](ctx, c, http.MethodGet, "/v1/why", url.Values{"resource": {resource}, "n": {strconv.Itoa(n)}}, nil)
}

// Detail asks for all about one resource, with its last n runs.
func (c *Client) Detail(ctx context.Context, resource string, n int) (*Detail, error) {
	return ask[Detail](ctx, c, http.MethodGet, "/v1/resource", url.Values{"resource": {resource}, "n": {strconv.Itoa(n)}}, nil)
}

// Log asks for the newest events that fit.
// Bounds without a value are left out, and the daemon then has none.
func (c *Client) Log(ctx context.Context, q Query) (*Log, error) {
	v := q.values()
	set := func(key, text string) {
		if text != "" {
			v.Set(key, text)
		}
	}
	set("since", moment(q.Since))
	set("until", moment(q.Until))
	for key, n := range map[string]uint64{"after": q.After, "before": q.Before, "limit": uint64(q.Limit)} {
		if n > 0 {
			v.Set(key, strconv.FormatUint(n, 10))
		}
	}
	return ask[Log](ctx, c, http.MethodGet, "/v1/log", v, nil)
}

// moment writes a time as the API takes it, empty for the zero time.
func moment(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Format(time.RFC3339Nano)
}

// values returns what log and events have in common.
// It leaves out times and ids, since a stream of events has none of these bounds.
func (q *Query) values() url.Values {
	v := url.Values{}
	if q.Resource != "" {
		v.Set("resource", q.Resource)
	}
	var words []string
	for _, o := range q.Outcomes {
		words = append(words, string(o))
	}
	if len(words) > 0 {
		v.Set("outcome", strings.Join(words, ","))
	}
	return v
}

// ErrEnded is the error of Events when the daemon has ended the stream.
var ErrEnded = errors.New("the daemon has stopped")

// Events yields events as they come: those after q.After, or the new ones where
// it is nil. Of q only Resource and Outcomes count. It ends with an error; that
// of ctx, when it is over, or ErrSilent where the answer does not even begin.
func (c *Client) Events(ctx context.Context, q Query, after *uint64) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		v := q.values()
		if after != nil {
			v.Set("since", strconv.FormatUint(*after, 10))
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		// The stream itself has no limit of time. Only its beginning has.
		silenced := c.clock.AfterFunc(c.patience, func() { cancel(ErrSilent) })
		resp, err := c.do(ctx, http.MethodGet, "/v1/events", v, nil, "Accept", "application/x-ndjson")
		if err == nil && !silenced() {
			err = errors.Join(ErrSilent, resp.Body.Close())
		}
		if err != nil {
			silenced()
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		bound := httpd.NewBound(resp.Body, httpd.MaxRecord)
		in := bufio.NewReader(bound)
		for {
			bound.Next()
			e, err := nextEvent(in)
			switch {
			case ctx.Err() != nil:
				err = context.Cause(ctx)
			// A stream has no end of its own, so an end in the middle of a line means the same as
			// one between two lines.
			case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
				err = ErrEnded
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Each event is a line of JSON, and an empty line says that the daemon still lives.
func nextEvent(in *bufio.Reader) (*Event, error) {
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue // a sign of life
		}
		e := &Event{}
		return e, json.Unmarshal(line, e)
	}
}

// GraphQuery says how to draw the graph.
type GraphQuery struct {
	Format    string // dot, mermaid or json
	Direction string // TB, BT, LR or RL
	Reduce    bool   // leave out the edges that only repeat a longer path
}

// Graph asks for a drawing of the graph in effect, with the state of each vertex.
func (c *Client) Graph(ctx context.Context, q GraphQuery) ([]byte, error) {
	v := url.Values{"format": {q.Format}, "direction": {q.Direction}, "reduce": {strconv.FormatBool(q.Reduce)}}
	return c.text(ctx, "/v1/graph", v)
}

// Dump asks what each unsettled vertex waits for.
// The text is for people and not stable.
func (c *Client) Dump(ctx context.Context) (string, error) {
	data, err := c.text(ctx, "/v1/dump", nil)
	return string(data), err
}

func (c *Client) text(ctx context.Context, path string, v url.Values) ([]byte, error) {
	ctx, cancel := c.within(ctx, 0)
	defer cancel()
	resp, err := c.do(ctx, http.MethodGet, path, v, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(httpd.NewBound(resp.Body, maxAnswer))
}

// Pause tells the daemon to leave something alone.
// It returns when the engine has taken the pause over.
func (c *Client) Pause(ctx context.Context, req PauseRequest) (*Done, error) {
	return ask[Done](ctx, c, http.MethodPost, "/v1/pause", nil, req)
}

// Resume tells it to go on.
// With an empty name every pause ends, and held changes go through.
func (c *Client) Resume(ctx context.Context, req ResumeRequest) (*Done, error) {
	return ask[Done](ctx, c, http.MethodPost, "/v1/resume", nil, req)
}

// Decide approves or rejects changes.
func (c *Client) Decide(ctx context.Context, req DecideRequest) (*Decided, error) {
	return ask[Decided](ctx, c, http.MethodPost, "/v1/decide", nil, req)
}

// Retry tells it to try failed resources again.
// Without names it means all that have failed.
func (c *Client) Retry(ctx context.Context, req RetryRequest) (*Retried, error) {
	return ask[Retried](ctx, c, http.MethodPost, "/v1/retry", nil, req)
}

// applyPatience is how long a graph may take to be put into effect.
const applyPatience = 10 * time.Minute

// Reload has the daemon read its graph again, and tells what became of that.
func (c *Client) Reload(ctx context.Context) (*Verdict, error) {
	return askWaiting[Verdict](ctx, c, applyPatience, http.MethodPost, "/v1/reload", nil, nil)
}

// Apply puts a document in the place of the daemon's graph file, has that read, and tells
// what became of it.
func (c *Client) Apply(ctx context.Context, req ApplyRequest) (*Verdict, error) {
	return askWaiting[Verdict](ctx, c, applyPatience, http.MethodPost, "/v1/apply", nil, req)
}

// Propose hands over a graph that has no effect until a person approves it.
func (c *Client) Propose(ctx context.Context, req ProposeRequest) (*Proposal, error) {
	return ask[Proposal](ctx, c, http.MethodPost, "/v1/proposals", nil, req)
}

// Proposals asks for the proposed graphs, and what became of them.
func (c *Client) Proposals(ctx context.Context) (*Proposals, error) {
	return ask[Proposals](ctx, c, http.MethodGet, "/v1/proposals", nil, nil)
}

// Review asks for a proposed graph, and for the one in whose place it would come.
func (c *Client) Review(ctx context.Context, id int) (*Review, error) {
	return ask[Review](ctx, c, http.MethodGet, fmt.Sprintf("/v1/proposals/%d/review", id), nil, nil)
}

// Approve puts a proposed graph into effect, and tells what became of it.
func (c *Client) Approve(ctx context.Context, id int, req ApproveRequest) (*Verdict, error) {
	return askWaiting[Verdict](ctx, c, applyPatience, http.MethodPost, fmt.Sprintf("/v1/proposals/%d/approve", id), nil, req)
}

// Reject rejects a proposed graph.
func (c *Client) Reject(ctx context.Context, id int, req RejectRequest) (*Proposal, error) {
	return ask[Proposal](ctx, c, http.MethodPost, fmt.Sprintf("/v1/proposals/%d/reject", id), nil, req)
}

// ForAgent returns a client that reads and proposes, and sends nothing else whatever it is asked for: it neither decides, nor sees the graph file.
func (c *Client) ForAgent() *Client {
	agent := *c
	agent.http.Transport = agentTransport{c.http.Transport}
	return &agent
}

// agentMay are the requests of ForAgent.
var agentMay = []string{
	"GET /v1/version", "GET /v1/status", "GET /v1/resources", "GET /v1/resource", "GET /v1/why", "GET /v1/log", "GET /v1/graph", "GET /v1/hosts", "GET /v1/proposals", "POST /v1/proposals",
}

// agentTransport carries the requests of agentMay alone.
type agentTransport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t agentTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !slices.Contains(agentMay, r.Method+" "+r.URL.Path) {
		return nil, fmt.Errorf("an agent may not send %s %s", r.Method, r.URL.Path)
	}
	return t.RoundTripper.RoundTrip(r)
}

// Transport carries requests to the daemon, for clients of its other routes: see package api.
// It belongs to the Client and needs no closing. An error where no daemon answers is a *NoDaemonError; answers other than
// 200 come as they are.
func (c *Client) Transport() http.RoundTripper { return c.http.Transport }
