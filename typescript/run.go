package typescript

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/go-sourcemap/sourcemap"
	"github.com/grafana/sobek"
)

// maxCalls bounds how deep calls are nested.
const maxCalls = 2000

// Build bundles and runs the program of a request. It blocks until the program has ended or was cut off. The context bounds
// the run and not the bundling, which takes a few milliseconds. It is called once in a process of mgmt-ts.
func Build(ctx context.Context, r *Request) *Answer {
	a := &Answer{Version: Version, Files: map[string]string{}, Resources: []*Resource{}, Problems: []Problem{}}
	if r.Version != Version {
		a.Problems = append(a.Problems, Problem{Message: fmt.Sprintf("mgmt-ts speaks version %d, and mgmt asked in version %d: install both from one release", Version, r.Version)})
		return a
	}
	b, files := bundle(r)
	a.Files = files
	a.Problems = append(a.Problems, b.problems...)
	if b.script == "" {
		return a
	}
	key := sha256.New()
	fmt.Fprintf(key, "%d %s%s", len(b.script), b.script, r.Inputs)
	m := &machine{r: r, a: a, vm: sobek.New(), key: key.Sum(nil)}
	m.run(ctx, b.script)
	return a
}

// machine runs one script.
type machine struct {
	r      *Request
	a      *Answer
	vm     *sobek.Runtime
	frames []sobek.StackFrame
	places map[sobek.StackFrame]Place // the interpreter looks each one up in the map of the sources
	script string
	key    []byte                       // of the seals of marks
	marks  bool                         // there are some
	made   map[string]*Resource         // the first of each kind and name
	plain  *sobek.Object                // what plain objects inherit from
	lost   map[*sobek.Promise]rejection // promises that were rejected, and that nothing handles
	count  int                          // of all rejections
	threw  thrown                       // by the last throw
	step   Place                        // of the last statement of a traced script

	exports map[string]*sobek.Object // what files of the library export, by their names
	timers  timers
}

// thrown is a value and the calls that led to its throw, innermost first.
type thrown struct {
	value sobek.Value
	stack []sobek.StackFrame
}

// rejection is a promise that was rejected: how many were before it, its reason, and the calls that led to it.
type rejection struct {
	number int
	reason sobek.Value
	stack  []sobek.StackFrame
}

// run interprets a script until it ends, or the context does. An interrupt takes effect between two instructions of the
// script. A native function, such as repeat of a text, runs to its end, and the limit of memory ends the whole process.
func (m *machine) run(ctx context.Context, script string) {
	stop := context.AfterFunc(ctx, func() { m.vm.Interrupt(context.Cause(ctx)) })
	defer stop()
	m.script = script
	m.made, m.places = map[string]*Resource{}, map[sobek.StackFrame]Place{}
	m.lost, m.plain = map[*sobek.Promise]rejection{}, m.vm.NewObject().Prototype()
	m.vm.SetMaxCallStackSize(maxCalls)
	m.vm.SetPromiseRejectionTracker(m.track)
	if m.r.Traced {
		m.tell(Trace{Files: m.a.Files})
	}
	if err := m.interpret(ctx, script); err != nil {
		m.failed(err)
	}
	for _, r := range slices.SortedFunc(maps.Values(m.lost), func(a, b rejection) int { return a.number - b.number }) {
		m.thrown(r.reason, m.origin(r))
	}
}

// interpret runs a script from beginning to end.
func (m *machine) interpret(ctx context.Context, script string) error {
	if err := errors.Join(m.offer(), m.offerMarks(), m.offerGlobals()); err != nil {
		return err
	}
	p, err := m.compile(script)
	if err != nil {
		return err
	}
	ended, err := m.vm.RunProgram(p)
	if err != nil {
		return err
	}
	top, _ := ended.Export().(*sobek.Promise)
	waits := func() bool { return top != nil && top.State() == sobek.PromiseStatePending }
	if err := m.runTimers(ctx, waits); err != nil {
		return err
	}
	if waits() {
		m.a.Problems = append(m.a.Problems, Problem{Place: m.begin(), Message: "the program waits for a promise that nothing fulfils: what stands behind its await does not run"})
	}
	return nil
}

