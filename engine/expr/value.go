package expr

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// value is a value of the library.
type value = ref.Val

// Absent is the value of an optional that has none, such as data.?key.
type Absent struct{}

// plainOf returns a value of the library as a plain value.
func plainOf(v value) (any, error) {
	switch v := v.(type) {
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		return uint64(v), nil
	case types.Double:
		return float64(v), nil
	case types.String:
		return string(v), nil
	case types.Bytes:
		return string(v), nil
	case types.Null:
		return nil, nil
	case types.Duration:
		return schema.FormatDuration(v.Duration), nil
	case types.Timestamp:
		return v.Time.UTC().Format(time.RFC3339Nano), nil
	case *types.Optional:
		if !v.HasValue() {
			return Absent{}, nil
		}
		return plainOf(v.GetValue())
	case *types.Err:
		return nil, v
	case traits.Mapper:
		return plainMap(v)
	case traits.Lister:
		return plainList(v)
	}
	return nil, fmt.Errorf("%s is no value of a graph", v.Type().TypeName())
}

// plainList returns a list, which the library may compute on demand.
func plainList(l traits.Lister) (any, error) {
	list := []any{}
	for it := l.Iterator(); it.HasNext() == types.True; {
		v, err := plainOf(it.Next())
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// plainMap returns a map. The keys of a map in a graph are text.
func plainMap(m traits.Mapper) (any, error) {
	out := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("the keys of a map must be text, not %s: write string(...)", key.Type().TypeName())
		}
		v, err := plainOf(m.Get(key))
		if err != nil {
			return nil, err
		}
		out[string(name)] = v
	}
	return out, nil
}

// errNoText is the error of a value in the middle of a text that is none.
var errNoText = errors.New("inside a text an expression must be text, a number or true or false")

// joinHint says how a list becomes text.
const joinHint = ": write .join(\", \") behind it"

// AsText returns a value as it stands inside a text. A list, a map and a missing value do not.
func AsText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case uint64:
		return strconv.FormatUint(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case nil:
		return "", fmt.Errorf("%w, not null", errNoText)
	case []any:
		return "", fmt.Errorf("%w, not a list%s", errNoText, joinHint)
	case map[string]any:
		return "", fmt.Errorf("%w, not a map", errNoText)
	}
	return "", fmt.Errorf("%w, and there is no value: write .orValue(...) behind it", errNoText)
}
