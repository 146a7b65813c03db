package typescript

import (
	"container/heap"
	"context"
	"embed"
	"encoding/base64"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/grafana/sobek"
)

// library has what packages expect of every place that runs them, as far as the same files make the same graph with it.
//
//go:embed library
var library embed.FS

// globals are the names that a file of the library gives. A file is read when a script asks for one of its names.
var globals = []struct {
	file  string
	names []string
}{
	{"clone.js", []string{"structuredClone"}},
	{"text.js", []string{"TextEncoder", "TextDecoder", "btoa", "atob"}},
	{"address.js", []string{"URL", "URLSearchParams"}},
	{"events.js", []string{"Event", "EventTarget", "AbortController", "AbortSignal", "DOMException"}},
}

// epoch is where the clock of packages stands.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// timer is a function that a script wants to be called later. Nothing waits: when the script has ended, the functions run in the order of their
// times.
type timer struct {
	number int64
	due    float64 // in milliseconds since the begin
	wait   float64
	again  bool // it is an interval
	f      sobek.Callable
	args   []sobek.Value
}

// timers are those of a script, as a heap by their times. One that was taken back stays in the list, and is not in live.
type timers struct {
	list   []*timer
	live   map[int64]*timer
	number int64   // of the last one
	once   int     // how many of the live ones are no intervals
	passed float64 // milliseconds since the begin, for packages
}

func (t *timers) Len() int      { return len(t.list) }
func (t *timers) Swap(i, j int) { t.list[i], t.list[j] = t.list[j], t.list[i] }
func (t *timers) Push(x any)    { t.list = append(t.list, x.(*timer)) }

func (t *timers) Less(i, j int) bool {
	a, b := t.list[i], t.list[j]
	return a.due < b.due || a.due == b.due && a.number < b.number
}

func (t *timers) Pop() any {
	last := t.list[len(t.list)-1]
	t.list = t.list[:len(t.list)-1]
	return last
}

// drop takes a timer out of the live ones.
func (t *timers) drop(number int64) {
	if dropped, ok := t.live[number]; ok {
		delete(t.live, number)
		if !dropped.again {
			t.once--
		}
	}
}

// offerGlobals gives the script the names of the library, timers, and a clock and random numbers. Packages may ask for the time where they are
// imported, as for a number of a cache: for them the clock stands, and random numbers come in one order. The program of an author hears that
// there is none: what it makes of them would be wrong.
func (m *machine) offerGlobals() error {
	random := rand.New(rand.NewPCG(1, 2))
	m.vm.SetTimeSource(func() time.Time {
		m.onlyPackages("a graph has no clock: the same files have to make the same graph; give the time with --var NAME=VALUE")
		return epoch.Add(time.Duration(m.timers.passed * float64(time.Millisecond)))
	})
	m.vm.SetRandSource(func() float64 {
		m.onlyPackages("a graph has no random numbers: the same files have to make the same graph; give a value with --var NAME=VALUE")
		return random.Float64()
	})
	errs := []error{m.arraysOfText()}
	for _, name := range []string{"encodeURI", "encodeURIComponent", "escape"} {
		errs = append(errs, m.plainly(name))
	}
	for _, g := range globals {
		for _, name := range g.names {
			errs = append(errs, m.lazily(name, g.file))
		}
	}
	crypto := m.vm.NewObject()
	for _, name := range []string{"getRandomValues", "randomUUID"} { // a package that finds none may take Math.random for its keys
		errs = append(errs, crypto.Set(name, func(sobek.FunctionCall) sobek.Value {
			panic(m.vm.NewTypeError("a graph has no random numbers, and none for a key or a password: the kind password makes one, and --var NAME=VALUE gives another value"))
		}))
	}
	clock := m.vm.NewObject()
	errs = append(errs, clock.Set("now", func() float64 { return m.timers.passed }), clock.Set("timeOrigin", epoch.UnixMilli()), m.vm.Set("performance", clock), m.vm.Set("crypto", crypto), m.vm.Set("self", m.vm.GlobalObject()))
	for name, f := range map[string]func(sobek.FunctionCall) sobek.Value{
		"setTimeout":     func(c sobek.FunctionCall) sobek.Value { return m.later(c, 2, c.Argument(1), false) },
		"setInterval":    func(c sobek.FunctionCall) sobek.Value { return m.later(c, 2, c.Argument(1), true) },
		"setImmediate":   func(c sobek.FunctionCall) sobek.Value { return m.later(c, 1, nil, false) },
		"queueMicrotask": m.soon,
		"clearTimeout":   m.never, "clearInterval": m.never, "clearImmediate": m.never,
	} {
		errs = append(errs, m.vm.Set(name, f))
	}
	return errors.Join(errs...)
}

