package control

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/control/store"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/seal"
	"github.com/reactivegraph/mgmt/engine/selection"
)

// info is about the API as a whole.
var info = httpd.Info{
	Title: "The API of a running daemon", Version: "1",
	Doc: "A daemon answers on a unix socket: what it does and why. Paths, words and names of fields below /v1 are stable: they may become more, and none goes away or changes its meaning.",
}

// waiting are the requests that ask to wait for something.
func waiting(query url.Values) bool { return query.Has("wait") }

// Parameters that several routes have.
var (
	oneResource = httpd.Param{Name: "resource", Doc: "Only of this resource, kind[name], or of a selection. A member of a group means its owner."}
	someEvent   = httpd.Param{Name: "outcome", Doc: "Only these.", Of: words(Outcomes()), List: true}
)

// words returns the outcomes as the parameter takes them.
func words(outcomes []Outcome) (list []string) {
	for _, o := range outcomes {
		list = append(list, string(o))
	}
	return list
}

// routes are the endpoints. The meaning of their answers is in docs/objects.md.
// They are fixed when the Server is made. The OpenAPI document is made from the same
// list.
func (s *Server) routes() []httpd.Route {
	routes := append(slices.Concat(s.graphRoutes(), s.eventRoutes(), s.orderRoutes(), s.proposalRoutes(), s.providerRoutes()), s.profileRoute())
	if s.opt.MCP != nil {
		routes = append(routes, s.mcpRoute())
	}
	if s.opt.Shared != nil {
		may := s.opt.MayWrite
		// Without a rule of the program, only root and the daemon's own user may write to the
		// store of all hosts.
		if may == nil {
			may = httpd.Peer.Owner
		}
		routes = append(routes, store.Routes(store.Options{
			World: s.opt.Shared, MayWrite: may, Write: deploy.Written(), Read: append([]string{deploy.Reports(), hosts.Prefix, hosts.SeenPrefix, seal.Prefix}, hosts.Shared()...), Large: deploy.Large(),
		})...)
	}
	if s.opt.Objects == nil {
		return routes
	}
	objects := api.New(api.Options{NB: s.opt.Objects, MayWrite: s.opt.MayWrite, Known: s.opt.Known, Removed: s.opt.Removed}, func() *httpd.Server { return s.frame })
	return append(routes, objects.Routes()...)
}

