package httpd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
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
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errors.New("it has not come in time") // the error itself names addresses
	}
	if err != nil {
		return nil, unreadable(schema.Pos{}, err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, unreadable(schema.Pos{}, errors.New("it is empty"))
	}
	return text, nil
}

// DecodeObject reads the body, which is one JSON object, into the struct that doc
// points to. Fields that are unknown or there twice, null in the place of the object, and more text
// after it are a *Problem of 400 with its place.
func DecodeObject(r *http.Request, doc any) error {
	text, err := ReadBody(r)
	if err != nil {
		return err
	}
	n, found := jsonnode.Parse(text, jsonnode.Options{Strict: true, Values: len(text), Rest: "there is more after the object"})
	switch {
	case len(found) > 0:
		return unreadable(found[0].Pos, errors.New(found[0].Message))
	case n.Kind == schema.NodeNull:
		return unreadable(n.Pos, errors.New("it is null")) // which would leave doc as it is, and so mean everything
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err = dec.Decode(doc)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		p := unreadable(n.Pos, err)
		p.Errors[0].Field = e.Field
		if at := n.At(e.Field); at != nil {
			p.Errors[0].Line, p.Errors[0].Column = int(at.Pos.Line), int(at.Pos.Col)
		}
		return p
	}
	if err != nil {
		return suggest(unreadable(schema.Pos{}, err), err, n, doc)
	}
	return nil
}

// unreadable returns the problem of a body that cannot be read at a place; the zero place is none.
func unreadable(at schema.Pos, err error) *Problem {
	p := NewProblem(http.StatusBadRequest, "the body cannot be read: %v", err).WithHint("send one JSON object as " + DescriptionPath + " describes it")
	p.Errors = []Finding{{Detail: err.Error(), Line: int(at.Line), Column: int(at.Col)}}
	return p
}

// suggest adds the field that was probably meant in the place of an unknown one. The
// decoder of the standard library says its name only. Its place is known where it stands in the outermost object.
func suggest(p *Problem, err error, n *schema.Node, doc any) *Problem {
	const begin = `json: unknown field "`
	name, ok := strings.CutPrefix(err.Error(), begin)
	if !ok {
		return p
	}
	name = strings.TrimSuffix(name, `"`)
	known, f := fieldNames(reflect.TypeOf(doc)), &p.Errors[0]
	f.Field, f.Hint = name, DidYouMean(name, known)
	if i := slices.IndexFunc(n.Pairs, func(p schema.Pair) bool { return p.Key == name }); i >= 0 && !slices.Contains(known, name) {
		f.Line, f.Column = int(n.Pairs[i].Pos.Line), int(n.Pairs[i].Pos.Col)
	}
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
		for f := range derive.JSONFields(t) {
			names = append(names, f.Name)
		}
	}
	return names
}
