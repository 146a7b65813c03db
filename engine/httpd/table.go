package httpd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Table is a checked list of routes. It is not altered any more.
type Table struct {
	info   Info
	routes []Route          // in the order in which they were given
	by     map[int][]*entry // by the number of segments; the more exact pattern first
	doc    []byte           // the description, in JSON
	public bool             // every route is
}

// entry is one route, ready to be matched.
type entry struct {
	*Route
	segments []segment
}

// segment is one part of a pattern: a literal, one name, or two names with a colon
// between them.
type segment struct{ literal, name, after string }

// DescriptionPath is where every server tells its description.
const DescriptionPath = "/openapi.json"

// NewTable checks routes, adds the one of the description, and makes that. Two routes
// that fit the same requests are an error.
func NewTable(info Info, routes []Route) (*Table, error) {
	t := &Table{info: info, by: map[int][]*entry{}}
	t.public = !slices.ContainsFunc(routes, func(r Route) bool { return !r.Public })
	own := Route{Method: http.MethodGet, Pattern: DescriptionPath, Public: t.public, Summary: "This description, in OpenAPI 3.1.", Types: []string{"application/json"}, Serve: t.serveDocument}
	t.routes = append(slices.Clone(routes), own)
	seen := map[string]string{}
	for i := range t.routes {
		e, err := newEntry(&t.routes[i])
		if err != nil {
			return nil, err
		}
		if other, ok := seen[e.shape()]; ok {
			return nil, fmt.Errorf("httpd: the routes %s and %s %s fit the same requests", other, e.Method, e.Pattern)
		}
		seen[e.shape()] = e.Method + " " + e.Pattern
		t.by[len(e.segments)] = append(t.by[len(e.segments)], e)
	}
	for _, list := range t.by {
		slices.SortStableFunc(list, func(a, b *entry) int { return slices.CompareFunc(a.segments, b.segments, exactFirst) })
	}
	var err error
	t.doc, err = t.describe()
	return t, err
}

// MustTable is NewTable for routes that stand in the program; it panics on an error.
func MustTable(info Info, routes []Route) *Table {
	t, err := NewTable(info, routes)
	if err != nil {
		panic(err)
	}
	return t
}

// Routes returns the routes, that of the description last.
func (t *Table) Routes() []Route { return slices.Clone(t.routes) }

// Document returns the description in OpenAPI 3.1, as JSON.
func (t *Table) Document() []byte { return slices.Clone(t.doc) }

func (t *Table) serveDocument(http.ResponseWriter, *http.Request) (any, error) {
	if t.info.Extend == nil {
		return &Answer{Type: "application/json", Body: t.doc}, nil
	}
	var doc object
	err := json.Unmarshal(t.doc, &doc)
	if err == nil {
		err = t.info.Extend(doc)
	}
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	return &Answer{Type: "application/json", Body: append(text, '\n')}, err
}

func newEntry(r *Route) (*entry, error) {
	e := &entry{Route: r}
	if r.Method == "" || r.Serve == nil || r.Summary == "" || !strings.HasPrefix(r.Pattern, "/") {
		return nil, fmt.Errorf("httpd: the route %s %s lacks a method, a path, a summary or a handler", r.Method, r.Pattern)
	}
	var names []string
	for part := range strings.SplitSeq(r.Pattern[1:], "/") {
		s, err := newSegment(part)
		if r.Pattern == "/" {
			err = nil
		}
		if err != nil {
			return nil, fmt.Errorf("httpd: the pattern %s: %w", r.Pattern, err)
		}
		e.segments = append(e.segments, s)
		names = append(names, s.names()...)
	}
	for _, name := range names {
		if !slices.ContainsFunc(r.Params, func(p Param) bool { return p.Path && p.Name == name }) {
			r.Params = append([]Param{{Name: name, Path: true}}, r.Params...)
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(names)))) < len(names) {
		return nil, fmt.Errorf("httpd: the pattern %s has a name twice", r.Pattern)
	}
	return e, nil
}

func newSegment(part string) (s segment, err error) {
	first, second, two := strings.Cut(part, "}:{")
	switch {
	case !strings.ContainsAny(part, "{}"):
		return segment{literal: part}, dotted(part)
	case two:
		s = segment{name: strings.TrimPrefix(first, "{"), after: strings.TrimSuffix(second, "}")}
		if part != "{"+s.name+"}:{"+s.after+"}" || s.after == "" {
			return s, fmt.Errorf("the segment %q is none", part)
		}
	default:
		s = segment{name: strings.Trim(part, "{}")}
		if part != "{"+s.name+"}" {
			return s, fmt.Errorf("the segment %q is none", part)
		}
	}
	if s.name == "" || strings.ContainsAny(s.name+s.after, "{}") {
		return s, fmt.Errorf("the segment %q has no name", part)
	}
	return s, nil
}

func (s segment) names() []string {
	return slices.DeleteFunc([]string{s.name, s.after}, func(n string) bool { return n == "" })
}

// rank orders segments by how exact they are.
func (s segment) rank() int {
	switch {
	case s.name == "":
		return 0
	case s.after != "":
		return 1
	default:
		return 2
	}
}

func exactFirst(a, b segment) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), strings.Compare(a.literal, b.literal))
}

// shape is the same for routes that fit the same requests.
func (e *entry) shape() string {
	var b strings.Builder
	b.WriteString(e.Method)
	for _, s := range e.segments {
		b.WriteString("/" + [...]string{s.literal, "{}:{}", "{}"}[s.rank()])
	}
	return b.String()
}

