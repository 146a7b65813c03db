package virtual

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// descriptor is a backend as a file describes it.
type descriptor struct {
	Name      string           `yaml:"name" doc:"What the backend is called." mgmt:"required"`
	Module    string           `yaml:"module" doc:"The module that it does." mgmt:"required"`
	Doc       string           `yaml:"doc" doc:"What it is."`
	When      map[string][]any `yaml:"when" doc:"The facts of machines that it is for: any of them."`
	Unless    map[string][]any `yaml:"unless" doc:"The facts of machines that it is not for."`
	Must      map[string][]any `yaml:"must" doc:"The facts of machines on which it can work at all, also for who asks for it by its name."`
	Needs     []string         `yaml:"needs" doc:"Programs that must be there; a|b is one of two."`
	Priority  int              `yaml:"priority" doc:"The backend with the highest is chosen."`
	Watch     WatchMode        `yaml:"watch" doc:"poll, the only way: whoever wants to know asks."`
	Command   []string         `yaml:"command" doc:"The program that is called, and its first arguments." mgmt:"required,min=1"`
	Functions []described      `yaml:"functions" doc:"What it can do."`
}

type described struct {
	Name    string           `yaml:"name" mgmt:"required"`
	Doc     string           `yaml:"doc"`
	Params  []describedParam `yaml:"params"`
	AliasOf string           `yaml:"alias_of"`
}

type describedParam struct {
	Name     string    `yaml:"name" mgmt:"required"`
	Doc      string    `yaml:"doc"`
	Kind     ParamKind `yaml:"kind"`
	Type     any       `yaml:"type"`
	Optional bool      `yaml:"optional"`
	Default  any       `yaml:"default"`
}

// External reads the description of a backend that is a program, as a frontend has
// read it from a file. For each call the program is run: it gets one JSON value as
// its input, {"function": "install", "args": {"pkgs": {"git": ""}}}, and writes one,
// {"result": ...}, {"error": "what went wrong"} or {"not_found": true}. What it
// writes to its standard error is part of the error if it fails. It is looked up in
// PATH, and never gets an argument or an environment that depends on the call.
func External(n *schema.Node) (*Backend, schema.Diagnostics) {
	var d descriptor
	ds := schema.Decode(n, &d)
	b := &Backend{
		Name: d.Name, Module: d.Module, Doc: d.Doc, When: d.When, Unless: d.Unless, Must: d.Must,
		Needs: append([]string{d.program()}, d.Needs...), Priority: d.Priority, Watch: d.Watch,
	}
	for i, f := range d.Functions {
		at := n.At(fmt.Sprintf("functions[%d]", i))
		b.Functions = append(b.Functions, f.function(at, &ds))
	}
	b.Open = func(_ context.Context, env Env) (Caller, error) {
		return &program{d.Command, env.Host}, nil
	}
	if d.Watch != WatchPoll {
		ds.Errorf(n.At("watch").Pos, "a program cannot tell of changes: it is asked now and then, watch is poll")
	}
	if ds.Err() == nil {
		if err := b.Validate(); err != nil {
			ds.Errorf(n.Pos, "%v", err)
		}
	}
	return b, ds
}

// program is the program that is run, empty for none.
func (d *descriptor) program() string {
	if len(d.Command) == 0 {
		return ""
	}
	return d.Command[0]
}

func (d *described) function(n *schema.Node, ds *schema.Diagnostics) Function {
	f := Function{Name: d.Name, Doc: d.Doc, AliasOf: d.AliasOf}
	for i, p := range d.Params {
		at := n.At(fmt.Sprintf("params[%d]", i))
		q := Param{Name: p.Name, Doc: p.Doc, Kind: p.Kind, Optional: p.Optional || at.Get("default") != nil, Default: p.Default}
		t, err := ParseShape(p.Type)
		if err != nil {
			ds.Errorf(at.Pos, "parameter %s: %v", p.Name, err)
		}
		q.Type = t
		f.Params = append(f.Params, q)
	}
	return f
}

