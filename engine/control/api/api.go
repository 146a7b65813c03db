package api

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
)

// Options say what is served, and to whom.
// The program that mounts the routes owns the NB and its World, and closes them after the last request.
type Options struct {
	NB *model.NB // the objects; required
	// MayWrite reports whether a caller may change objects; nil is Peer.Owner. A request that has come over no
	// connection of the frame is that of the program itself, and may.
	MayWrite func(httpd.Peer) bool
	// Known reports whether the graph that runs has a resource, by table[id]: a reference may name one. nil is never.
	Known func(ctx context.Context, resource string) bool
	// Removed returns which hosts the operator has removed, as known at this moment. A removal of an object does not wait for these, whatever they
	// write. nil is none.
	Removed func(context.Context) func(host string) bool
}

// API answers the requests. Make it with New.
// Its methods may be called from many goroutines; it keeps nothing between two requests.
type API struct {
	nb       *model.NB
	mayWrite func(httpd.Peer) bool
	known    func(ctx context.Context, resource string) bool
	removed  func(context.Context) func(host string) bool
	frame    func() *httpd.Server // of the streams
}

// New returns the API. The frame is asked for only while a request is answered, so it may be made of these routes.
// New reads nothing and starts nothing.
func New(o Options, frame func() *httpd.Server) *API {
	a := &API{nb: o.NB, mayWrite: o.MayWrite, known: o.Known, removed: o.Removed, frame: frame}
	if a.mayWrite == nil {
		a.mayWrite = httpd.Peer.Owner
	}
	if a.known == nil {
		a.known = func(context.Context, string) bool { return false }
	}
	if a.removed == nil {
		a.removed = func(context.Context) func(string) bool { return func(string) bool { return false } }
	}
	return a
}

// Types of bodies.
const (
	jsonType  = "application/json"
	patchType = "application/merge-patch+json"
)

// maxBody bounds the body with one object, and maxTxn that with several: some ten thousand objects.
const (
	maxBody = model.MaxObject
	maxTxn  = 16 * model.MaxObject
)

// Parameters that several routes have.
var (
	tableParam   = httpd.Param{Name: "table", Doc: "The table, or the name of its model.", Path: true}
	idParam      = httpd.Param{Name: "id", Doc: "The id of the object. Characters with a meaning in a path are escaped.", Path: true}
	dryParam     = httpd.Param{Name: "dry_run", Doc: "Check all and write nothing. The answer is the object as it would be.", Type: "boolean"}
	removeParam  = httpd.Param{Name: "remove", Doc: "Remove the thing too, before the object.", Type: "boolean"}
	resolveParam = httpd.Param{Name: "resolve", Doc: "deep adds references: the objects that an object refers to, and those that they refer to, by kind[id].", Of: []string{"deep"}}
	preferHead   = httpd.Param{Name: "Prefer", Doc: "return=representation answers 200 with the object, in the place of 204.", Head: true}
)

// represent is the answer that has the object in the place of nothing, or of a new one: that of a dry run, and the one that Prefer asks for.
var represent = map[int]any{http.StatusOK: Object{}}

// Routes are the endpoints, for the table of a frame.
// The caller hands them to httpd.NewTable once. A request may block as the store does, and ends with its context.
// A request that changes objects is refused with 403 where MayWrite says so; all callers of the frame may read.
func (a *API) Routes() []httpd.Route {
	return append(append(a.reading(), a.watchRoute(), a.checkRoute(), a.dumpRoute()), a.writing()...)
}

// reading are the endpoints that alter nothing.
func (a *API) reading() []httpd.Route {
	return []httpd.Route{
		{
			Method: "GET", Pattern: "/v1/api", Summary: "The tables, with their fields, indexes and operations.",
			Params: []httpd.Param{{Name: "table", Doc: "Only this one."}},
			Answer: []Table{}, Errors: []int{http.StatusNotFound}, Serve: a.getTables,
		},
		{
			Method: "GET", Pattern: "/v1/api/{table}", Summary: "The objects of a table, sorted by their escaped ids.",
			Doc:    "Another parameter is the path of a field with the value that it has to have; where.FIELD is always the field, also for one that is called topic or limit.",
			Params: listParams, AnyQuery: true,
			Answer: []Object{}, Errors: []int{http.StatusBadRequest, http.StatusNotFound}, Lasting: httpd.Always, Serve: a.getList,
			Headers: map[string]string{"Continue": "Of an answer with limit, where there is more: the parameter continue of the next page."},
		},
		{
			Method: "GET", Pattern: "/v1/api/{table}/{id}", Summary: "An object.",
			Params: []httpd.Param{tableParam, idParam, resolveParam},
			Answer: Object{}, Versions: true, Errors: []int{http.StatusBadRequest, http.StatusNotFound}, Serve: a.getObject,
		},
		{
			Method: "GET", Pattern: "/v1/api/{table}/{id}/status", Summary: "How an object stands on each host that has taken it over.",
			Params: []httpd.Param{tableParam, idParam},
			Answer: map[string]any{}, Errors: []int{http.StatusNotFound}, Serve: a.getStatus,
		},
	}
}

