package puppettype

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Plain returns a value as lowered types know it: the inverse of Lift. A Sensitive is a
// schema.Secret of its text. Lists and maps are new ones, and v stays as it is. A
// foreign value without a method String comes back as it went in.
func Plain(v any) any {
	switch v := settle(v).(type) {
	case []any:
		return apply(v, Plain)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = Plain(item)
		}
		return out
	case Map:
		return plainMap(v)
	case time.Time:
		return FormatTimestamp(v)
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case Sensitive:
		return schema.NewSecret(plainText(Plain(v.Reveal())))
	case Default:
		return "default"
	case URI:
		return string(v)
	case Symbol:
		return string(v)
	case interface{ String() string }:
		return plainStringer(v)
	default:
		return v
	}
}

// plainMap gives each key its text.
func plainMap(m Map) any {
	out := make(map[string]any, len(m))
	for _, e := range m {
		out[plainText(Plain(e.Key))] = Plain(e.Value)
	}
	return out
}

// plainText is a plain value as text: JSON for a list and a map. It is for a key or the
// content of a secret, where schema knows text alone.
func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case schema.Secret:
		return v.Reveal()
	case []any, map[string]any:
		if text, err := json.Marshal(uncovered(v)); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(v)
}

// uncovered is a plain value with its secrets in clear. The text that is made of it
// becomes a Secret again, except for the key of a Map: schema has no secret keys.
func uncovered(v any) any {
	switch v := v.(type) {
	case schema.Secret:
		return v.Reveal()
	case []any:
		return apply(v, uncovered)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = uncovered(item)
		}
		return out
	}
	return v
}

// plainStringer keeps what schema knows, and writes the rest. A number beyond 64 bits
// becomes its digits.
func plainStringer(v interface{ String() string }) any {
	switch v := v.(type) {
	case time.Duration, schema.Secret:
		return v
	case *big.Int:
		if v.IsUint64() {
			return v.Uint64()
		}
	}
	return v.String()
}
