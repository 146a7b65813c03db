package typescript

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/grafana/sobek"
)

// maxLevels bounds how deep values are nested.
const maxLevels = 100

// maxExact is the least whole number that JavaScript confuses with its successor.
const maxExact = 1 << 53

// encode writes a value as JSON. What JSON has no form for is reported, and left out.
func (m *machine) encode(r *Resource, v sobek.Value, path string) json.RawMessage {
	e := encoder{m: m, r: r, known: r == nil || path != ""}
	e.value(v, path, 0)
	return bytes.Clone(e.b.Bytes())
}

// encoder writes one value.
type encoder struct {
	m     *machine
	r     *Resource
	b     bytes.Buffer
	known bool // the value is no parameter: no output may stand in it
}

// Signs around the place of an output in a text.
const (
	markBegin = "\uE0F0"
	markEnd   = "\uE0F1"
	markSigns = markBegin + markEnd
)

// marked is the place of an output in a text of a script: what it stands for, its seal, and kind[name].key.
var marked = regexp.MustCompile("\uE0F0(Sent|Whole):([0-9a-f]{32}):([^" + markSigns + "]+)\uE0F1")

// mark returns the place of an output in a text: what it stands for, and kind[name].key.
func (m *machine) mark(call sobek.FunctionCall) sobek.Value {
	if !m.marks {
		if err := m.guardTexts(); err != nil {
			panic(m.vm.NewTypeError("an output can't be used after the program has frozen, or taken away, built-in methods of String, RegExp, Number or JSON: they have to refuse it"))
		}
		m.marks = true
	}
	how, id := call.Argument(0).String(), call.Argument(1).String()
	return m.vm.ToValue("\uE0F0" + how + ":" + m.seal(how, id) + ":" + id + "\uE0F1")
}

