package protobuf

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of the fields of google.protobuf.Struct, its entries, Value and ListValue.
const (
	structFields = 1
	entryKey     = 1
	entryValue   = 2
	valueNull    = 1
	valueNumber  = 2
	valueText    = 3
	valueBool    = 4
	valueStruct  = 5
	valueList    = 6
	listValues   = 1
)

// maxDepth bounds the nesting of a bag.
const maxDepth = 200

// wholeLimit bounds the doubles that may be whole numbers of a bag: it is the first one that int64 lacks.
const wholeLimit = 1 << 63

var rawType = reflect.TypeFor[json.RawMessage]()

// Marshal returns a message, which is a struct of provider/protocol or a pointer to one.
func Marshal(v any) ([]byte, error) {
	r := reflect.Indirect(reflect.ValueOf(v))
	if r.Kind() != reflect.Struct {
		return nil, fmt.Errorf("a %T is no message", v)
	}
	return appendMessage(nil, r)
}

// numberOf returns the number of a field; 0 where it is not sent.
func numberOf(f reflect.StructField) protowire.Number {
	n, _ := strconv.Atoi(f.Tag.Get("pb"))
	return protowire.Number(n)
}

// A zero value is not sent, as proto3 has it: the other side reads the zero value for a field that is missing. So a message of a
// later version costs an earlier one nothing.
//
// appendMessage appends the fields of a struct, in the order of the struct. The error names the field.
func appendMessage(b []byte, r reflect.Value) (_ []byte, err error) {
	for i := range r.NumField() {
		f := r.Type().Field(i)
		n := numberOf(f)
		if n == 0 {
			continue
		}
		if b, err = appendField(b, n, r.Field(i)); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return b, nil
}

// appendField appends one field, and nothing for a zero value. A map that is empty and not nil is no zero value: a bag without
// properties differs from no bag. A RawMessage is JSON, and is sent as the Struct of the same content.
func appendField(b []byte, n protowire.Number, v reflect.Value) ([]byte, error) {
	switch {
	case v.IsZero():
		return b, nil
	case v.Type() == rawType:
		var bag map[string]any
		if err := unmarshalJSON(v.Bytes(), &bag); err != nil {
			return nil, err
		}
		return appendNested(b, n, func(b []byte) ([]byte, error) { return appendStruct(b, bag, 0) })
	}
	switch v.Kind() {
	case reflect.String:
		return appendText(b, n, v.String())
	case reflect.Bool:
		return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), 1), nil
	case reflect.Int:
		return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), uint64(v.Int())), nil
	case reflect.Map:
		bag := v.Convert(reflect.TypeFor[map[string]any]()).Interface().(map[string]any)
		return appendNested(b, n, func(b []byte) ([]byte, error) { return appendStruct(b, bag, 0) })
	case reflect.Pointer, reflect.Struct:
		return appendNested(b, n, func(b []byte) ([]byte, error) { return appendMessage(b, reflect.Indirect(v)) })
	case reflect.Slice:
		return appendAll(b, n, v)
	}
	return nil, fmt.Errorf("a %s is no part of a message", v.Type())
}

// appendAll appends each element of a list, zero values too.
func appendAll(b []byte, n protowire.Number, list reflect.Value) (_ []byte, err error) {
	for i := range list.Len() {
		if e := list.Index(i); e.Kind() == reflect.String {
			b, err = appendText(b, n, e.String())
		} else {
			b, err = appendNested(b, n, func(b []byte) ([]byte, error) { return appendMessage(b, e) })
		}
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// errText is about a text that another language could not read. Its bytes are not in the error, since they may be a secret.
var errText = errors.New("a text is not UTF-8")

// appendText appends a text, the empty one too: within a list it has its place, and a field that is empty does not come here.
func appendText(b []byte, n protowire.Number, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, errText
	}
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s), nil
}

// appendNested appends a message within a message. Its length comes first, so the inner one is made in a buffer of its own.
func appendNested(b []byte, n protowire.Number, f func([]byte) ([]byte, error)) ([]byte, error) {
	inner, err := f(nil)
	if err != nil {
		return nil, err
	}
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), inner), nil
}

// appendStruct appends a google.protobuf.Struct, in the order of the keys: the same bag has the same bytes each time. An entry of the
// map is a message with a key and a value.
func appendStruct(b []byte, bag map[string]any, depth int) (_ []byte, err error) {
	for _, key := range slices.Sorted(maps.Keys(bag)) {
		b, err = appendNested(b, structFields, func(b []byte) ([]byte, error) {
			b, err := appendText(b, entryKey, key)
			if err != nil {
				return nil, err
			}
			return appendNested(b, entryValue, func(b []byte) ([]byte, error) { return appendValue(b, bag[key], depth+1) })
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return b, nil
}

var errDeep = fmt.Errorf("properties are nested more than %d times", maxDepth)

// appendValue appends a google.protobuf.Value: the number of the one field that is there says which kind of value it is. So null is a
// field too. The depth counts from the bag on.
func appendValue(b []byte, v any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	switch v := v.(type) {
	case nil:
		return protowire.AppendVarint(protowire.AppendTag(b, valueNull, protowire.VarintType), 0), nil
	case bool:
		return protowire.AppendVarint(protowire.AppendTag(b, valueBool, protowire.VarintType), protowire.EncodeBool(v)), nil
	case string:
		return appendText(b, valueText, v)
	case map[string]any:
		return appendNested(b, valueStruct, func(b []byte) ([]byte, error) { return appendStruct(b, v, depth) })
	case []any:
		return appendNested(b, valueList, func(b []byte) (_ []byte, err error) {
			for _, e := range v {
				if b, err = appendNested(b, listValues, func(b []byte) ([]byte, error) { return appendValue(b, e, depth+1) }); err != nil {
					return nil, err
				}
			}
			return b, nil
		})
	}
	f, err := double(v)
	if err != nil {
		return nil, err
	}
	return protowire.AppendFixed64(protowire.AppendTag(b, valueNumber, protowire.Fixed64Type), math.Float64bits(f)), nil
}

// double returns a number of a bag. JSON lines carry whole numbers of 64 bits exactly. A number that would arrive as another one is
// refused here, since a provider would make a wrong thing of it without a word.
func double(v any) (float64, error) {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, errors.New("a number is not finite")
		}
		return v, nil
	case int64:
		f := float64(v)
		if f >= wholeLimit || int64(f) != v {
			return 0, errors.New("a whole number beyond 2^53 cannot be sent over gRPC, since it would be another one; use the transport lines, or a text")
		}
		return f, nil
	case int:
		return double(int64(v))
	case uint64:
		if v > math.MaxInt64 {
			return double(int64(math.MaxInt64)) // which is refused
		}
		return double(int64(v))
	}
	return 0, fmt.Errorf("a %T is no part of a bag", v)
}