var shapeKinds = map[string]schema.Kind{
	"any": schema.KindAny, "bool": schema.KindBool, "int": schema.KindInt, "float": schema.KindFloat, "string": schema.KindString,
	"list": schema.KindList, "list_of": schema.KindList, "map": schema.KindMap, "map_of": schema.KindMap, "record": schema.KindStruct,
}

// ParseShape reads a type in the notation of descriptions: a word (any, bool, int,
// float, string, list, map), or a map with type, and of (of list_of and map_of), or
// fields and optional (of record). Nil is anything, and gives nil.
func ParseShape(v any) (*schema.Type, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		return shapeOf(v, nil)
	case map[string]any:
		word, _ := v["type"].(string)
		return shapeOf(word, v)
	}
	return nil, fmt.Errorf("a type is a word or a map, not %s", called(v))
}

func shapeOf(word string, more map[string]any) (*schema.Type, error) {
	kind, ok := shapeKinds[word]
	if !ok {
		return nil, fmt.Errorf("there is no type %q", word)
	}
	t := &schema.Type{Kind: kind}
	switch kind {
	case schema.KindInt, schema.KindFloat:
		t.Bits = 64
	case schema.KindList, schema.KindMap:
		elem, err := ParseShape(more["of"])
		if t.Elem = elem; elem == nil {
			t.Elem = &schema.Type{}
		}
		return t, err
	case schema.KindStruct:
		return t, errors.Join(addFields(t, more["fields"], false), addFields(t, more["optional"], true))
	}
	return t, nil
}

func addFields(t *schema.Type, fields any, optional bool) error {
	m, ok := fields.(map[string]any)
	if !ok && fields != nil {
		return fmt.Errorf("the fields of a record are a map, not %s", called(fields))
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		part, err := ParseShape(m[key])
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if part == nil {
			part = &schema.Type{}
		}
		part.Optional = optional
		t.Fields = append(t.Fields, &schema.Field{Key: key, Type: part, Required: !optional})
	}
	return nil
}

// question is what a program is asked.
type question struct {
	Function string `json:"function"`
	Args     any    `json:"args"`
}

// program is a backend that is run for each call.
type program struct {
	argv []string
	host engine.Host
}

func (p *program) Call(ctx context.Context, function string, args map[string]any) (any, error) {
	in, err := json.Marshal(question{function, reveal(args)})
	if err != nil {
		return nil, err
	}
	r, err := p.host.Command(ctx, engine.Command{Argv: p.argv, Stdin: append(in, '\n'), MaxOutput: 64 << 20})
	if err != nil {
		return nil, err
	}
	if r.ExitCode != 0 {
		return nil, fmt.Errorf("%s ended with %s: %s", p.argv[0], ending(r), strings.TrimSpace(string(r.Stderr)))
	}
	if r.Truncated {
		return nil, fmt.Errorf("%s wrote more than 64 MiB", p.argv[0])
	}
	return readAnswer(p.argv[0], r.Stdout)
}

func ending(r *engine.Result) string {
	if r.Signal != "" {
		return r.Signal
	}
	return "code " + strconv.Itoa(r.ExitCode)
}

// readAnswer reads what a program wrote.
func readAnswer(name string, out []byte) (any, error) {
	var answer struct {
		Result   any
		Error    string
		NotFound bool `json:"not_found"`
	}
	d := json.NewDecoder(bytes.NewReader(out))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(&answer); err != nil {
		return nil, fmt.Errorf("%s wrote no answer: %w", name, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s wrote more than one answer", name)
	}
	switch {
	case answer.Error != "":
		return nil, errors.New(answer.Error)
	case answer.NotFound:
		return nil, ErrNotFound
	}
	return FromJSON(answer.Result)
}

// FromJSON turns what encoding/json has read with UseNumber into a plain value.
func FromJSON(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		return v.Float64()
	case []any:
		for i := range v {
			if v[i], err = FromJSON(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = FromJSON(v[key]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// reveal returns a copy of a plain value for a program: secrets in clear, and what
// JSON has no notation for as text.
func reveal(v any) any {
	switch v := v.(type) {
	case schema.Secret:
		return v.Reveal()
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = reveal(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			out[key] = reveal(v[key])
		}
		return out
	case nil, bool, string, int64, uint64, float64:
		return v
	}
	return fmt.Sprint(v)
}
