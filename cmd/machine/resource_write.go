package machine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/manifest"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// observationWriter writes things as they are seen, one after the other.
// The caller adds each thing once and calls close at the end, also after none.
// It is for one goroutine. Its errors are those of the output.
type observationWriter struct {
	add   func(gapi.Shown) error
	close func() error // after the last one
}

// newObservationWriter returns the writer of the chosen form. many says that there may be more than
// one thing: then a document is a list, whose elements are written as they come.
func (f *resourceFlags) newObservationWriter(w io.Writer, many bool) (observationWriter, error) {
	switch {
	// The YAML is a graph, and the text of the default is a manifest: both can be read again.
	case f.output.Form() == "yaml":
		y := yaml.NewWriter(w)
		return observationWriter{y.Add, y.Close}, nil
	case f.output.Document() && many:
		l, err := f.output.List(w, false)
		return observationWriter{func(s gapi.Shown) error { return l.Add(newObservationJSON(s)) }, l.Close}, err
	}
	one := func(s gapi.Shown) error {
		return f.output.Write(w, newObservationJSON(s), func(w io.Writer) error { return manifest.Write(w, s) })
	}
	return observationWriter{one, func() error { return nil }}, nil
}

// writeAgain writes one thing of a series: JSON on one line, YAML as a document of its
// own.
// It is for --watch, whose reader takes one state after the other.
func (f *resourceFlags) writeAgain(w io.Writer, s gapi.Shown) error {
	if f.output.Form() != "yaml" {
		return f.output.Item(w, newObservationJSON(s), func(w io.Writer) error { return manifest.Write(w, s) })
	}
	if _, err := io.WriteString(w, "---\n"); err != nil {
		return err
	}
	y := yaml.NewWriter(w)
	if err := y.Add(s); err != nil {
		return err
	}
	return y.Close()
}

// observationJSON is a thing in JSON.
type observationJSON struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Absent bool   `json:"absent,omitempty"` // there is no such thing
	// Parameters can be set again. They are in the order in which the kind declares them.
	Parameters orderedJSON `json:"parameters,omitempty"` // in the order of the kind
	ReadOnly   orderedJSON `json:"read_only,omitempty"`
	// Secret names the parameters that have a value which is not shown.
	Secret []string `json:"secret,omitempty"` // parameters that are not shown
}

// newObservationJSON describes a thing: secrets by their names only, and read-only values
// apart, so the rest can be given back.
func newObservationJSON(s gapi.Shown) observationJSON {
	j := observationJSON{Kind: s.Kind, Name: s.Name, Absent: s.Absent}
	for _, a := range s.Attrs {
		switch {
		case a.Hidden:
			j.Secret = append(j.Secret, a.Key)
		case a.ReadOnly:
			j.ReadOnly = append(j.ReadOnly, a)
		default:
			j.Parameters = append(j.Parameters, a)
		}
	}
	return j
}

// orderedJSON is an object whose keys keep their order.
type orderedJSON []gapi.ShownAttr

// MarshalJSON writes the object.
func (o orderedJSON) MarshalJSON() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	// Characters such as < stay as they are: no browser reads it.
	enc.SetEscapeHTML(false)
	for i, a := range o {
		buf.WriteByte("{,"[min(i, 1)])
		if err := enc.Encode(a.Key); err != nil {
			return nil, err
		}
		buf.WriteByte(':')
		if err := enc.Encode(plainJSON(a.Value)); err != nil {
			return nil, err
		}
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

// plainJSON returns a plain value in the types of a graph. Text outside of UTF-8 is an
// object with the key base64.
// JSON text must be UTF-8, so other bytes are encoded in base64. Numbers of the kinds
// keep their form.
// A secret has the text of its redaction, which NotationText gives.
func plainJSON(v any) any {
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(v))}
		}
		return v
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plainJSON(v[i])
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, x := range v {
			m[key] = plainJSON(x)
		}
		return m
	default:
		if text, ok := gapi.NotationText(v); ok {
			return text
		}
		return v
	}
}