// writing are the endpoints that alter objects.
func (a *API) writing() []httpd.Route {
	routes := []httpd.Route{
		{
			Method: "POST", Pattern: "/v1/api/{table}", Summary: "Create an object.", Params: []httpd.Param{tableParam, dryParam},
			Body: Object{}, Answer: Object{}, Status: http.StatusCreated, Also: represent, Versions: true,
			Errors: []int{http.StatusConflict}, Serve: a.postObject,
		},
		{
			Method: "PUT", Pattern: "/v1/api/{table}", Summary: "Alter the object that the body names by its id.",
			Doc:    "Fields that the body lacks stay as they are, and null clears a field. Lists and nested objects are replaced whole.",
			Params: []httpd.Param{tableParam, dryParam, preferHead}, Body: Object{}, Status: http.StatusNoContent, Also: represent, Versions: true, Serve: a.putTable,
		},
		{
			Method: "PUT", Pattern: "/v1/api/{table}/{id}", Summary: "Replace an object: fields that the body lacks are cleared.",
			Params: []httpd.Param{tableParam, idParam, dryParam, preferHead}, Body: Object{}, Status: http.StatusNoContent, Also: represent, Versions: true, Serve: a.putObject,
		},
		{
			Method: "PATCH", Pattern: "/v1/api/{table}/{id}", Summary: "Alter an object, as RFC 7396 says.",
			Doc:    "A body of the type application/json is a merge patch, too.",
			Params: []httpd.Param{tableParam, idParam, dryParam, preferHead}, Body: Object{}, Accepts: []string{patchType, jsonType},
			Status: http.StatusNoContent, Also: represent, Versions: true, Serve: a.patchObject,
		},
		{
			Method: "DELETE", Pattern: "/v1/api/{table}/{id}", Summary: "Delete an object.",
			Doc:    "With remove, the thing goes first: the object is set absent, and deleted when each host that has it says ok. The answer is 202 until then, with the hosts that are missing: send the request again.",
			Params: []httpd.Param{tableParam, idParam, dryParam, removeParam}, Status: http.StatusNoContent,
			Also: map[int]any{http.StatusAccepted: Removal{}}, Versions: true, Errors: []int{http.StatusConflict}, Serve: a.deleteObject,
		},
		{
			Method: "POST", Pattern: "/v1/api/{table}/{id}:{operation}", Summary: "Call an operation of an object.",
			Doc:    "The body has the arguments. GET /v1/api tells the operations. Two writers that add to a list, or remove from it, both take effect.",
			Params: []httpd.Param{tableParam, idParam, {Name: "operation", Doc: "The name of the operation.", Path: true}, dryParam},
			Answer: Object{}, Versions: true, Errors: []int{http.StatusConflict}, Serve: a.postOperation,
		},
	}
	routes = append(routes, a.txnRoute(), a.migrateRoute())
	for i := range routes {
		r := &routes[i]
		r.MaxBody = cmp.Or(r.MaxBody, maxBody)
		r.Errors = append(r.Errors, http.StatusForbidden, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity)
		r.Serve = a.guarded(r.Serve)
	}
	return routes
}

// Object is the JSON of an object: its fields. The description of the API has a schema for each table.
type Object map[string]any

// guarded lets only those in who may change objects.
// The peer is that of the connection, as the kernel has told it, so a request cannot claim to be another one's.
func (a *API) guarded(next httpd.Handler) httpd.Handler {
	return func(w http.ResponseWriter, r *http.Request) (any, error) {
		if p, ok := httpd.PeerOf(r.Context()); ok && !a.mayWrite(p) {
			return nil, httpd.NewProblem(http.StatusForbidden, "%s may not change objects", p).
				WithHint(wayIn(p))
		}
		return next(w, r.WithContext(written(r.Context())))
	}
}

// wayIn says how a caller may come to change objects. A process is known by its user, and a client of another machine by its certificate.
func wayIn(p httpd.Peer) string {
	if p.Cert != nil {
		return "the setting api_writers of the daemon names the common names of the certificates that may"
	}
	return "ask as root, or as a member of the group that the setting api_write_group names"
}

// written names the client as the writer of records. A process of this machine writes in the name of the host.
func written(ctx context.Context) context.Context {
	if p, ok := httpd.PeerOf(ctx); ok && p.Cert != nil {
		return model.WithOrigin(ctx, "client:"+p.Cert.Subject.CommonName)
	}
	return ctx
}

// model returns the model of the path.
func (a *API) model(r *http.Request) (*model.Model, error) {
	return a.table(r.PathValue("table"))
}

// table returns the model of a table, which is named by the table or by the model.
func (a *API) table(name string) (*model.Model, error) {
	m, err := a.nb.Registry().Model(name)
	if err == nil && !m.FirstClass() {
		err = &model.Error{Code: model.UnknownModel, Table: m.Name(), Message: "its objects are parts of others, and have no table"}
	}
	return m, problem(err, http.StatusNotFound)
}

// represented reports whether a writer wants the object back.
func represented(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Prefer"), "return=representation")
}