// graphRoutes are the endpoints that show the graph of this moment, and this host. They alter nothing.
func (s *Server) graphRoutes() []httpd.Route {
	const text = "text/plain"
	return []httpd.Route{
		{Method: "GET", Pattern: "/v1/version", Summary: "Which daemon answers.", Answer: Version{}, Serve: s.getVersion},
		{
			Method: "GET", Pattern: "/v1/status", Summary: "How the graph stands, with the resources that are not ok.",
			Params: []httpd.Param{
				{Name: "state", Doc: "The resources in these states instead.", Of: selection.States(), List: true},
				{Name: "all", Doc: "All resources.", Type: "boolean"},
				{Name: "select", Doc: "The resources of this selection instead, whatever their states; with state, those of them."},
				{Name: "empty", Doc: "A selection of nothing is an answer too, and no error: for who watches or waits.", Type: "boolean"},
				{Name: "wait", Doc: "Answer as soon as the graph has come to rest,", Of: []string{"converged"}, List: true},
				{Name: "for_seconds", Doc: "or after this time, 30 if absent.", Type: "number"},
			},
			Answer: Status{}, Errors: []int{http.StatusNotFound}, Lasting: waiting, Serve: s.getStatus,
		},
		{
			Method: "GET", Pattern: "/v1/resources", Summary: "The names of the resources of the graph in effect.",
			Params: []httpd.Param{{Name: "prefix", Doc: "Those that begin so."}, {Name: "select", Doc: "Those of this selection."}, {Name: "terms", Doc: "Also the kinds, modules and labels that begin so.", Type: "boolean"}, {Name: "limit", Doc: "At most so many, 1000 if absent.", Type: "integer"}},
			Answer: Names{}, Errors: []int{http.StatusNotFound}, Serve: s.getResources,
		},
		{
			Method: "GET", Pattern: "/v1/why", Summary: "What has led to the last runs of a resource, and what they changed.",
			Params: []httpd.Param{
				{Name: "resource", Doc: "kind[name]. A member of a group means its owner.", Need: true},
				{Name: "n", Doc: "How many runs, 3 if absent, at most 100.", Type: "integer"},
			},
			Answer: Why{}, Errors: []int{http.StatusNotFound}, Serve: s.getWhy,
		},
		{
			Method: "GET", Pattern: "/v1/resource", Summary: "All about one resource: what it declares, what the machine has instead, its last runs, and its neighbors.",
			Params: []httpd.Param{
				{Name: "resource", Doc: "kind[name]. A member of a group means its owner.", Need: true},
				{Name: "n", Doc: "How many runs, 3 if absent, at most 100.", Type: "integer"},
			},
			Answer: Detail{}, Errors: []int{http.StatusNotFound}, Serve: s.getDetail,
		},
		{
			Method: "GET", Pattern: "/v1/graph", Summary: "A drawing of the graph in effect, with the state of each resource.",
			Params: []httpd.Param{
				{Name: "format", Doc: "dot if absent; json is for Cytoscape.", Of: []string{"dot", "mermaid", "json"}},
				{Name: "direction", Doc: "To where edges lead: TB if absent.", Of: []string{"TB", "BT", "LR", "RL"}},
				{Name: "reduce", Doc: "Without the edges that only repeat what a longer path says.", Type: "boolean"},
			},
			Types: []string{"text/vnd.graphviz", text, "application/json"}, Serve: s.getGraph,
		},
		{
			Method: "GET", Pattern: "/v1/hosts", Summary: "The hosts that share the store: those that are there, and those that the operator has admitted and that are gone.",
			Answer: Hosts{}, Errors: []int{http.StatusNotFound, http.StatusServiceUnavailable}, Serve: s.getHosts,
		},
		{Method: "GET", Pattern: "/v1/graphs", Summary: "The graphs that took effect, the newest first, and the rollback that is pinned.", Answer: GraphList{}, Errors: []int{http.StatusNotFound}, Serve: s.getGraphs},
		{
			Method: "GET", Pattern: "/v1/graphs/diff", Summary: "How two graphs that took effect differ, resource by resource, without secrets.",
			Doc: "Only root and the user that the daemon runs as may ask.",
			Params: []httpd.Param{
				{Name: "from", Doc: "The number of a graph.", Type: "integer", Need: true},
				{Name: "to", Doc: "The number of the other one, the newest if absent.", Type: "integer"},
			},
			Answer: GraphDiff{}, Errors: []int{http.StatusNotFound}, Serve: s.getGraphDiff,
		},
		{Method: "GET", Pattern: "/v1/notices", Summary: "Who is told of events, with the queues.", Answer: NoticeList{}, Serve: s.getNotices},
		{Method: "GET", Pattern: "/v1/dump", Summary: "What each resource that is not settled does or waits for, for people.", Types: []string{text}, Serve: s.getDump},
		{Method: "GET", Pattern: "/v1/metrics", Summary: "The metrics, for Prometheus.", Types: []string{text}, Serve: s.getMetrics},
	}
}

// eventRoutes are the endpoints that show past events, and new ones as they come. They alter nothing.
func (s *Server) eventRoutes() []httpd.Route {
	return []httpd.Route{
		{
			Method: "GET", Pattern: "/v1/events", Summary: "Events as they come.",
			Doc: "They are server-sent events with id, event (the outcome) and data (an Event in JSON). A client that accepts application/x-ndjson gets one Event on each line.",
			Params: []httpd.Param{
				{Name: "since", Doc: "Begin after this event; without it, with the next one.", Type: "integer"},
				{Name: "Last-Event-ID", Doc: "The same.", Type: "integer", Head: true},
				oneResource, someEvent,
			},
			Answer: Event{}, Types: []string{httpd.EventsType, httpd.LinesType}, Lasting: httpd.Always, Serve: s.getEvents,
		},
		{
			Method: "GET", Pattern: "/v1/log", Summary: "What has happened: the newest events that fit, the oldest of them first.",
			Params: []httpd.Param{
				oneResource, someEvent,
				{Name: "since", Doc: "From this time on.", Form: "date-time"},
				{Name: "until", Doc: "Before this time.", Form: "date-time"},
				{Name: "after", Doc: "After this id.", Type: "integer"},
				{Name: "before", Doc: "Before this id.", Type: "integer"},
				{Name: "limit", Doc: "At most so many, 100 if absent, 1000 at most.", Type: "integer"},
			},
			Answer: Log{}, Serve: s.getLog,
		},
	}
}

