package control

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/httpd"
)

// Kept has the graphs that took effect, and what was put in the place of the graph of the input. Calls may come from many goroutines.
type Kept interface {
	// Graphs returns those that are kept, the newest first.
	Graphs(context.Context) (*GraphList, error)
	// Difference returns how two of them differ; 0 as the second one stands for the newest.
	Difference(ctx context.Context, from, to int) (*GraphDiff, error)
	// Rollback has one of them take effect, and pins it.
	Rollback(context.Context, RollbackRequest) (*Verdict, error)
	// Undo undoes changes, and has their resources stay so; with DryRun it only tells.
	Undo(context.Context, UndoRequest) (*UndoPlan, error)
	// Release has what the graph of the input declares take effect again: with no resource all of it, after a rollback too. It reports
	// whether something was undone, or pinned.
	Release(ctx context.Context, resources ...string) (bool, error)
	// Pinned returns the rollback that is pinned, nil for none, and Undone what was undone. They do not block.
	Pinned() *Pinned
	Undone() []Undone
}

// Undone is a resource that was undone, and stays so until another graph takes effect, or until resume.
type Undone struct {
	Resource string    `json:"resource"`
	Before   time.Time `json:"before"` // the time of the state to which it has gone back
	By       string    `json:"by,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Since    time.Time `json:"since"`
}

// UndoRequest is the body of POST /v1/undo. Run, Resource or Since is required.
type UndoRequest struct {
	Run      uint64  `json:"run,omitempty"`      // of this session: what it has changed, and later changes of its resource
	Resource string  `json:"resource,omitempty"` // a selection; without Since the last change of each
	Since    float64 `json:"since_seconds,omitempty"`
	DryRun   bool    `json:"dry_run,omitempty"`
	Reason   string  `json:"reason,omitempty"`
}

// UndoPlan says what an undo does, or has begun to do.
type UndoPlan struct {
	Undo    []Undoing  `json:"undo"`              // in the order of their names
	Cannot  []CantUndo `json:"cannot,omitempty"`  // the same
	Verdict *Verdict   `json:"verdict,omitempty"` // absent with dry_run, and where nothing can be undone
}

// Undoing is one resource that goes back.
type Undoing struct {
	Resource string    `json:"resource"`
	Before   time.Time `json:"before"`  // the time of the state to which it goes back
	Changes  int       `json:"changes"` // that are undone
}

// CantUndo is a change that can't be undone.
type CantUndo struct {
	Resource string `json:"resource"`
	Why      string `json:"why"`
}

// GraphList is the answer of GET /v1/graphs.
type GraphList struct {
	Graphs []KeptGraph `json:"graphs"`           // the newest first
	Pinned *Pinned     `json:"pinned,omitempty"` // where an earlier graph stands in the place of the one of the input
}

// KeptGraph is a graph that took effect.
type KeptGraph struct {
	Number    int       `json:"number"` // rising over restarts
	At        time.Time `json:"at"`
	Name      string    `json:"name,omitempty"`
	By        string    `json:"by,omitempty"`     // who has asked for it; absent where a file was altered, say
	Reason    string    `json:"reason,omitempty"` // of a rollback
	Path      string    `json:"path,omitempty"`   // where it comes from
	Digest    string    `json:"digest,omitempty"` // of that text
	Resources int       `json:"resources"`
	Added     int       `json:"added"` // compared with the graph before
	Changed   int       `json:"changed"`
	Removed   int       `json:"removed"`
	Rollback  int       `json:"rollback,omitempty"` // it is the graph of this number, once more
	Lacks     string    `json:"lacks,omitempty"`    // why it can't take effect again
}

// Pinned says that an earlier graph is in effect in the place of the one of the input.
type Pinned struct {
	Number int       `json:"number"` // of the graph
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since"`
}

// GraphDiff is how two graphs differ.
type GraphDiff struct {
	From      int            `json:"from"`
	To        int            `json:"to"`
	Resources []ResourceDiff `json:"resources"` // those that differ, in the order of their names
}

// ResourceDiff is how a resource differs between two graphs.
type ResourceDiff struct {
	Resource string      `json:"resource"`
	Verb     engine.Verb `json:"verb"`              // created, updated or deleted
	Changes  []Change    `json:"changes,omitempty"` // of its declaration; secrets are redacted
}

// RollbackRequest is the body of POST /v1/rollback.
type RollbackRequest struct {
	Number int    `json:"number"` // of the graph; required
	Reason string `json:"reason,omitempty"`
}

