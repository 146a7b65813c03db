package hosts

import (
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/internal/params"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Export is a resource that a host publishes.
type Export struct {
	Topic, From, Kind, Name string
	Record                  // as it stands in the store
}

// Record is the value of an export. Fields may become more.
type Record struct {
	Value json.RawMessage `json:"value"`          // the parameters that differ from the defaults
	Meta  json.RawMessage `json:"meta,omitempty"` // the metaparameters that do
}

// ErrSecret says that a resource with a secret was to be published.
var ErrSecret = errors.New("a resource with a secret can't be exported: every host that reads the store could see it")

// private reports whether a metaparameter concerns the publishing host alone: another host takes over few (lend.Metas), and a host that only
// looks does not want the others to.
func private(key string) bool { return key == "noop" || !slices.Contains(lend.Metas, key) }

// ExportKeys returns the keys under which a host publishes a resource, with their value. The topics are
// those of the metaparameter export. The error says why it cannot be published.
func ExportKeys(from string, res engine.Res) (map[string][]byte, error) {
	meta := res.MetaParams()
	value, err := given(res)
	if err != nil {
		return nil, err
	}
	plain, err := schema.EncodeChanged(meta, new(engine.MetaParams))
	if err != nil {
		return nil, err
	}
	if meta.Retry == engine.RetryNever {
		plain["retry"] = int64(0)
	}
	maps.DeleteFunc(plain, func(key string, _ any) bool { return private(key) })
	var r Record
	if r.Value, err = jsonOf(value); err == nil && len(plain) > 0 {
		r.Meta, err = jsonOf(plain)
	}
	if err == nil && len(meta.Secret) > 0 {
		err = ErrSecret
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	keys := map[string][]byte{}
	for _, word := range meta.Export {
		keys[tableExports+join(TopicOf(word), from, res.Kind(), res.Name())] = text
	}
	return keys, nil
}

// given returns the parameters of a resource that another host may declare: without the name, and without those that can only be read.
func given(res engine.Res) (map[string]any, error) {
	t, err := schema.TypeOf(res)
	if err != nil {
		return nil, err
	}
	value, err := params.Of(res)
	if err != nil {
		return nil, err
	}
	for _, f := range t.Fields {
		if f.Role == schema.RoleReadOnly {
			delete(value, f.Key)
		}
	}
	delete(value, "name")
	return value, nil
}

// ReadExport returns the export of a key with its value. The error says that its record can't be read.
func ReadExport(key string, value []byte) (Export, error) {
	parts := split(key, tableExports, 4)
	if parts == nil {
		return Export{}, fmt.Errorf("the key %q of the store is no export", key)
	}
	x := Export{Topic: parts[0], From: parts[1], Kind: parts[2], Name: parts[3]}
	if err := json.Unmarshal(value, &x.Record); err != nil {
		return x, fmt.Errorf("the record of %s from %s can't be read: %w", schema.Ref{Kind: x.Kind, Name: x.Name}.ID(), x.From, err)
	}
	return x, nil
}

// DropExports takes back all that a host exports, in the place of the host, and returns how many keys that were. The caller may read all topics.
func (s Store) DropExports(ctx context.Context, host string) (n int, err error) {
	o := world.ListOptions{Limit: pageSize}
	for more := true; more; { // page by page: there may be more of them than memory
		var p world.Page
		err := s.call(ctx, func(ctx context.Context) (err error) {
			p, err = s.World.List(ctx, tableExports, o)
			return err
		})
		if err != nil {
			return n, fmt.Errorf("the exports: %w", err)
		}
		var ops []world.Op
		for _, kv := range p.KVs {
			if o.After = kv.Key; ownerOf(kv) == host {
				ops = append(ops, world.Op{Key: kv.Key, Delete: true})
			}
		}
		for part := range parts(ops, s.World.Limits()) {
			err := s.call(ctx, func(ctx context.Context) error {
				_, _, err := s.World.Txn(ctx, nil, part)
				return err
			})
			if err != nil {
				return n, fmt.Errorf("the exports of %s: %w", host, err)
			}
			n += len(part)
		}
		more = p.More
	}
	return n, nil
}

// ExportPrefix is the prefix of the exports for a topic.
func ExportPrefix(topic string) string { return tableExports + join(topic) + "/" }

// jsonOf writes plain values, as schema.Encode gives them, in the form that a graph has in JSON.
func jsonOf(v any) (json.RawMessage, error) {
	plain, err := jsonPlain(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(plain)
}

// jsonPlain returns a value in the form that another host decodes: durations as text, sizes in bytes. A secret that is not empty is an
// error (ErrSecret), since every host of the topic could read it.
func jsonPlain(v any) (_ any, err error) {
	switch v := v.(type) {
	case schema.Secret:
		if v.IsZero() {
			return "", nil
		}
		return nil, ErrSecret
	case time.Duration:
		return v.String(), nil
	case schema.Size:
		return int64(v), nil
	case schema.Mode:
		return string(v), nil
	case encoding.TextMarshaler:
		text, err := v.MarshalText()
		return string(text), err
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			if list[i], err = jsonPlain(item); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if m[key], err = jsonPlain(v[key]); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return v, nil
}