// arraysOfText has the method from of typed arrays take a text, whose characters the interpreter does not visit there.
func (m *machine) arraysOfText() error {
	typed := m.vm.Get("Uint8Array").ToObject(m.vm).Prototype()
	from, ok := sobek.AssertFunction(typed.Get("from"))
	chars, is := sobek.AssertFunction(m.vm.Get("Array").ToObject(m.vm).Get("from"))
	if !ok || !is {
		return errors.New("the interpreter has no typed arrays")
	}
	return typed.Set("from", func(c sobek.FunctionCall) sobek.Value {
		args := slices.Clone(c.Arguments)
		if len(args) > 0 && sobek.IsString(args[0]) {
			list, err := chars(sobek.Undefined(), args[0])
			if err != nil {
				panic(err)
			}
			args[0] = list
		}
		v, err := from(c.This, args...)
		if err != nil {
			panic(err)
		}
		return v
	})
}

// plainly has a global function refuse a text with an output in it, whose place it would alter.
func (m *machine) plainly(name string) error {
	f, ok := sobek.AssertFunction(m.vm.Get(name))
	if !ok {
		return errors.New("the interpreter has no " + name)
	}
	return m.vm.Set(name, func(c sobek.FunctionCall) sobek.Value {
		v, err := f(sobek.Undefined(), m.vm.ToValue(m.plainText(c.Argument(0))))
		if err != nil {
			panic(err)
		}
		return v
	})
}

// plainText returns the text of a value. One with an output in it is refused: what is made of its characters would not be made of the output.
func (m *machine) plainText(v sobek.Value) string {
	text := v.String()
	if later(text) {
		panic(m.vm.NewTypeError("%s has an output in it, whose value is not known while the graph is made: a program can join such a text with others, and can't look into it, encode it, or make an address or a sum of it", legible(text)))
	}
	return text
}

// onlyPackages refuses what a program asks for by itself, and not by a package.
func (m *machine) onlyPackages(why string) {
	for _, f := range m.vm.CaptureCallStack(0, nil) {
		if at := m.at(f); at.Line > 0 {
			if packaged(m.r.Root, at.File) {
				return
			}
			break
		}
	}
	panic(m.vm.NewTypeError(why))
}

// packaged reports whether a file of a project belongs to a package that somebody else has written. The project itself may lie in such a folder.
func packaged(root, file string) bool {
	return strings.Contains(strings.TrimPrefix(file, root), "/node_modules/")
}

// lazily defines a global name. Its file is run when the name is read first.
func (m *machine) lazily(name, file string) error {
	global := m.vm.GlobalObject()
	put := func(v sobek.Value) {
		if err := global.DefineDataProperty(name, v, sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_FALSE); err != nil {
			panic(err)
		}
	}
	get := func(sobek.FunctionCall) sobek.Value {
		v := m.fromLibrary(file).Get(name)
		put(v)
		return v
	}
	set := func(c sobek.FunctionCall) sobek.Value {
		put(c.Argument(0))
		return sobek.Undefined()
	}
	return global.DefineAccessorProperty(name, m.vm.ToValue(get), m.vm.ToValue(set), sobek.FLAG_TRUE, sobek.FLAG_FALSE)
}

// fromLibrary runs a file of the library once, and returns what it exports.
func (m *machine) fromLibrary(file string) *sobek.Object {
	if exports, ok := m.exports[file]; ok {
		return exports
	}
	text, err := library.ReadFile("library/" + file)
	if err != nil {
		panic(err) // it is in the program
	}
	exports := m.vm.NewObject()
	if m.exports == nil {
		m.exports = map[string]*sobek.Object{}
	}
	m.exports[file] = exports
	whole, err := m.vm.RunScript("mgmt:"+file, "(function (exports, native) {\"use strict\";"+string(text)+"\n})")
	if err != nil {
		panic(err)
	}
	run, _ := sobek.AssertFunction(whole)
	if _, err := run(sobek.Undefined(), exports, m.natives()); err != nil {
		panic(err)
	}
	return exports
}

