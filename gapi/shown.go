package gapi

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// Shown is a resource as it is shown to people and to programs: what package
// manifest and package yaml write.
type Shown struct {
	Kind, Name string
	Backend    string // the metaparameter with which it was looked at, if it has one
	Absent     bool   // there is no such thing, and nothing to say of it
	Attrs      []ShownAttr
}

// ShownAttr is one parameter of a Shown.
type ShownAttr struct {
	Key      string
	Manifest string // what a manifest calls it; empty for Key
	Value    any    // a plain value, as schema.Encode gives it; nil where it is hidden
	ReadOnly bool   // it can be read, not set
	Hidden   bool   // it is a secret, or holds one
}

// Show returns the values of a resource to show, in the order in which its kind has the parameters. base is another resource of
// the kind, with its defaults. It leaves out the name, values that are empty by default, and empty values that can't be read back.
// All else, decoded into base, gives res again as far as it can be seen. hidden are parameters that are not shown though their
// type is plain. res may be nil: then there is nothing of that name. It alters nothing and keeps nothing of its arguments.
func Show(k engine.Kind, name string, base, res engine.Res, hidden []string) (s Shown, err error) {
	defer callsafe.Recover("encoding it", &err)
	s = Shown{Kind: k.Name, Name: name}
	if IsNoRes(res) {
		s.Absent = true
		return s, nil
	}
	values, changed, err := shownValues(base, res)
	if err != nil {
		return s, err
	}
	for _, f := range k.Type.Fields {
		v, ok := values[f.Key]
		if other, is := changed[f.Key]; is && f.Role != schema.RoleParam && f.Role != schema.RoleWriteOnly {
			v, ok = other, true
		}
		if !ok || f.Key == "name" || f.Role == schema.RoleIdentity && v == any(name) {
			continue
		}
		a := ShownAttr{Key: f.Key, Manifest: f.Manifest, Value: v, ReadOnly: f.Role == schema.RoleReadOnly}
		if slices.Contains(hidden, f.Key) || secrets.Holds(v) {
			a.Value, a.Hidden = nil, true
		}
		s.Attrs = append(s.Attrs, a)
	}
	return s, nil
}

// IsNoRes reports whether a resource is nil, or a nil pointer.
func IsNoRes(r engine.Res) bool {
	if r == nil {
		return true
	}
	rv := reflect.ValueOf(r)
	return rv.Kind() == reflect.Pointer && rv.IsNil()
}

// shownValues returns the values that are not empty, or not empty by default.
func shownValues(base, res engine.Res) (values, changed map[string]any, err error) {
	all, err := schema.Encode(res)
	if err != nil {
		return nil, nil, err
	}
	values, _ = all.(map[string]any)
	changed, err = schema.EncodeChanged(res, base)
	return values, changed, err
}

// NotationText returns the text of a plain value that has a notation in text, such as a
// length of time, and whether it is one. A secret is redacted.
func NotationText(v any) (text string, ok bool) {
	switch v := v.(type) {
	case time.Duration:
		return schema.FormatDuration(v), true
	case schema.Mode:
		return string(v), true
	case schema.Size, schema.Ref, schema.Secret:
		return fmt.Sprint(v), true
	default:
		return "", false
	}
}

// FloatText writes a number so that it is not taken for a whole one.
func FloatText(f float64) string {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if strings.Trim(text, "-0123456789") == "" {
		text += ".0"
	}
	return text
}
