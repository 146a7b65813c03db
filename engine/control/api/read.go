package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
)

// getObject answers with one object, as the store has it at this moment. The version of a deep answer would be that of
// one object only, so such an answer has none.
func (a *API) getObject(_ http.ResponseWriter, r *http.Request) (any, error) {
	m, err := a.model(r)
	if err != nil {
		return nil, err
	}
	isDeep, err := deeply(r.URL.Query())
	if err != nil {
		return nil, err
	}
	o, err := a.nb.Get(r.Context(), m, r.PathValue("id"))
	if err != nil {
		return nil, problem(err)
	}
	if isDeep {
		return a.deep(r.Context(), o)
	}
	return answerOf(o, http.StatusOK)
}

// answerOf returns an object with its version.
func answerOf(o *model.Object, status int) (*httpd.Answer, error) {
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return &httpd.Answer{Status: status, Version: versionOf(o), Type: jsonType, Body: append(text, '\n')}, nil
}

// versionOf returns the ETag of an object: its revision in the store.
func versionOf(o *model.Object) string {
	if o.Revision() == 0 {
		return ""
	}
	return strconv.FormatInt(o.Revision(), 10)
}

// getStatus answers with the records that hosts have written about an object. They are JSON of the hosts, and are handed on
// as they are. The place of an unreadable record has its fault, so the other records are told all the same.
func (a *API) getStatus(_ http.ResponseWriter, r *http.Request) (any, error) {
	m, err := a.model(r)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	statuses, err := a.nb.Statuses(r.Context(), m, id)
	if err == nil && len(statuses) == 0 { // a deleted object may still be on its way out
		_, err = a.nb.Get(r.Context(), m, id)
	}
	if err != nil {
		return nil, problem(err)
	}
	out := make(map[string]json.RawMessage, len(statuses))
	for host, text := range statuses {
		out[host] = text
		if s := stateOf(text); s.State == unread {
			if out[host], err = json.Marshal(s); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// unread is the state of an object on a host whose status cannot be read.
const unread = "unreadable"

// hostState is what the API needs to know of the status that a host has written.
type hostState struct {
	Revision int64  `json:"revision"`
	State    string `json:"state"`
	Error    string `json:"error"`
}

// stateOf reads a status. An unreadable status has a state of its own, with the reason.
func stateOf(text []byte) hostState {
	var s *hostState
	err := json.Unmarshal(text, &s)
	if err == nil && s == nil {
		err = errors.New("it is null")
	}
	if err != nil {
		return hostState{State: unread, Error: "the status of this host cannot be read: " + err.Error()}
	}
	return *s
}

// maxPage bounds how many objects a list with limit has.
const maxPage = 1000

// pageToken writes the id after which a list goes on. Its characters mean the same in a header and in a query, so that a client needs no escapes.
var pageToken = base64.RawURLEncoding

// listParams are the parameters of a list, without the fields.
var listParams = []httpd.Param{
	tableParam,
	{Name: "index", Doc: "Look in this index: the fields are then those of its paths."},
	{Name: "topic", Doc: "Only objects of these topics.", List: true},
	{Name: "first", Doc: "At most one object: that of the smallest id.", Type: "boolean"},
	{Name: "limit", Doc: "At most so many objects, 1000 at most. Without it, all.", Type: "integer"},
	{Name: "continue", Doc: "Go on after the page whose header Continue this is."},
	resolveParam,
}

// wanted is what the parameters of a list ask for.
type wanted struct {
	model.Query
	fields map[string]any // by path, where no index is named
	page   int            // the most objects; 0 for all
	one    bool           // only the first: the answer has no Continue
	deep   bool           // each object with those that it refers to
}

// wants reads the parameters of a list.
func (a *API) wants(m *model.Model, query url.Values) (*wanted, error) {
	w := &wanted{Query: model.Query{Model: m, Index: query.Get("index")}, fields: map[string]any{}}
	var errs []error
	for key, values := range query {
		name, isField := field(key)
		switch {
		case isField:
			v, err := a.want(m, name, values)
			errs = append(errs, err)
			w.fields[name] = v
		case len(values) > 1 && key != "topic":
			errs = append(errs, httpd.NewProblem(http.StatusBadRequest, "the parameter %q is there more than once", key))
		}
	}
	errs = append(errs, w.paging(query))
	if query.Has("topic") {
		w.Topics = topics(query["topic"])
	}
	if w.Index != "" {
		w.Where, w.fields = w.fields, nil
	}
	if _, _, err := w.Keys(nil); err != nil {
		errs = append(errs, problem(err, http.StatusBadRequest))
	}
	return w, first(errs)
}

// field returns the field that a parameter means.
func field(key string) (name string, ok bool) {
	const prefix = "where."
	if len(key) > len(prefix) && key[:len(prefix)] == prefix {
		return key[len(prefix):], true
	}
	return key, !slices.ContainsFunc(listParams, func(p httpd.Param) bool { return p.Name == key })
}

// want reads the wanted value of a field.
func (a *API) want(m *model.Model, path string, values []string) (any, error) {
	if len(values) > 1 {
		return nil, httpd.NewProblem(http.StatusBadRequest, "the field %q is there more than once", path)
	}
	v, err := a.nb.Registry().Want(m, path, values[0])
	if err == nil {
		return v, nil
	}
	p := errorsAs(problem(err, http.StatusBadRequest))
	if f := m.Field(path); f == nil && p.Hint == "" {
		p.Hint = httpd.DidYouMean(path, append(fieldNames(m), paramNames()...))
	}
	return nil, p
}

// fieldNames and paramNames are what a parameter of a list may have meant.
func fieldNames(m *model.Model) (names []string) {
	for _, f := range m.Fields() {
		names = append(names, f.Key)
	}
	return names
}

func paramNames() (names []string) {
	for _, p := range listParams {
		if !p.Path {
			names = append(names, p.Name)
		}
	}
	return names
}

// first returns the first error of a list.
func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// topics splits the values of the parameter topic. An empty one means objects without a topic.
func topics(values []string) (list []string) {
	for _, v := range values {
		for part := range bytes.SplitSeq([]byte(v), []byte(",")) {
			list = append(list, string(part))
		}
	}
	return list
}

// paging reads the parameters that cut a list.
func (w *wanted) paging(query url.Values) error {
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return httpd.NewProblem(http.StatusBadRequest, "limit is %q, it must be a whole number from 1 on", text)
		}
		w.page = min(n, maxPage)
	}
	var err error
	if w.one, err = truth(query, "first"); err != nil {
		return err
	}
	if w.deep, err = deeply(query); err != nil {
		return err
	}
	if w.one {
		w.page = 1
	}
	after, err := pageToken.DecodeString(query.Get("continue"))
	w.After = string(after)
	if err != nil || !utf8.Valid(after) { // no id has other bytes, and behind them the list would begin anew
		return httpd.NewProblem(http.StatusBadRequest, "continue cannot be read").WithHint("send the header Continue of the page before")
	}
	return nil
}

// truth reads a parameter that is true or false.
func truth(query url.Values, key string) (bool, error) {
	text := query.Get(key)
	if text == "" {
		return false, nil
	}
	yes, err := strconv.ParseBool(text)
	if err != nil {
		return false, httpd.NewProblem(http.StatusBadRequest, "%s is %q, it must be true or false", key, text)
	}
	return yes, nil
}

// deeply reads the parameter resolve. Another word than deep is refused: a caller who misspells it would take an answer without
// references for an object that has none.
func deeply(query url.Values) (bool, error) {
	switch word := query.Get("resolve"); word {
	case "":
		return false, nil
	case "deep":
		return true, nil
	default:
		return false, httpd.NewProblem(http.StatusBadRequest, "resolve is %q, it must be deep", word)
	}
}

// getList writes the objects while it reads them. An error after the first object cuts the answer.
func (a *API) getList(w http.ResponseWriter, r *http.Request) (any, error) {
	m, err := a.model(r)
	if err != nil {
		return nil, err
	}
	want, err := a.wants(m, r.URL.Query())
	if err != nil {
		return nil, err
	}
	l := &list{api: a, w: w, r: r, want: want}
	if want.page > 0 {
		return nil, l.onePage()
	}
	return nil, l.all()
}

// list writes one list.
type list struct {
	api  *API
	w    http.ResponseWriter
	r    *http.Request
	want *wanted
	buf  bytes.Buffer
	any  bool // an object has been written
}

// onePage collects a page, whose header depends on what follows it.
// A page is at most 1000 objects, so it may be in memory whole.
func (l *list) onePage() error {
	var page []*model.Object
	more := false
	for o, err := range l.objects() {
		if err != nil {
			return err
		}
		if more = len(page) == l.want.page; more {
			break
		}
		page = append(page, o)
	}
	if more && !l.want.one {
		l.w.Header().Set("Continue", pageToken.EncodeToString([]byte(page[len(page)-1].ID())))
	}
	for _, o := range page {
		if err := l.add(o); err != nil {
			return err
		}
	}
	return l.end()
}

// all writes the objects as they come.
func (l *list) all() error {
	for o, err := range l.objects() {
		if err == nil {
			err = l.add(o)
		}
		if err != nil {
			return err
		}
	}
	return l.end()
}

// objects yields the wanted objects. A record that cannot be read hides no other: it is left out.
// An error that is not about one record ends the list: a client must not take a part for the whole.
func (l *list) objects() func(yield func(*model.Object, error) bool) {
	return func(yield func(*model.Object, error) bool) {
		for o, err := range l.api.nb.All(l.r.Context(), l.want.Query) {
			if err != nil && unreadable(err) || err == nil && !l.fits(o) {
				continue
			}
			if !yield(o, problem(err)) || err != nil {
				return
			}
		}
	}
}

// unreadable reports whether an error is about one record of many.
func unreadable(err error) bool {
	switch model.CodeOf(err) {
	case model.BadRecord, model.SchemaTooNew, model.MigrationFail:
		return true
	}
	return false
}

// fits reports whether an object has the wanted values of fields that are looked for without an index.
// There is no index behind it: each object of the table is looked at.
func (l *list) fits(o *model.Object) bool {
	for path, v := range l.want.fields {
		if !slices.Contains(o.At(path, l.lookup), v) {
			return false
		}
	}
	return true
}

// lookup follows references.
func (l *list) lookup(target, id string) *model.Object {
	m, err := l.api.nb.Registry().Model(target)
	if err != nil {
		return nil
	}
	o, err := l.api.nb.Get(l.r.Context(), m, id)
	if err != nil {
		return nil
	}
	return o
}

// chunk is how much of a list is in memory before it is written.
const chunk = 64 << 10

func (l *list) add(o *model.Object) error {
	text, err := l.text(o)
	if err != nil {
		return err
	}
	if l.buf.WriteString(",\n"); !l.any {
		l.buf.Reset()
		l.begin()
	}
	l.any = true
	l.buf.Write(text)
	if l.buf.Len() < chunk {
		return nil
	}
	return l.flush()
}

// text returns the JSON of one object of the list. A deep list resolves each object when it is written, so that the list needs the memory
// of one of them.
func (l *list) text(o *model.Object) ([]byte, error) {
	if !l.want.deep {
		return o.MarshalJSON()
	}
	doc, err := l.api.deep(l.r.Context(), o)
	if err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}

func (l *list) begin() {
	l.w.Header().Set("Content-Type", jsonType)
	l.w.Header().Set("Cache-Control", "no-store")
	l.w.Header().Set("X-Content-Type-Options", "nosniff")
	l.buf.WriteString("[")
}

func (l *list) end() error {
	if !l.any {
		l.begin()
	}
	l.buf.WriteString("]\n")
	return l.flush()
}

// flush writes the buffer. A client has the patience of the frame for each part.
// A client that takes nothing for that time is cut, and the reading of the store ends with it.
func (l *list) flush() error {
	l.api.frame().Patience(l.w)
	_, err := l.buf.WriteTo(l.w)
	return err
}
