package protobuf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Unmarshal reads a message into a struct of provider/protocol, to which v points. Fields that are not there stay as they are.
func Unmarshal(b []byte, v any) error {
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Pointer || r.IsNil() || r.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("a %T is no message", v)
	}
	return readMessage(b, r.Elem())
}

// errShort is about bytes that are no message of this kind: they end too early, or a field has the form of another type.
var errShort = errors.New("a message is cut off, or no message")

// part is one field of a message as it arrives: a number, or text.
type part struct {
	number protowire.Number
	kind   protowire.Type
	whole  uint64 // of a varint and of a double
	bytes  []byte
}

// parts calls f with each field of a message, and stops at its first error. A field may come several times: a list has one for each
// element, and of another field the last one counts. The bytes of a part belong to the message.
func parts(b []byte, f func(part) error) error {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return errShort
		}
		b = b[size:]
		p := part{number: n, kind: kind}
		switch kind {
		case protowire.VarintType:
			p.whole, size = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			p.whole, size = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			p.bytes, size = protowire.ConsumeBytes(b)
		default:
			size = protowire.ConsumeFieldValue(n, kind, b)
		}
		if size < 0 {
			return errShort
		}
		b = b[size:]
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}

// text returns a field that is text.
func (p part) text() (string, error) {
	if p.kind != protowire.BytesType {
		return "", errShort
	}
	if !utf8.Valid(p.bytes) {
		return "", errText
	}
	return string(p.bytes), nil
}

// readMessage reads the fields of a struct. A number that the struct lacks is of a later version, and is passed over.
func readMessage(b []byte, r reflect.Value) error {
	return parts(b, func(p part) error {
		for i := range r.NumField() {
			f := r.Type().Field(i)
			if numberOf(f) != p.number {
				continue
			}
			if err := readField(p, r.Field(i)); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
		return nil
	})
}

// readField reads one field. The form of the wire has to be that of the Go type: a number where a text belongs is an error, and not
// a zero value.
func readField(p part, v reflect.Value) error {
	whole := v.Kind() == reflect.Bool || v.Kind() == reflect.Int
	if whole != (p.kind == protowire.VarintType) || !whole && p.kind != protowire.BytesType {
		return errShort
	}
	switch {
	case v.Kind() == reflect.Bool:
		v.SetBool(p.whole != 0)
	case v.Kind() == reflect.Int:
		v.SetInt(int64(p.whole))
	case v.Kind() == reflect.String:
		s, err := p.text()
		v.SetString(s)
		return err
	case v.Type() == rawType:
		bag, err := readStruct(p.bytes, 0)
		if err != nil {
			return err
		}
		text, err := json.Marshal(bag)
		v.SetBytes(text)
		return err
	case v.Kind() == reflect.Map:
		bag, err := readStruct(p.bytes, 0)
		v.Set(reflect.ValueOf(bag).Convert(v.Type()))
		return err
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return readMessage(p.bytes, v.Elem())
	case v.Kind() == reflect.Struct:
		return readMessage(p.bytes, v)
	case v.Kind() == reflect.Slice:
		e := reflect.New(v.Type().Elem()).Elem()
		if err := readField(p, e); err != nil {
			return err
		}
		v.Set(reflect.Append(v, e))
	}
	return nil
}

// readStruct reads a google.protobuf.Struct. Nulls are left out.
func readStruct(b []byte, depth int) (map[string]any, error) {
	out := map[string]any{}
	return out, parts(b, func(p part) error {
		if p.number != structFields || p.kind != protowire.BytesType {
			return nil
		}
		key, v := "", any(nil)
		err := parts(p.bytes, func(p part) (err error) {
			switch p.number {
			case entryKey:
				key, err = p.text()
			case entryValue:
				v, err = readValue(p, depth+1)
			}
			return err
		})
		if v != nil {
			out[key] = v
		}
		return err
	})
}

// readValue reads a google.protobuf.Value, which is the content of a field. A Value without content is nil, as null is.
func readValue(p part, depth int) (v any, err error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	if p.kind != protowire.BytesType {
		return nil, errShort
	}
	return v, parts(p.bytes, func(p part) (err error) {
		switch {
		case p.number == valueNumber && p.kind == protowire.Fixed64Type:
			v, err = number(math.Float64frombits(p.whole))
		case p.number == valueBool && p.kind == protowire.VarintType:
			v = p.whole != 0
		case p.number == valueText:
			v, err = p.text()
		case p.number == valueStruct && p.kind == protowire.BytesType:
			v, err = readStruct(p.bytes, depth)
		case p.number == valueList && p.kind == protowire.BytesType:
			v, err = readList(p.bytes, depth)
		case p.number == valueNull:
			v = nil
		}
		return err
	})
}

// readList reads a google.protobuf.ListValue. A null keeps its place, since the others would move.
func readList(b []byte, depth int) ([]any, error) {
	out := []any{}
	return out, parts(b, func(p part) error {
		if p.number != listValues {
			return nil
		}
		v, err := readValue(p, depth+1)
		out = append(out, v)
		return err
	})
}

// number returns a double as a bag has it: a whole number as int64, where that loses nothing.
func number(f float64) (any, error) {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return nil, errors.New("a number is not finite")
	case f == math.Trunc(f) && math.Abs(f) < wholeLimit && !(f == 0 && math.Signbit(f)):
		return int64(f), nil
	}
	return f, nil
}

// unmarshalJSON reads an object with its whole numbers.
func unmarshalJSON(text []byte, bag *map[string]any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(bag); err != nil {
		return errors.New("the parameters of a call are no object")
	}
	_, err := exact(*bag)
	return err
}

// exact puts numbers in the place of their texts: int64 where they are whole, and float64 else. A list or a map is changed in place.
func exact(v any) (_ any, err error) {
	switch v := v.(type) {
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			if i, err := v.Int64(); err == nil {
				return i, nil
			}
		}
		return v.Float64()
	case []any:
		for i := range v {
			if v[i], err = exact(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key, e := range v {
			if v[key], err = exact(e); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