var errNotKept = &Error{http.StatusNotFound, "this daemon keeps no graphs", "give it a state folder"}

func (s *Server) getGraphs(_ http.ResponseWriter, r *http.Request) (any, error) {
	if s.opt.Kept == nil {
		return nil, errNotKept
	}
	return s.opt.Kept.Graphs(r.Context())
}

func (s *Server) getGraphDiff(_ http.ResponseWriter, r *http.Request) (any, error) {
	if s.opt.Kept == nil {
		return nil, errNotKept
	}
	// Declarations may have what only the owner may read, such as the content of a file of mode 0600.
	if err := s.mayApply(r); err != nil {
		return nil, err
	}
	p := params{Values: r.URL.Query()}
	from, to := p.number("from", 0, 1, 1<<31), p.number("to", 0, 1, 1<<31)
	if p.err == nil && from == 0 {
		p.refuse(bad("mgmt history lists the numbers", "from is missing"))
	}
	if p.err != nil {
		return nil, p.err
	}
	return s.opt.Kept.Difference(r.Context(), int(from), int(to))
}

// postRollback answers POST /v1/rollback. It may take minutes, as postReload.
func (s *Server) postRollback(w http.ResponseWriter, r *http.Request) (any, error) {
	if s.opt.Kept == nil {
		return nil, errNotKept
	}
	if err := s.mayApply(r); err != nil {
		return nil, err
	}
	var req RollbackRequest
	if err := httpd.DecodeObject(r, &req); err != nil {
		return nil, err
	}
	if len(req.Reason) > maxWords {
		return nil, bad("", "the reason is longer than %d bytes", maxWords)
	}
	v, err := s.opt.Kept.Rollback(calling(r), req)
	return s.judged(w, r, v, err)
}

// postUndo answers POST /v1/undo. It may take minutes, as postReload.
func (s *Server) postUndo(w http.ResponseWriter, r *http.Request) (any, error) {
	if s.opt.Kept == nil {
		return nil, errNotKept
	}
	if err := s.mayApply(r); err != nil {
		return nil, err
	}
	var req UndoRequest
	if err := httpd.DecodeObject(r, &req); err != nil {
		return nil, err
	}
	switch {
	case len(req.Reason) > maxWords:
		return nil, bad("", "the reason is longer than %d bytes", maxWords)
	case req.Run == 0 && req.Resource == "" && req.Since == 0:
		return nil, bad("name a run, resources or a time", "it is not said what to undo")
	case req.Run != 0 && (req.Resource != "" || req.Since != 0):
		return nil, bad("", "a run says by itself which resource is undone, and since when")
	case req.Since < 0 || req.Since > MaxPause.Seconds():
		return nil, bad("", "since_seconds must be from 0 to %.0f", MaxPause.Seconds())
	}
	if err := s.opt.Recorder.Sync(r.Context()); err != nil {
		return nil, err
	}
	plan, err := s.opt.Kept.Undo(calling(r), req)
	if err != nil || plan.Verdict == nil {
		return plan, err
	}
	_, err = s.judged(w, r, plan.Verdict, nil)
	return plan, err
}

// Undo undoes changes, or tells what it would undo.
func (c *Client) Undo(ctx context.Context, req UndoRequest) (*UndoPlan, error) {
	return askWaiting[UndoPlan](ctx, c, applyPatience, http.MethodPost, "/v1/undo", nil, req)
}

// Graphs asks for the graphs that took effect.
func (c *Client) Graphs(ctx context.Context) (*GraphList, error) {
	return ask[GraphList](ctx, c, http.MethodGet, "/v1/graphs", nil, nil)
}

// Difference asks how two graphs differ; 0 as the second one stands for the newest.
func (c *Client) Difference(ctx context.Context, from, to int) (*GraphDiff, error) {
	q := url.Values{"from": {strconv.Itoa(from)}}
	if to != 0 {
		q.Set("to", fmt.Sprint(to))
	}
	return ask[GraphDiff](ctx, c, http.MethodGet, "/v1/graphs/diff", q, nil)
}

// Rollback has an earlier graph take effect, and returns the verdict on it.
func (c *Client) Rollback(ctx context.Context, req RollbackRequest) (*Verdict, error) {
	return askWaiting[Verdict](ctx, c, applyPatience, http.MethodPost, "/v1/rollback", nil, req)
}
