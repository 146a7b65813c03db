package expand

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// functions returns the functions that expressions have in addition to the ones of CEL.
func (g *Graph) functions() []expr.Function {
	// The size of a file has no bound by the arguments: Options.Read bounds it.
	list := []expr.Function{
		{Name: "read", Params: []expr.Type{expr.Text}, Result: expr.Text, Do: g.readFile},
		{Name: "secret", Params: []expr.Type{expr.Text}, Result: expr.Text, Do: g.secret},
		{Name: "scheduled", Params: []expr.Type{expr.Text}, Result: expr.ListOf(expr.Text), Do: g.scheduled},
		{Name: "scheduled", Params: []expr.Type{expr.Text, expr.Text}, Result: expr.ListOf(expr.Text), Do: g.scheduled},
		{Name: "template", Params: []expr.Type{expr.Text}, Result: expr.Text, Do: g.template},
		{Name: "template", Params: []expr.Type{expr.Text, {}}, Result: expr.Text, Do: g.template},
		{Name: "json", Params: []expr.Type{{}}, Result: expr.Text, Do: toJSON},
		{Name: "fromJSON", Params: []expr.Type{expr.Text}, Do: fromJSON},
		{Name: "base64", Params: []expr.Type{expr.Text}, Result: expr.Text, Do: onText(base64.StdEncoding.EncodeToString)},
		{Name: "fromBase64", Params: []expr.Type{expr.Text}, Result: expr.Text, Do: fromBase64},
	}
	for name, sum := range map[string]func([]byte) []byte{
		"md5":    func(b []byte) []byte { s := md5.Sum(b); return s[:] },
		"sha1":   func(b []byte) []byte { s := sha1.Sum(b); return s[:] },
		"sha256": func(b []byte) []byte { s := sha256.Sum256(b); return s[:] },
		"sha512": func(b []byte) []byte { s := sha512.Sum512(b); return s[:] },
	} {
		do := onText(func(b []byte) string { return hex.EncodeToString(sum(b)) })
		list = append(list, expr.Function{Name: name, Params: []expr.Type{expr.Text}, Result: expr.Text, Do: do})
	}
	return append(list, notation{g.opts.Parse, g.opts.Write}.functions()...)
}

// onText makes a function of one text.
func onText(do func([]byte) string) func([]any) (any, error) {
	return func(args []any) (any, error) { return do([]byte(args[0].(string))), nil }
}

// readFile returns the content of a file, which is named relative to the file with the expression. The frontend watches it.
func (g *Graph) readFile(args []any) (any, error) {
	return g.readText(g.relative(args[0].(string)))
}

// relative returns a path as it is read: the folder is that of the scalar that is computed now.
func (g *Graph) relative(path string) string {
	return within(g.dir, path)
}

// readText reads a file of text, once in each computation.
func (g *Graph) readText(path string) (string, error) {
	if src, known := g.inputs.known(path); known {
		g.late.noteRead(path, src)
		return textOf(path, src)
	}
	if g.late.over {
		return "", fmt.Errorf("can't read %s: %w", path, errNotLoaded)
	}
	src, err := g.inputs.read(path)
	g.late.noteRead(path, src)
	if err != nil {
		return "", fmt.Errorf("can't read %s: %w", path, safepath.WithoutPath(err))
	}
	return textOf(path, src)
}

// textOf returns the content of a file, if that is text.
func textOf(path string, src []byte) (string, error) {
	if !utf8.Valid(src) {
		return "", fmt.Errorf("%s is no text in UTF-8", path)
	}
	return string(src), nil
}

// toJSON writes a value as JSON on one line, with the keys of maps in order.
func toJSON(args []any) (any, error) {
	// The characters <, > and & stay, which a page of the web could not have.
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(args[0]); err != nil {
		return nil, err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// fromJSON reads a value. Whole numbers stay whole.
func fromJSON(args []any) (any, error) {
	// A decoder of its own kind would make every number a float.
	d := json.NewDecoder(strings.NewReader(args[0].(string)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("this is no JSON: %w", err)
	}
	if d.More() {
		return nil, errors.New("there is more than one value of JSON")
	}
	return numbers(v)
}

// fromBase64 decodes a text. Bytes outside of UTF-8 could not stand in a graph.
func fromBase64(args []any) (any, error) {
	raw, err := base64.StdEncoding.DecodeString(args[0].(string))
	switch {
	case err != nil:
		return nil, fmt.Errorf("this is no Base64: %w", err)
	case !utf8.Valid(raw):
		return nil, errors.New("the decoded bytes are no text in UTF-8")
	}
	return string(raw), nil
}

// numbers returns a value whose numbers are int64 or float64.
func numbers(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		return v.Float64()
	case []any:
		for i := range v {
			item, err := numbers(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = item
		}
	case map[string]any:
		for key := range v {
			item, err := numbers(v[key])
			if err != nil {
				return nil, err
			}
			v[key] = item
		}
	}
	return v, nil
}

// evalFault is the finding of an expression that stands in no file: its place is in the expression.
func evalFault(name, src string, f expr.Fault) schema.Diagnostic {
	return schema.Diagnostic{Pos: (&Document{File: name, Src: []byte(src)}).posOf(bytesOf(src, f.At)), Message: f.Message, Suggestion: f.Suggestion}
}

// Eval computes one expression as it would stand in a document of this folder. It is called after Start. ok is false where Findings tell
// the reason.
func (g *Graph) Eval(name, dir, src string) (v any, ok bool) {
	run, faults := g.current().Compile(src)
	for _, f := range faults {
		g.add(evalFault(name, src, f))
	}
	if run == nil {
		return nil, false
	}
	g.dir = dir
	if g.taintOf(run) != nil {
		g.add(evalFault(name, src, expr.Fault{Message: errShown.Error()}))
		return nil, false
	}
	v, err := run.Eval(g.names)
	if f, bad := errors.AsType[*expr.Fault](err); bad {
		d := evalFault(name, src, *f)
		d.Related = related(err)
		g.add(d)
		return nil, false
	}
	return v, err == nil
}

// scheduled is the function of expressions.
func (g *Graph) scheduled(args []any) (any, error) {
	key, err := keyOfSchedule(args)
	if err != nil {
		return nil, err
	}
	c, err := g.store.choice(key, g.late.over)
	if err != nil {
		return nil, err
	}
	g.noteUnread(c.unread, "the schedules of the store")
	list := make([]any, len(c.hosts))
	for i, host := range c.hosts {
		list[i] = host
	}
	if c.lease != "" && !g.late.over {
		g.proved = g.proved.with(world.Proof{Lease: c.lease, Of: "the choice of this host by the schedule " + key.topic + "/" + key.name})
	}
	b, err := json.Marshal(list)
	g.late.noteRead("scheduled "+key.String(), b)
	return list, err
}

// isScheduled reports whether an expression is a call of scheduled alone. As a condition it asks whether this machine is chosen.
func isScheduled(p *expr.Program) bool { return p != nil && p.IsCallOf("scheduled") }

// chosen computes a condition that is a call of scheduled alone: whether this machine is one of the hosts.
func (f *frame) chosen(n *schema.Node, t *text) (wanted, ok bool) {
	v, wrong := f.value(n, t)
	if wrong != nil {
		return false, false
	}
	list, _ := v.([]any)
	return slices.Contains(list, any(f.g.store.self(f.g.ownFacts()))), true
}