// natives are what the library has no words for.
func (m *machine) natives() sobek.Value {
	n := m.vm.NewObject()
	absent := sobek.Undefined()
	for name, f := range map[string]func(sobek.FunctionCall) sobek.Value{
		"encode": func(c sobek.FunctionCall) sobek.Value {
			return m.vm.ToValue(m.vm.NewArrayBuffer([]byte(strings.ToValidUTF8(m.plainText(c.Argument(0)), "\uFFFD"))))
		},
		"plain": func(c sobek.FunctionCall) sobek.Value { return m.vm.ToValue(m.plainText(c.Argument(0))) },
		"decode": func(c sobek.FunctionCall) sobek.Value {
			b, _ := c.Argument(0).Export().(sobek.ArrayBuffer)
			if c.Argument(1).ToBoolean() && !utf8.Valid(b.Bytes()) {
				panic(m.vm.NewTypeError("the bytes are no text in UTF-8"))
			}
			return m.vm.ToValue(decoded(b.Bytes()))
		},
		"btoa": func(c sobek.FunctionCall) sobek.Value {
			var b []byte
			for _, char := range m.plainText(c.Argument(0)) {
				if char > 0xFF {
					return absent
				}
				b = append(b, byte(char))
			}
			return m.vm.ToValue(base64.StdEncoding.EncodeToString(b))
		},
		"atob": func(c sobek.FunctionCall) sobek.Value {
			text := c.Argument(0).String()
			if len(text)%4 == 0 {
				text = strings.TrimSuffix(strings.TrimSuffix(text, "="), "=")
			}
			b, err := base64.RawStdEncoding.DecodeString(text)
			if err != nil || strings.ContainsAny(text, "\r\n") {
				return absent
			}
			chars := make([]rune, len(b))
			for i, c := range b {
				chars[i] = rune(c)
			}
			return m.vm.ToValue(string(chars))
		},
	} {
		if err := n.Set(name, f); err != nil {
			panic(err)
		}
	}
	return n
}

// decoded returns the text of bytes. Each that is no UTF-8 becomes U+FFFD.
func decoded(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}

// later notes a call for later. The arguments of the function begin at one of those of the call. A delay of nil is none.
func (m *machine) later(c sobek.FunctionCall, from int, delay sobek.Value, again bool) sobek.Value {
	f, ok := sobek.AssertFunction(c.Argument(0))
	if !ok {
		panic(m.vm.NewTypeError("a timer needs a function"))
	}
	wait := 0.0 // of setImmediate
	if delay != nil {
		if wait = max(delay.ToFloat(), 1); math.IsNaN(wait) || wait > math.MaxInt32 {
			wait = 1
		}
	}
	t := &m.timers
	t.number++
	made := &timer{number: t.number, due: t.passed + wait, wait: wait, again: again, f: f, args: slices.Clone(c.Arguments[min(from, len(c.Arguments)):])}
	if t.live == nil {
		t.live = map[int64]*timer{}
	}
	if t.live[made.number] = made; !again {
		t.once++
	}
	heap.Push(t, made)
	return m.vm.ToValue(made.number)
}

// soon has a function called behind what runs now.
func (m *machine) soon(c sobek.FunctionCall) sobek.Value {
	f, ok := sobek.AssertFunction(c.Argument(0))
	if !ok {
		panic(m.vm.NewTypeError("queueMicrotask needs a function"))
	}
	p, resolve, _ := m.vm.NewPromise()
	then, _ := sobek.AssertFunction(m.vm.ToValue(p).ToObject(m.vm).Get("then"))
	call := func(sobek.FunctionCall) sobek.Value {
		if _, err := f(sobek.Undefined()); err != nil {
			panic(err)
		}
		return sobek.Undefined()
	}
	if _, err := then(m.vm.ToValue(p), m.vm.ToValue(call)); err != nil {
		panic(err)
	}
	if err := resolve(sobek.Undefined()); err != nil {
		panic(err)
	}
	return sobek.Undefined()
}

// never takes a timer back.
func (m *machine) never(c sobek.FunctionCall) sobek.Value {
	if n := c.Argument(0); sobek.IsNumber(n) {
		m.timers.drop(n.ToInteger())
	}
	return sobek.Undefined()
}

// maxTurns bounds the calls of intervals while nothing else is left.
const maxTurns = 100_000

// runTimers runs what the script has put off, in the order of the times, until intervals alone are left. These go on while the program
// waits for one of them.
func (m *machine) runTimers(ctx context.Context, waits func() bool) error {
	all := &m.timers
	for turns := 0; all.once > 0 || len(all.live) > 0 && turns < maxTurns && waits(); {
		if ctx.Err() != nil { // a function of the interpreter itself meets no interrupt
			return context.Cause(ctx)
		}
		t := heap.Pop(all).(*timer)
		if all.live[t.number] != t {
			continue
		}
		if all.once == 0 {
			turns++
		}
		if all.passed = t.due; t.again {
			t.due += t.wait
			heap.Push(all, t)
		} else {
			all.drop(t.number)
		}
		if _, err := t.f(sobek.Undefined(), t.args...); err != nil {
			return err
		}
	}
	return nil
}