// seal returns the seal of a mark. It depends on all files and inputs of the program, so no data can hold one that counts, and a mark that was
// altered has another one. Equal programs have equal seals: a text that is counted or cut is the same each time.
func (m *machine) seal(how, id string) string {
	h := hmac.New(sha256.New, m.key)
	fmt.Fprintf(h, "%s:%s", how, id)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// unsealed returns a text with its marks as mgmt reads them. It reports whether the text has nothing else of a mark.
func (m *machine) unsealed(text string) (string, bool) {
	whole := !later(marked.ReplaceAllString(text, ""))
	out := marked.ReplaceAllStringFunc(text, func(mark string) string {
		p := marked.FindStringSubmatch(mark)
		whole = whole && hmac.Equal([]byte(p[2]), []byte(m.seal(p[1], p[3])))
		return "\uE0F0" + p[1] + " " + p[3] + "\uE0F1"
	})
	return out, whole
}

// onlyParameters says where an output has no place.
const onlyParameters = "the value of an output is not known while the graph is made: it stands in parameters only"

// later reports whether a text has an output in it.
func later(text string) bool {
	return strings.Contains(text, markBegin) || strings.Contains(text, markEnd)
}

// altered says what is wrong with a text that has parts of the place of an output.
const altered = "the program has altered a text with an output in it, whose value is not known while the graph is made: join such texts only"

// legible returns a text for people, with the references to its outputs.
func legible(text string) string { return marked.ReplaceAllString(text, "<$3>") }

// wrong reports a value, in whose place null is written: the document stays well-formed.
func (e *encoder) wrong(path, format string, args ...any) {
	e.m.wrong(e.r, "V_TYPE", path, fmt.Sprintf(format, args...))
	e.b.WriteString("null")
}

// value writes any value. A missing value is null, which counts as absent.
func (e *encoder) value(v sobek.Value, path string, level int) {
	switch o := v.(type) {
	case nil:
		e.b.WriteString("null")
	case *sobek.Symbol:
		e.wrong(path, "a symbol is no value of a graph")
	case *sobek.Object:
		e.object(o, path, level)
	default:
		e.scalar(v, path)
	}
}

// scalar writes a value without parts. A big integer keeps all its digits.
func (e *encoder) scalar(v sobek.Value, path string) {
	switch {
	case sobek.IsUndefined(v), sobek.IsNull(v):
		e.b.WriteString("null")
	case sobek.IsString(v):
		text := v.String()
		if later(text) {
			text = e.outputs(text, path)
		}
		e.text(text)
	case sobek.IsBigInt(v):
		e.b.WriteString(v.String())
	case sobek.IsNumber(v):
		e.number(v, path)
	default:
		e.b.WriteString(strconv.FormatBool(v.ToBoolean()))
	}
}

// outputs returns a text with outputs in it, as mgmt reads it. A wrong one stays a text, so that nothing else is wrong with it.
func (e *encoder) outputs(text, path string) string {
	out, whole := e.m.unsealed(text)
	switch {
	case !whole:
		e.m.wrong(e.r, "V_TYPE", path, altered)
	case e.known:
		e.m.wrong(e.r, "V_TYPE", path, onlyParameters)
	default:
		return out
	}
	return strings.NewReplacer("\uE0F0", "<", "\uE0F1", ">").Replace(legible(text))
}

// number writes a number in the shortest form that is the same number.
func (e *encoder) number(v sobek.Value, path string) {
	f := v.ToFloat()
	switch {
	case math.IsNaN(f):
		e.wrong(path, "NaN is no value of a graph: a calculation has gone wrong before")
	case math.IsInf(f, 0):
		e.wrong(path, "an infinite number is no value of a graph: a calculation has gone wrong before")
	case f == math.Trunc(f) && math.Abs(f) >= maxExact:
		e.wrong(path, "%s is a whole number of 2^53 or more, which JavaScript does not keep exactly: write it with n at its end, or as text", strconv.FormatFloat(f, 'f', -1, 64))
	case f == math.Trunc(f):
		e.b.WriteString(strconv.FormatInt(int64(f), 10)) // -0 is 0
	default:
		e.b.WriteString(strconv.FormatFloat(f, 'g', -1, 64))
	}
}

// text writes a text. Half of a surrogate pair has no form in JSON, and becomes the sign of that.
func (e *encoder) text(s string) {
	enc := json.NewEncoder(&e.b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a text has a form always
	}
	e.b.Truncate(e.b.Len() - 1)
}

// object writes a list or a plain object. Objects of other classes hold state that JSON would lose.
func (e *encoder) object(o *sobek.Object, path string, level int) {
	if level > maxLevels {
		e.wrong(shorten(path), "the value contains itself, or has more than %d levels", maxLevels)
		return
	}
	switch class := o.ClassName(); class {
	case "Array":
		e.list(o, path, level)
	case "Object":
		if name := e.m.classOf(o); name != "" {
			e.wrong(path, "a %s is no value of a graph: give text, numbers, lists and plain objects", name)
			return
		}
		e.fields(o, path, level)
	case "String", "Number", "Boolean":
		e.wrong(path, "write the value itself, without new %s", class)
	default:
		e.wrong(path, "a %s is no value of a graph: give text, numbers, lists and plain objects", class)
	}
}

// classOf is the name of the class of an object, empty for a plain one.
func (m *machine) classOf(o *sobek.Object) string {
	proto := o.Prototype()
	if proto == nil || proto == m.plain {
		return ""
	}
	if c, ok := proto.Get("constructor").(*sobek.Object); ok {
		if name := c.Get("name"); name != nil && sobek.IsString(name) && name.String() != "" {
			return name.String()
		}
	}
	return "class"
}

// shorten cuts the path of a value that is nested without an end.
func shorten(path string) string {
	if len(path) > 60 {
		return path[:60] + "..."
	}
	return path
}

// list writes an array. Its holes are null.
func (e *encoder) list(o *sobek.Object, path string, level int) {
	e.b.WriteByte('[')
	n := int(o.Get("length").ToInteger())
	for i := range n {
		if i > 0 {
			e.b.WriteByte(',')
		}
		e.value(o.Get(strconv.Itoa(i)), path+"["+strconv.Itoa(i)+"]", level+1)
	}
	e.b.WriteByte(']')
}

// fields writes an object, with its keys in the order in which the program set them. A key without a value is left out.
func (e *encoder) fields(o *sobek.Object, path string, level int) {
	e.b.WriteByte('{')
	first := true
	for _, key := range o.Keys() {
		v := o.Get(key)
		if v == nil || sobek.IsUndefined(v) {
			continue
		}
		if !first {
			e.b.WriteByte(',')
		}
		first = false
		if later(key) {
			e.m.wrong(e.r, "V_TYPE", path, "a key has an output in it: "+onlyParameters)
		}
		e.text(key)
		e.b.WriteByte(':')
		at := key
		if path != "" {
			at = path + "." + key
		}
		e.value(v, at, level+1)
	}
	e.b.WriteByte('}')
}
