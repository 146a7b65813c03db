package control

import (
	"context"
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Graphs reads the graph of a daemon, and puts another one in its place. Calls may come
// from many goroutines; they wait for each other and end with their context.
type Graphs interface {
	// Reload has the graph read again.
	Reload(context.Context) (*Verdict, error)
	// Apply checks a document, puts it in the place of the graph file, and has that
	// read. Where it is refused, the file is what it was before. Name is what the
	// findings call it. An error says why the daemon has no such file. If on is not nil, it
	// is called with the file as it is, and nothing is done where it returns an error.
	Apply(ctx context.Context, name string, document []byte, on func(current []byte) error) (*Verdict, error)
	// Current returns the graph file, nil where there is none yet, and its path.
	Current(ctx context.Context) (path string, document []byte, err error)
}

type callerKey struct{}

// calling returns the context of a request, with its caller for CallerOf.
func calling(r *http.Request) context.Context {
	return context.WithValue(r.Context(), callerKey{}, speaker(r))
}

// CallerOf says in words who has made the request that a context of Graphs is of; empty for nobody.
func CallerOf(ctx context.Context) string {
	who, _ := ctx.Value(callerKey{}).(string)
	return who
}

// Verdict is what became of a graph that was read on demand.
type Verdict struct {
	Generation int      `json:"generation"`         // of the graph in effect after it
	Session    string   `json:"session"`            // of the daemon
	Path       string   `json:"path,omitempty"`     // of the graph file, where that was written
	Refused    string   `json:"refused,omitempty"`  // why it is not in effect; absent where it is
	Held       string   `json:"held,omitempty"`     // why it waits to be resumed; the file stays
	Findings   []string `json:"findings,omitempty"` // each with its place: errors where it was refused, else warnings

	Leaving []Leaving `json:"leaving,omitempty"` // at most 100 of the resources that have left with this graph
	More    int       `json:"more,omitempty"`    // have left beside them
}

// Refuse notes why a graph was refused: each finding for itself.
func (v *Verdict) Refuse(err error) {
	if held, ok := errors.AsType[*reactor.RemovalsError](err); ok {
		v.Held = held.Error()
		return
	}
	v.Refused = err.Error()
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
		v.Findings = nil
		for _, d := range ds {
			v.Findings = append(v.Findings, d.String())
		}
	}
}

// ApplyRequest is the body of POST /v1/apply.
// Its fields are required. The document is UTF-8 and has at most MaxDocument bytes.
type ApplyRequest struct {
	Name     string `json:"name"`     // what the findings call the document
	Document string `json:"document"` // the text of a graph
}

// MaxDocument bounds the length of a document that is applied.
const MaxDocument = 16 << 20

// It may take minutes, since a new graph can wait for resources that have to be brought
// about first.
func (s *Server) postReload(w http.ResponseWriter, r *http.Request) (any, error) {
	// The right is judged before the body is read.
	if err := s.mayApply(r); err != nil {
		return nil, err
	}
	v, err := s.opt.Graphs.Reload(calling(r))
	return s.judged(w, r, v, err)
}

// postApply answers POST /v1/apply. It may take minutes, as postReload.
func (s *Server) postApply(w http.ResponseWriter, r *http.Request) (any, error) {
	if err := s.mayApply(r); err != nil {
		return nil, err
	}
	var req ApplyRequest
	if err := httpd.DecodeObject(r, &req); err != nil {
		return nil, err
	}
	if req.Name == "" || req.Document == "" || !utf8.ValidString(req.Document) {
		return nil, bad("send the text of a graph, and its name", "there is no document")
	}
	v, err := s.opt.Graphs.Apply(calling(r), req.Name, []byte(req.Document), nil)
	return s.judged(w, r, v, err)
}

// judged answers with a verdict, once the recorder knows the graph that it is about.
// Told makes sure that a status asked after the answer already shows the graph.
func (s *Server) judged(w http.ResponseWriter, r *http.Request, v *Verdict, err error) (any, error) {
	s.frame.Patience(w)
	if err == nil {
		err = s.opt.Engine.Told(r.Context())
	}
	if err != nil {
		return nil, err
	}
	v.Session = s.opt.Recorder.Standing().Session
	return v, nil
}

var errNoGraphs = &Error{http.StatusNotFound, "this program does not read its graph again", ""}

// mayApply refuses who may ask, but not say what the graph is: the members of the group
// of the socket.
func (s *Server) mayApply(r *http.Request) error {
	if s.opt.Graphs == nil {
		return errNoGraphs
	}
	if p, ok := httpd.PeerOf(r.Context()); ok && !p.Owner() {
		return &Error{http.StatusForbidden, p.String() + " may not say what the graph is", "ask as root, or as the user that mgmt runs as"}
	}
	return nil
}