// orderRoutes are the endpoints that alter the work of the daemon.
// They need the right to write to the socket, and some of them more, see mayApply.
func (s *Server) orderRoutes() []httpd.Route {
	return []httpd.Route{
		{
			Method: "POST", Pattern: "/v1/reload", Summary: "Have the daemon read its configuration and its graph again, changed or not.",
			Doc: "Only root and the user that the daemon runs as may ask.", Answer: Verdict{}, Lasting: httpd.Always, Serve: s.postReload,
		},
		{
			Method: "POST", Pattern: "/v1/apply", Summary: "Put a graph in the place of the daemon's graph file, and have that read.",
			Doc:  "Only root and the user that the daemon runs as may ask. A graph that is refused leaves the file as it was.",
			Body: ApplyRequest{}, MaxBody: 2*MaxDocument + maxBody, // with the escapes of JSON
			Answer: Verdict{}, Errors: []int{http.StatusConflict}, Lasting: httpd.Always, Serve: s.postApply,
		},
		{
			Method: "POST", Pattern: "/v1/rollback", Summary: "Have an earlier graph take effect, and keep it until the input has another one, or until resume.",
			Doc: "Only root and the user that the daemon runs as may ask.", Body: RollbackRequest{},
			Answer: Verdict{}, Errors: []int{http.StatusNotFound, http.StatusConflict}, Lasting: httpd.Always, Serve: s.postRollback,
		},
		{
			Method: "POST", Pattern: "/v1/undo", Summary: "Undo changes, and keep them undone until the input has another graph, or until resume.",
			Doc: "Only root and the user that the daemon runs as may ask.", Body: UndoRequest{},
			Answer: UndoPlan{}, Errors: []int{http.StatusNotFound}, Lasting: httpd.Always, Serve: s.postUndo,
		},
		{Method: "POST", Pattern: "/v1/pause", Summary: "Leave a resource alone, or everything.", Body: PauseRequest{}, Answer: Done{}, Serve: s.postPause},
		{
			Method: "POST", Pattern: "/v1/resume", Summary: "End a pause, and let go what a limit holds.",
			Body: ResumeRequest{}, Answer: Done{}, Errors: []int{http.StatusConflict}, Serve: s.postResume,
		},
		{
			Method: "POST", Pattern: "/v1/decide", Summary: "Approve changes that wait for that, or reject them: all, or with an error none.",
			Body: DecideRequest{}, Answer: Decided{}, Errors: []int{http.StatusConflict}, Serve: s.postDecide,
		},
		{
			Method: "POST", Pattern: "/v1/login", Summary: "Make a link that opens the page of the daemon once.",
			Body: LoginRequest{}, Answer: Login{}, Errors: []int{http.StatusNotFound}, Serve: s.postLogin,
		},
		{
			Method: "POST", Pattern: "/v1/retry", Summary: "Try failed resources again at once.",
			Body: RetryRequest{}, Answer: Retried{}, Errors: []int{http.StatusConflict}, Serve: s.postRetry,
		},
	}
}

// profileRoute is the endpoint of the profiles of the process.
func (s *Server) profileRoute() httpd.Route {
	return httpd.Route{
		Method: "GET", Pattern: "/debug/pprof/{name}", Summary: "A profile of the process, for go tool pprof.",
		Params: []httpd.Param{
			{Name: "name", Doc: "profile (of the CPU), trace, or a profile of the Go runtime, as heap and goroutine.", Path: true},
			{Name: "debug", Doc: "1 or 2: as text.", Type: "integer"},
			{Name: "seconds", Doc: "Over how long, 10 if absent, 300 at most.", Type: "number"},
		},
		Types: []string{"application/octet-stream", "text/plain"}, Errors: []int{http.StatusNotFound, http.StatusConflict},
		Lasting: httpd.Always, Serve: s.getProfile,
	}
}

// Document returns the description of the API in OpenAPI 3.1, as JSON.
// It needs no engine, so the reference can be made without a daemon.
func Document() ([]byte, error) {
	table, err := httpd.NewTable(info, (&Server{opt: Options{
		Objects: &model.NB{}, Shared: &store.Client{}, MCP: func(*Client) http.Handler { return http.NotFoundHandler() },
	}}).routes())
	if err != nil {
		return nil, err
	}
	return table.Document(), nil
}
