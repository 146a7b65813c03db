package virtual

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/program"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
	"github.com/reactivegraph/mgmt/engine/schema/strictjson"
)

// descriptor is a backend as a file describes it.
type descriptor struct {
	Name      string           `yaml:"name" doc:"The name of the backend." mgmt:"required"`
	Module    string           `yaml:"module" doc:"The module that it does." mgmt:"required"`
	Doc       string           `yaml:"doc" doc:"Purpose."`
	When      map[string][]any `yaml:"when" doc:"The facts of machines that it is for: any of them."`
	Unless    map[string][]any `yaml:"unless" doc:"The facts of machines that it is not for."`
	Needs     []string         `yaml:"needs" doc:"Programs that must be there; a|b is one of two."`
	Priority  int              `yaml:"priority" doc:"The backend with the highest is chosen."`
	Watch     WatchMode        `yaml:"watch" doc:"poll, the only way: mgmt asks now and then."`
	Command   []string         `yaml:"command" doc:"The program that is called, and its first arguments." mgmt:"required,min=1"`
	Functions []described      `yaml:"functions" doc:"The abilities of the backend."`
}

type described struct {
	Name    string           `yaml:"name" mgmt:"required"`
	Doc     string           `yaml:"doc"`
	Params  []describedParam `yaml:"params"`
	Returns any              `yaml:"returns"`
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
// {"result": ...}, {"error": "what went wrong"} or {"not_found": true}. If it fails,
// the end of its standard error is part of the error, without the secrets of the call.
// Where the function returns secrets, nothing of it is. All is UTF-8. The program is
// looked up in PATH, and never gets an argument or an environment that depends on the
// call.
func External(n *schema.Node) (*Backend, schema.Diagnostics) {
	var d descriptor
	ds := schema.Decode(n, &d)
	b := &Backend{
		Name: d.Name, Module: d.Module, Doc: d.Doc, When: d.When, Unless: d.Unless,
		Needs: append([]string{d.program()}, d.Needs...), Priority: d.Priority, Watch: d.Watch,
	}
	for i, f := range d.Functions {
		at := n.At(fmt.Sprintf("functions[%d]", i))
		b.Functions = append(b.Functions, f.function(at, &ds))
	}
	b.Open = func(_ context.Context, env Env) (Caller, error) {
		return &outside{d.Command, env.Host}, nil
	}
	if d.Watch != WatchPoll {
		ds.Errorf(n.At("watch").Pos, "a program cannot tell of changes: it is asked now and then, watch is poll")
	}
	if ds.Err() == nil {
		placed(n, fmt.Sprintf("backend %s of %s", b.Name, b.Module), b.faults(), &ds)
	}
	return b, ds
}

// placed adds faults, each at its place in the description.
func placed(n *schema.Node, what string, faults []fault, ds *schema.Diagnostics) {
	for _, f := range faults {
		ds.Errorf(n.At(f.path).Pos, "%s: %v", what, f.err)
	}
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
			ds.Errorf(at.At("type").Pos, "parameter %s: %v", p.Name, err)
		}
		q.Type = t
		f.Params = append(f.Params, q)
	}
	var err error
	if f.Returns, err = ParseShape(d.Returns); err != nil {
		ds.Errorf(n.At("returns").Pos, "function %s: what it returns: %v", d.Name, err)
	}
	return f
}

var shapeKinds = map[string]schema.Kind{
	"any": schema.KindAny, "bool": schema.KindBool, "int": schema.KindInt, "float": schema.KindFloat, "string": schema.KindString,
	"list": schema.KindList, "list_of": schema.KindList, "map": schema.KindMap, "map_of": schema.KindMap, "record": schema.KindStruct,
	"secret": schema.KindString, "duration": schema.KindDuration, "size": schema.KindSize,
}

// ParseShape reads a type in the notation of descriptions: a word (any, bool, int,
// float, string, secret, duration, size, list, map), or a map with type, and of (of list_of and map_of), or
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
	t := &schema.Type{Kind: kind, Secret: word == "secret"}
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

// outside is a backend that is a program, which is run for each call.
type outside struct {
	argv []string
	host engine.Host
}

// maxAnswer bounds the output of a program, in bytes.
const maxAnswer = 64 << 20

func (p *outside) Call(ctx context.Context, function string, args map[string]any) (any, error) {
	var hidden secrets.Texts
	hidden.Learn(args, false)
	clear := reveal(args)
	if !strictjson.IsText(clear) {
		return nil, fmt.Errorf("text in an argument is no UTF-8, which JSON for %s has no form for", p.argv[0])
	}
	call := program.Call{
		Command: engine.Command{Argv: p.argv, Stdin: program.Line(question{function, clear}), MaxOutput: maxAnswer}, Hidden: &hidden,
	}
	out, err := call.Do(ctx, p.host.Command)
	if err != nil {
		return nil, err
	}
	answer, err := readAnswer(out)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s wrote no answer: %w", p.argv[0], err)
	case answer.failed != "":
		return nil, errors.New(program.Tail(hidden.Clean(answer.failed)))
	case answer.notFound:
		return nil, ErrNotFound
	}
	return answer.result, nil
}

// unsaid returns err without the output of a program, where that is in it: it may hold a
// secret that was not handed to it.
func unsaid(err error) error {
	if f, ok := errors.AsType[*program.Failure](err); ok {
		return f.Unsaid("the function returns secrets")
	}
	return err
}

// answer is what a program answers.
type answer struct {
	result   any
	failed   string
	notFound bool
}

// readAnswer reads the output of a program. Its errors repeat nothing of that.
func readAnswer(out []byte) (a answer, err error) {
	v, err := strictjson.Parse(out)
	if err != nil {
		return a, err
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return a, errors.New("it is no object")
	}
	for key, v := range obj {
		ok := true
		switch key {
		case "result":
			a.result = v
		case "error":
			a.failed, ok = v.(string)
		case "not_found":
			a.notFound, ok = v.(bool)
		default:
			return a, errors.New("it has a key that is none of result, error and not_found")
		}
		if !ok && v != nil {
			return a, fmt.Errorf("%s is %s", key, called(v))
		}
	}
	return a, nil
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