// fit returns the values of the names, in the order of the pattern, where the parts of
// a path, still escaped, fit.
func (e *entry) fit(parts []string) (values []string, ok bool) {
	for i, s := range e.segments {
		part := parts[i]
		switch s.rank() {
		case 0:
			if plain, err := url.PathUnescape(part); err != nil || plain != s.literal {
				return nil, false
			}
			continue
		case 1:
			cut := strings.LastIndexByte(part, ':')
			if cut < 1 || cut == len(part)-1 {
				return nil, false
			}
			values, part = append(values, part[:cut]), part[cut+1:]
		}
		values = append(values, part)
	}
	for i, v := range values {
		plain, err := url.PathUnescape(v)
		if err != nil {
			return nil, false
		}
		values[i] = plain
	}
	return values, true
}

func (e *entry) names() (list []string) {
	for _, s := range e.segments {
		list = append(list, s.names()...)
	}
	return list
}

// find returns the route of a method and a path as it came, and the values of the
// names of its pattern. Where the path exists with other methods, it returns the routes of those.
func (t *Table) find(method, path string) (e *entry, values []string, others []*Route) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for _, part := range parts {
		if path != "/" && dotted(part) != nil {
			return nil, nil, nil
		}
	}
	for _, e := range t.by[len(parts)] {
		values, ok := e.fit(parts)
		switch {
		case !ok:
		case e.Method == method, method == http.MethodHead && e.Method == http.MethodGet:
			return e, values, nil
		default:
			others = append(others, e.Route)
		}
	}
	return nil, nil, others
}

// dotted refuses a segment that stands for nothing, or for another place.
func dotted(part string) error {
	if part == "" || part == "." || part == ".." {
		return fmt.Errorf("the segment %q is none", part)
	}
	return nil
}

// rawPath returns the path of a request as it came: still escaped, nothing cleaned.
func rawPath(r *http.Request) (string, error) {
	path := r.URL.EscapedPath()
	if strings.HasPrefix(r.RequestURI, "/") {
		path, _, _ = strings.Cut(r.RequestURI, "?")
	} else if r.URL.RawPath != "" {
		path = r.URL.RawPath
	}
	plain, err := url.PathUnescape(path)
	if err != nil || !utf8.ValidString(plain) {
		return "", NewProblem(http.StatusBadRequest, "the path cannot be read: it is no escaped UTF-8")
	}
	return path, nil
}

// methodsOf returns the methods of routes, each once.
func methodsOf(routes []*Route) (list []string) {
	for _, r := range routes {
		list = append(list, r.Method)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// allow returns the methods of a path, as the header Allow has them.
func allow(methods []string) []string {
	list := append(slices.Clone(methods), http.MethodOptions)
	if slices.Contains(list, http.MethodGet) {
		list = append(list, http.MethodHead)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// route finds the route of a request, notes the values of its path, and checks the
// query.
func (t *Table) route(r *http.Request) (*Route, error) {
	path, err := rawPath(r)
	if err != nil {
		return nil, err
	}
	e, values, others := t.find(r.Method, path)
	switch {
	case e != nil:
		for i, name := range e.names() {
			r.SetPathValue(name, values[i])
		}
		return e.Route, e.checkQuery(r)
	case others == nil:
		return nil, t.unknown(r)
	default:
		if r.Method == http.MethodOptions {
			return options(others), nil
		}
		methods := methodsOf(others)
		return nil, NewProblem(http.StatusMethodNotAllowed, "%s is not for %s", r.Method, r.URL.Path).
			WithHint("use "+strings.Join(methods, " or ")).with("Allow", strings.Join(allow(methods), ", "))
	}
}

// options answers OPTIONS for a path with these routes. An unknown caller may ask where it may use all of them.
func options(routes []*Route) *Route {
	public := !slices.ContainsFunc(routes, func(r *Route) bool { return !r.Public })
	return &Route{Method: http.MethodOptions, Public: public, Serve: func(w http.ResponseWriter, _ *http.Request) (any, error) {
		w.Header().Set("Allow", strings.Join(allow(methodsOf(routes)), ", "))
		return &Answer{}, nil
	}}
}

func (t *Table) unknown(r *http.Request) error {
	var paths []string
	for i := range t.routes {
		paths = append(paths, t.routes[i].Pattern)
	}
	return NewProblem(http.StatusNotFound, "there is no %s", r.URL.Path).WithHint(DidYouMean(r.URL.Path, paths))
}

// checkQuery refuses parameters that the route does not have, or that are there twice.
func (r *Route) checkQuery(req *http.Request) error {
	query, err := url.ParseQuery(req.URL.RawQuery)
	if err != nil {
		return NewProblem(http.StatusBadRequest, "the query cannot be read: %v", err)
	}
	names := r.query()
	for _, key := range slices.Sorted(maps.Keys(query)) {
		if !r.AnyQuery && !slices.Contains(names, key) {
			return NewProblem(http.StatusBadRequest, "%s takes no parameter %q", r.Pattern, key).WithHint(DidYouMean(key, names))
		}
		if !r.AnyQuery && len(query[key]) > 1 {
			return NewProblem(http.StatusBadRequest, "the parameter %q is there more than once", key).WithHint("separate several values by commas")
		}
	}
	return nil
}

// query returns the names of the parameters of the query.
func (r *Route) query() (names []string) {
	for _, p := range r.Params {
		if !p.Path && !p.Head {
			names = append(names, p.Name)
		}
	}
	return names
}
