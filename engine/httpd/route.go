package httpd

import (
	"net/http"
	"net/url"
)

// Handler answers a request. Its result is the answer: an *Answer, another value for status 200
// with that value in JSON, or nil where it has written the answer itself. Path parameters are in
// r.PathValue. The frame turns the error into a Problem; one after the answer has begun cuts the
// connection.
type Handler func(w http.ResponseWriter, r *http.Request) (any, error)

// Route is one endpoint, as data. Method, Pattern, Summary and Serve are required.
type Route struct {
	Method  string // GET, POST, ...; GET answers HEAD too
	Pattern string // segments: a literal, {name}, or {name}:{name}; /v1/api/{table}/{id}
	Summary string // what it does, in one sentence
	Doc     string // more of that, in Markdown

	Params   []Param // of the query and the path; others of the query are refused
	AnyQuery bool    // the query may have other parameters too
	Body     any     // a value of the Go type of the body, or a *schema.Type; nil for none
	Accepts  []string
	MaxBody  int64 // bytes; 0 for Limits.Body

	Answer   any         // a value of the Go type of the answer, or a *schema.Type; nil for none in JSON
	Status   int         // of a good answer; 0 for 200
	Also     map[int]any // other good answers: their statuses, with a value of the type of the JSON; nil for none
	Types    []string
	Versions bool              // answers have an ETag, and requests may have conditions
	Headers  map[string]string // that good answers may have besides ETag and Location, with what each says
	Errors   []int             // statuses of errors besides those that every route has

	Lasting func(url.Values) bool // whether such a request may last; nil for never
	Public  bool                  // unknown callers may ask, too
	Serve   Handler
}

// Always is the Lasting of a route all of whose requests last.
func Always(url.Values) bool { return true }

// Param is a parameter of a query or a path.
type Param struct {
	Name string
	Doc  string
	Type string   // of JSON Schema: string (if absent), integer, number or boolean
	Form string   // the format of JSON Schema, as date-time
	Of   []string // the words that it may be; nil for any
	List bool     // several, with commas between them
	Path bool     // it is of the path, and so always there
	Head bool     // it is a header
	Need bool     // it has to be there
}

// Answer is an answer with more than a document.
type Answer struct {
	Status   int    // 0 for 200, or 204 where there is no body
	Version  string // of the object; sent as ETag where it is not empty
	Location string // of what was created
	Type     string // of a Body that is []byte
	Body     any    // nil for none; []byte as it is; else JSON
}
