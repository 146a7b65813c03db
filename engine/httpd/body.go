package httpd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// most is how long the body may be.
func (r *Route) most(usual int64) int64 { return cmp.Or(r.MaxBody, usual) }

// checkBody refuses a body of a wrong type, where the route names the right ones.
func (r *Route) checkBody(req *http.Request) error {
	if len(r.Accepts) == 0 {
		return nil
	}
	kind, params, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	charset := strings.ToLower(cmp.Or(params["charset"], "utf-8"))
	if err == nil && slices.Contains(r.Accepts, kind) && charset == "utf-8" {
		return nil
	}
	types := strings.Join(r.Accepts, ", ")
	p := NewProblem(http.StatusUnsupportedMediaType, "a body of the type %q cannot be read here", req.Header.Get("Content-Type")).
		WithHint("send it with the header Content-Type: "+strings.Join(r.Accepts, " or ")).with("Accept", types)
	if r.Method == http.MethodPatch {
		p = p.with("Accept-Patch", types)
	}
	return p
}

// ReadBody reads the body whole. An empty body, a long one and a cut one are a *Problem.
func ReadBody(r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(r.Body)
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge(e.Limit)
	}
	if err != nil {
		return nil, unreadable(nil, 0, err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, unreadable(nil, 0, errors.New("it is empty"))
	}
	return text, nil
}

// DecodeObject reads the body, which is one JSON object, into the struct that doc
// points to. Fields that are unknown, null in the place of the object, and more text
// after it are a *Problem of 400 with its place.
func DecodeObject(r *http.Request, doc any) error {
	text, err := ReadBody(r)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if string(bytes.TrimSpace(text)) == "null" {
		return unreadable(text, 0, errors.New("it is null")) // which would leave doc as it is, and so mean everything
	}
	if err := dec.Decode(doc); err != nil {
		return suggest(unreadable(text, offset(err, dec), err), err, doc)
	}
	at := dec.InputOffset() // where the object ends
	rest := bytes.TrimLeft(text[at:], " \t\r\n")
	if len(rest) == 0 {
		return nil
	}
	at = int64(len(text)-len(rest)) + 1
	if _, err := dec.Token(); err != nil && !errors.Is(err, io.EOF) {
		return unreadable(text, at, err)
	}
	return unreadable(text, at, errors.New("there is more after the object"))
}

// offset returns the byte that an error of a decoder is about.
func offset(err error, dec *json.Decoder) int64 {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return e.Offset
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return e.Offset
	}
	return dec.InputOffset()
}

// unreadable returns the problem of a body that cannot be read from a byte on.
func unreadable(text []byte, at int64, err error) *Problem {
	p := NewProblem(http.StatusBadRequest, "the body cannot be read: %v", err).WithHint("send one JSON object as " + DescriptionPath + " describes it")
	f := Finding{Detail: err.Error()}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		f.Field = e.Field
	}
	if text != nil {
		before := text[:min(max(at-1, 0), int64(len(text)))]
		f.Line = 1 + bytes.Count(before, []byte("\n"))
		f.Column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	}
	p.Errors = []Finding{f}
	return p
}

// suggest adds the field that was probably meant in the place of an unknown one. The
// decoder of the standard library says its name, but not its place.
func suggest(p *Problem, err error, doc any) *Problem {
	const begin = `json: unknown field "`
	name, ok := strings.CutPrefix(err.Error(), begin)
	if !ok {
		return p
	}
	name = strings.TrimSuffix(name, `"`)
	f := &p.Errors[0]
	f.Field, f.Line, f.Column = name, 0, 0
	f.Hint = DidYouMean(name, fieldNames(reflect.TypeOf(doc)))
	if f.Hint != "" {
		p.Hint = f.Hint
	}
	return p
}

// fieldNames returns the names in JSON of the fields of a struct.
func fieldNames(t reflect.Type) (names []string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		for f := range jsonFields(t) {
			names = append(names, f.name)
		}
	}
	return names
}