// track keeps each rejected promise until a handler takes it.
func (m *machine) track(p *sobek.Promise, op sobek.PromiseRejectionOperation) {
	if op == sobek.PromiseRejectionHandle {
		delete(m.lost, p)
		return
	}
	m.count++
	stack := m.vm.CaptureCallStack(0, nil)
	if m.trace(stack).Line == 0 && m.threw.value != nil && m.threw.value.SameAs(p.Result()) {
		stack = m.threw.stack
	}
	m.lost[p] = rejection{m.count, p.Result(), stack}
}

// origin returns the calls that made the error of a rejection. Another reason has the calls that rejected the promise, or that
// threw it.
func (m *machine) origin(r rejection) []sobek.StackFrame {
	if e, ok := r.reason.(*sobek.Object); ok && e.ClassName() == "Error" {
		if made := m.vm.Try(func() { panic(e) }); made != nil && m.trace(made.Stack()).Line > 0 {
			return made.Stack()
		}
	}
	return r.stack
}

// mapped reports whether a script has a map to its sources. A script without code has an empty map, which the interpreter
// refuses.
func mapped(script string) bool {
	text, ok := mapOf(script)
	return ok && !bytes.Contains(text, []byte(`"mappings": ""`))
}

// mapOf returns the map to the sources of a script.
func mapOf(script string) (text []byte, ok bool) {
	_, encoded, ok := strings.Cut(script, "//# sourceMappingURL=data:application/json;base64,")
	if !ok {
		return nil, false
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	return text, err == nil
}

// offer gives the script the calls of sdk/host.ts, and console. The script has no other way out.
func (m *machine) offer() error {
	inputs := json.RawMessage("{}")
	if len(m.r.Inputs) > 0 {
		inputs = m.r.Inputs
	}
	parse, _ := sobek.AssertFunction(m.vm.Get("JSON").ToObject(m.vm).Get("parse"))
	given, err := parse(sobek.Undefined(), m.vm.ToValue(string(inputs)))
	if err != nil {
		return err
	}
	host := m.vm.NewObject()
	for name, v := range map[string]any{
		"inputs": given, "add": m.add, "receive": m.receive, "link": m.link, "meta": m.meta, "graph": m.graph, "problem": m.problem, "mark": m.mark,
	} {
		if err := host.Set(name, v); err != nil {
			return err
		}
	}
	console := m.vm.NewObject()
	for _, name := range []string{"log", "info", "debug", "warn", "error", "trace", "dir", "table", "group", "groupCollapsed"} {
		if err := console.Set(name, m.say); err != nil {
			return err
		}
	}
	for _, name := range []string{"groupEnd", "time", "timeEnd", "timeLog", "count", "countReset", "assert", "clear"} {
		if err := console.Set(name, func(sobek.FunctionCall) sobek.Value { return sobek.Undefined() }); err != nil {
			return err
		}
	}
	return errors.Join(m.vm.Set("mgmtHost", host), m.vm.Set("console", console))
}

// say writes a line to standard output for console.log and the like.
func (m *machine) say(call sobek.FunctionCall) sobek.Value {
	var words []string
	for _, v := range call.Arguments {
		words = append(words, m.shown(v))
	}
	fmt.Fprintln(os.Stdout, legible(strings.Join(words, " ")))
	return sobek.Undefined()
}

// shown writes a value for people.
func (m *machine) shown(v sobek.Value) string {
	if o, ok := v.(*sobek.Object); ok && o.ClassName() != "Error" {
		if text, err := o.MarshalJSON(); err == nil {
			return string(text)
		}
	}
	return v.String()
}

// add declares a resource: its kind, its name, the number of constructors around, and its value.
func (m *machine) add(call sobek.FunctionCall) sobek.Value {
	r := &Resource{Kind: call.Argument(0).String(), Name: call.Argument(1).String(), number: len(m.a.Resources)}
	r.At = m.place(int(call.Argument(2).ToInteger()) + 2)
	m.a.Resources = append(m.a.Resources, r)
	m.twice(r)
	if v := call.Argument(1); !sobek.IsString(v) {
		m.wrong(r, "V_TYPE", "name", "a name is text, not "+v.String())
	}
	if later(r.Name) {
		r.Name = legible(r.Name)
		m.wrong(r, "V_TYPE", "name", onlyParameters)
	}
	r.Value = m.encode(r, call.Argument(3), "")
	return m.vm.ToValue(r.number)
}

// twice gives a resource its calls if another one has the same kind and name, and the other one, too. Both may be made at one place.
func (m *machine) twice(r *Resource) {
	r.frames = slices.Clone(m.frames)
	id := r.Kind + "[" + r.Name + "]"
	first, ok := m.made[id]
	if !ok {
		m.made[id] = r
		return
	}
	for _, r := range []*Resource{first, r} {
		r.Calls = m.trace(r.frames).callers(r.At)
	}
}

// callers returns the calls that led to a place where a resource was made.
func (p Problem) callers(at Place) []Place {
	if i := slices.Index(p.Calls, at); i >= 0 {
		return p.Calls[i+1:]
	}
	return p.Calls
}

// place is where the call was made that is so many frames away, or the nearest frame around that is in a file.
func (m *machine) place(frame int) Place {
	m.frames = m.vm.CaptureCallStack(0, m.frames[:0])
	if len(m.frames) == 0 {
		return Place{}
	}
	for _, f := range m.frames[min(frame, len(m.frames)-1):] {
		if at := m.at(f); at.Line > 0 {
			return at
		}
	}
	return Place{File: m.r.Main}
}

// at is the place of a frame in a file; zero for a frame in the module mgmt or in the bundle.
func (m *machine) at(f sobek.StackFrame) Place {
	if at, ok := m.places[f]; ok {
		return at
	}
	var at Place
	p := f.Position()
	file := absolute(m.r.Root, p.Filename)
	if _, ok := m.a.Files[file]; ok {
		at = Place{File: file, Line: p.Line, Col: p.Column + 1}
	}
	m.places[f] = at
	return at
}

// resource is the one of a number.
func (m *machine) resource(v sobek.Value) *Resource {
	n := int(v.ToInteger())
	if n < 0 || n >= len(m.a.Resources) {
		panic(m.vm.NewTypeError("there is no resource of that number"))
	}
	return m.a.Resources[n]
}

// receive wires an output to an argument: the number of the resource, the path of the argument, and kind[name].key.
func (m *machine) receive(call sobek.FunctionCall) sobek.Value {
	r := m.resource(call.Argument(0))
	r.Recv = append(r.Recv, Received{Field: call.Argument(1).String(), From: call.Argument(2).String()})
	return sobek.Undefined()
}

// link puts a resource into an order: its number, a word such as before, and kind[name].
func (m *machine) link(call sobek.FunctionCall) sobek.Value {
	r, other := m.resource(call.Argument(0)), call.Argument(2).String()
	if how := call.Argument(1).String(); later(other) {
		m.wrong(r, "V_TYPE", how, onlyParameters)
		return sobek.Undefined()
	}
	switch how := call.Argument(1).String(); how {
	case "before":
		r.Before = append(r.Before, other)
	case "depend":
		r.Depend = append(r.Depend, other)
	case "notify":
		r.Notify = append(r.Notify, other)
	case "listen":
		r.Listen = append(r.Listen, other)
	}
	return sobek.Undefined()
}

// meta adds metaparameters to a resource: its number, and an object.
func (m *machine) meta(call sobek.FunctionCall) sobek.Value {
	r := m.resource(call.Argument(0))
	r.Meta = append(r.Meta, m.encode(r, call.Argument(1), "meta"))
	return sobek.Undefined()
}

// graph takes the name and the like of the whole graph. The last call counts.
func (m *machine) graph(call sobek.FunctionCall) sobek.Value {
	m.a.Graph = m.encode(nil, call.Argument(0), "")
	return sobek.Undefined()
}

// problem takes over what the classes found wrong with arguments.
func (m *machine) problem(call sobek.FunctionCall) sobek.Value {
	m.wrong(m.resource(call.Argument(0)), call.Argument(1).String(), call.Argument(2).String(), call.Argument(3).String())
	return sobek.Undefined()
}

// wrong reports a problem of a resource, at the place where that was made.
func (m *machine) wrong(r *Resource, code, path, message string) {
	p := Problem{Code: code, Path: path, Message: legible(message)}
	if r != nil {
		p.Place, p.Resource, p.Number = r.At, r.Kind+"["+r.Name+"]", &r.number
	}
	m.a.Problems = append(m.a.Problems, p)
}

// failed reports how a script has ended before its time.
func (m *machine) failed(err error) {
	if over, ok := errors.AsType[*sobek.StackOverflowError](err); ok {
		p := m.trace(over.Stack())
		p.Message = fmt.Sprintf("calls are nested deeper than %d levels: a function calls itself without an end", maxCalls)
		m.a.Problems = append(m.a.Problems, p)
		return
	}
	if cut, ok := errors.AsType[*sobek.InterruptedError](err); ok {
		p := m.trace(cut.Stack())
		if p.Line == 0 {
			p.Place = m.begin()
		}
		p.Message = fmt.Sprint(cut.Value())
		m.a.Problems = append(m.a.Problems, p)
		return
	}
	if e, ok := errors.AsType[*sobek.Exception](err); ok {
		m.thrown(e.Value(), e.Stack())
		return
	}
	m.a.Problems = append(m.a.Problems, Problem{Place: m.begin(), Message: err.Error()})
}

// begin is the place of the first code of the author's own files. The interpreter keeps no place for a loop without a body, so a stack
// has none where nothing has run before such a loop.
func (m *machine) begin() Place {
	text, ok := mapOf(m.script)
	if !ok {
		return Place{File: m.r.Main}
	}
	places, err := sourcemap.Parse("", text)
	if err != nil {
		return Place{File: m.r.Main}
	}
	line := 0
	for code := range strings.Lines(m.script) {
		line++
		for col := range len(code) {
			name, _, at, column, ok := places.Source(line, col)
			file := absolute(m.r.Root, name)
			if _, own := m.a.Files[file]; ok && own {
				return Place{File: file, Line: at, Col: column + 1}
			}
		}
	}
	return Place{File: m.r.Main}
}

// thrown reports a value that was thrown, and where.
func (m *machine) thrown(v sobek.Value, stack []sobek.StackFrame) {
	p := m.trace(stack)
	p.Message = "the program has thrown " + legible(m.describe(v))
	m.a.Problems = append(m.a.Problems, p)
}

// describe is a thrown value in words. Any value can be thrown, and its own methods may throw again.
func (m *machine) describe(v sobek.Value) string {
	text := "a value that can't be shown"
	_ = m.vm.Try(func() { text = m.words(v) }) // else the text stays as it is
	return text
}

// words is a thrown value in words. JSON helps more than "[object Object]".
func (m *machine) words(v sobek.Value) string {
	if v == nil || sobek.IsUndefined(v) || sobek.IsNull(v) {
		return "no error at all: throw new Error(\"...\") says what is wrong"
	}
	if o, ok := v.(*sobek.Object); ok && o.ClassName() == "Error" {
		return o.String()
	}
	return "a value that is no error: " + m.shown(v)
}

// trace is a problem at the innermost frame of the author's own files.
func (m *machine) trace(stack []sobek.StackFrame) (p Problem) {
	for _, f := range stack {
		at := m.at(f)
		switch {
		case at.Line == 0:
		case p.Line == 0:
			p.Place = at
		case len(p.Calls) < 5:
			p.Calls = append(p.Calls, at)
		}
	}
	if p.Line == 0 {
		p.Place = Place{File: m.r.Main}
	}
	return p
}
