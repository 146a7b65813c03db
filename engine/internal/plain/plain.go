package plain

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// version is the first byte of what Marshal writes.
const version = 1

// maxDepth bounds how deep a value may nest.
const maxDepth = 256

// The tag before each value. They are on disks: none is ever given another
// meaning.
const (
	tagNil byte = iota
	tagFalse
	tagTrue
	tagInt
	tagUint
	tagFloat
	tagString
	tagSecret
	tagDuration
	tagSize
	tagMode
	tagRef
	tagList
	tagMap
)

// Marshal writes a plain value, as schema.Encode gives it, in such a way
// that Unmarshal gives back the same value, with the kinds that its parts
// had, whatever bytes are in its texts. Equal values give equal bytes. Secrets
// are in it in clear: it belongs into a Store and nowhere else. The error names
// a part that is not a plain value.
func Marshal(v any) ([]byte, error) {
	return appendValue([]byte{version}, v, 0)
}

func appendValue(b []byte, v any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errors.New("the value nests too deeply")
	}
	switch v := v.(type) {
	case nil:
		return append(b, tagNil), nil
	case bool:
		if v {
			return append(b, tagTrue), nil
		}
		return append(b, tagFalse), nil
	case int64:
		return binary.AppendVarint(append(b, tagInt), v), nil
	case uint64:
		return binary.AppendUvarint(append(b, tagUint), v), nil
	case float64:
		return binary.BigEndian.AppendUint64(append(b, tagFloat), math.Float64bits(v)), nil
	case string:
		return appendText(append(b, tagString), v), nil
	case schema.Secret:
		return appendText(append(b, tagSecret), v.Reveal()), nil
	case time.Duration:
		return binary.AppendVarint(append(b, tagDuration), int64(v)), nil
	case schema.Size:
		return binary.AppendVarint(append(b, tagSize), int64(v)), nil
	case schema.Mode:
		return appendText(append(b, tagMode), string(v)), nil
	case schema.Ref:
		return appendText(appendText(appendText(append(b, tagRef), v.Kind), v.Name), v.Key), nil
	case []any:
		return appendList(b, v, depth)
	case map[string]any:
		return appendMap(b, v, depth)
	default:
		return nil, fmt.Errorf("a %T is no plain value", v)
	}
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendList(b []byte, v []any, depth int) (_ []byte, err error) {
	b = binary.AppendUvarint(append(b, tagList), uint64(len(v)))
	for i, e := range v {
		if b, err = appendValue(b, e, depth+1); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return b, nil
}

func appendMap(b []byte, v map[string]any, depth int) (_ []byte, err error) {
	b = binary.AppendUvarint(append(b, tagMap), uint64(len(v)))
	for _, k := range slices.Sorted(maps.Keys(v)) {
		if b, err = appendValue(appendText(b, k), v[k], depth+1); err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
	}
	return b, nil
}

// Unmarshal reads what Marshal wrote. The result shares nothing with
// data. The error says that data is something else, or damaged.
func Unmarshal(data []byte) (any, error) {
	r := reader{data: data}
	if v := r.byte(); v != version && r.err == nil {
		return nil, fmt.Errorf("the value is of version %d, and not of %d", v, version)
	}
	v := r.value(0)
	if r.err == nil && len(r.data) > 0 {
		r.fail()
	}
	if r.err != nil {
		return nil, r.err
	}
	return v, nil
}

var errDamaged = errors.New("the value is damaged")

// reader reads values from the front of data. After the first error it
// reads zeros.
type reader struct {
	data []byte
	err  error
}

func (r *reader) fail() {
	r.data, r.err = nil, errDamaged
}

// take returns the next n bytes.
func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.fail()
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.data)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *reader) varint() int64 {
	n, size := binary.Varint(r.data)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *reader) text() string { return string(r.take(r.uvarint())) }

func (r *reader) float() float64 {
	b := r.take(8)
	if len(b) < 8 {
		return 0
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b))
}

// count reads how many parts follow: each takes a byte at least.
func (r *reader) count(depth int) int {
	n := r.uvarint()
	if n > uint64(len(r.data)) || depth >= maxDepth {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) value(depth int) any {
	switch r.byte() {
	case tagNil:
		return nil
	case tagFalse:
		return false
	case tagTrue:
		return true
	case tagInt:
		return r.varint()
	case tagUint:
		return r.uvarint()
	case tagFloat:
		return r.float()
	case tagString:
		return r.text()
	case tagSecret:
		return schema.NewSecret(r.text())
	case tagDuration:
		return time.Duration(r.varint())
	case tagSize:
		return schema.Size(r.varint())
	case tagMode:
		return schema.Mode(r.text())
	case tagRef:
		return schema.Ref{Kind: r.text(), Name: r.text(), Key: r.text()}
	case tagList:
		return r.list(depth)
	case tagMap:
		return r.mapping(depth)
	default:
		r.fail()
		return nil
	}
}

func (r *reader) list(depth int) any {
	list := []any{}
	for n := r.count(depth); n > 0 && r.err == nil; n-- {
		list = append(list, r.value(depth+1))
	}
	return list
}

func (r *reader) mapping(depth int) any {
	m := map[string]any{}
	for n := r.count(depth); n > 0 && r.err == nil; n-- {
		k := r.text()
		m[k] = r.value(depth + 1)
	}
	return m
}
