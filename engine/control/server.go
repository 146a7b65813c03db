package control

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Bounds of a Server.
const (
	// maxBody is in bytes, of a request and of an error.
	maxBody    = 64 << 10
	maxStreams = 64 // requests at once that last: events, waits, profiles

	headTimeout  = 2 * time.Second  // of the head of a request
	readTimeout  = 10 * time.Second // of a whole request
	writeTimeout = 30 * time.Second // of a whole answer, or of each event of a stream
	askTimeout   = 10 * time.Second // the time that the engine and the history may take for one answer
)

// limits are those of each server; the others are the defaults of the frame.
var limits = httpd.Limits{
	Lasting: maxStreams, Body: maxBody,
	Head: headTimeout, Read: readTimeout, Answer: askTimeout, Slow: writeTimeout,
}

// Options configure a Server. Engine, Recorder and History are required.
// The caller keeps them unchanged while the Server runs.
type Options struct {
	Engine   Engine
	Recorder *Recorder
	History  History               // that of the Recorder's Run
	Metrics  httpd.Handler         // of GET /v1/metrics; without it the answer is 404
	Kept     Kept                  // of /v1/graphs and /v1/rollback; without it the answer is 404
	Graphs   Graphs                // of POST /v1/reload and /v1/apply; without it the answer is 404
	Logger   *slog.Logger          // discards when nil
	Clock    clock.Clock           // of time spans; nil for that of the machine
	Objects  *model.NB             // of the routes below /v1/api; without it there are none
	Shared   world.World           // the store that hosts share, of the routes below /v1/store; without it there are none
	MayWrite func(httpd.Peer) bool // who may change objects and deploy; nil for root and the daemon's own user
	// Hosts reads the hosts that share the store, for GET /v1/hosts; without it the answer is 404.
	Hosts func(context.Context) (*Hosts, error)
	// Providers answers GET /v1/providers; without it there are none.
	Providers Providers
	// Folders tells what is watched, in the order of the paths, for GET /v1/status; nil where that is not known.
	Folders func(context.Context) ([]Folder, error)
	// Lost tells since when the store has not answered, and why; zero and nil while it answers. It must not block; nil is never.
	Lost func() (since time.Time, why error)
	// StateLost tells what the state folder has lost; nil where it has lost nothing. It must not block; a nil function is never.
	StateLost func() *StateLost
	// MCP returns what answers POST /v1/mcp with tools that ask by a client; without it there is no such route.
	MCP func(*Client) http.Handler
	// Notices tells how those who are told of events stand, in the order of their names. It must not block; nil for nobody.
	Notices func() []NoticeReceiver
	// Login makes a link that opens the page of the daemon once, for a person; nil where there is no page.
	Login    func(who string, readOnly bool) (*Login, error)
	Known    func(ctx context.Context, resource string) bool // whether kind[name] runs, for references of objects; nil for never
	Removed  func(context.Context) func(host string) bool    // which hosts the operator has removed; nil for none
	Version  string
	StateDir string
}

// Server answers the API. Make it with NewServer.
// Its methods may be called from many goroutines.
type Server struct {
	opt Options
	// frame has the connections, and all that is common to servers.
	frame     *httpd.Server
	proposals *proposals
	deciding  sync.Mutex // one decision is made at a time
}

// NewServer checks the options. It starts nothing.
// An error names a missing option, or a table of routes that contradicts itself.
func NewServer(o Options) (*Server, error) {
	if o.Engine == nil || o.Recorder == nil || o.History == nil {
		return nil, errors.New("control: Engine, Recorder and History are required")
	}
	o.Clock = clock.Or(o.Clock)
	s := &Server{opt: o, proposals: newProposals(&o)}
	// The kinds and models of this daemon are a part of its description.
	about := info
	if o.Objects != nil {
		about = api.Describe(info, o.Objects.Registry())
	}
	table, err := httpd.NewTable(about, s.routes())
	s.frame = &httpd.Server{Table: table, Limits: limits, Errors: problem, Logger: o.Logger, Clock: o.Clock}
	return s, err
}

// Serve answers on l until ctx ends, and then closes it. It returns when every
// request is over and every connection closed: nil, or why l could not go on.
// Only peers that l allows are answered, where l is from Listen; and a socket that
// was removed meanwhile is made again.
func (s *Server) Serve(ctx context.Context, l net.Listener) error { return s.frame.Serve(ctx, l) }

// ServeHTTP implements http.Handler. It does not check its callers: a program that
// embeds the server decides that.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.frame.ServeHTTP(w, r) }
