package schema_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"text/template"

	"github.com/reactivegraph/mgmt/engine/schema"
)

const canary = "canary-in-the-mine"

// holder keeps secrets in every place that a struct has for them.
type holder struct {
	Open   schema.Secret
	hidden schema.Secret
	Ptr    *schema.Secret
	ptr    *schema.Secret
	List   []schema.Secret
	list   []any
	Map    map[string]schema.Secret
	byKey  map[schema.Secret]int
	Any    any
	face   fmt.Stringer
	Inner  struct{ inner schema.Secret }
	arr    [1]schema.Secret
	Err    error
	Embed
}

// Embed embeds the secret, and with it its methods.
type Embed struct{ schema.Secret }

func secrets() *holder {
	s := schema.NewSecret(canary)
	h := &holder{
		Open:   s,
		hidden: s,
		Ptr:    &s,
		ptr:    &s,
		List:   []schema.Secret{s},
		list:   []any{s, &s},
		Map:    map[string]schema.Secret{"k": s},
		byKey:  map[schema.Secret]int{s: 1},
		Any:    s,
		face:   s,
		arr:    [1]schema.Secret{s},
		Err:    fmt.Errorf("wrapped %v %+v %#v %s %q %x", s, s, s, s, s, s),
		Embed:  Embed{s},
	}
	h.Inner.inner = s
	return h
}

// hexCanary is how a verb such as %x would show it.
var hexCanary = fmt.Sprintf("%x", canary)

func leaks(t *testing.T, how, out string) {
	t.Helper()
	low := strings.ToLower(out)
	for _, bad := range []string{canary, hexCanary, fmt.Sprint([]byte(canary))} {
		if strings.Contains(low, bad) {
			t.Errorf("%s shows the secret: %s", how, out)
		}
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	h := secrets()
	type plain holder // without the methods that Embed brings
	values := map[string]any{
		"itself":       h.Open,
		"pointer":      h.Ptr,
		"holder":       h,
		"holder value": *h,
		"plain":        (*plain)(h),
		"plain value":  plain(*h),
		"nested":       map[string]any{"x": []any{plain(*h), h.Open}},
		"type":         struct{ S secretAlias }{secretAlias(h.Open)},
	}
	for name, v := range values {
		for verb := range strings.SplitSeq("v +v #v s q x X d t T p b o c U e g 10s -10v .3s 010d # +d", " ") {
			leaks(t, name+" %"+verb, fmt.Sprintf("%"+verb, v))
		}
		leaks(t, name+" Sprint", fmt.Sprint(v, v))
		leaks(t, name+" Errorf", fmt.Errorf("a: %v", v).Error())
		leaks(t, name+" DeepEqual message", fmt.Sprintf("%v", reflect.ValueOf(v)))
		if b, err := json.Marshal(v); err == nil {
			leaks(t, name+" json", string(b))
		}
		for _, handler := range []func(*bytes.Buffer) slog.Handler{
			func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
			func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
		} {
			var b bytes.Buffer
			slog.New(handler(&b)).With("with", v).WithGroup("g").Info("m", "v", v, slog.Group("h", "v", v), "e", errors.New(fmt.Sprint(v)))
			leaks(t, name+" slog", b.String())
		}
		var b bytes.Buffer
		if err := template.Must(template.New("").Parse("{{.}} {{printf \"%s\" .}}")).Execute(&b, v); err == nil {
			leaks(t, name+" template", b.String())
		}
	}
}

type secretAlias schema.Secret

func TestSecretIsNeverEncoded(t *testing.T) {
	s := struct{ S schema.Secret }{schema.NewSecret(canary)}
	j, err := json.Marshal(s)
	if err != nil || string(j) != `{"S":"(secret)"}` {
		t.Errorf("json: %s, %v", j, err)
	}
	x, err := xml.Marshal(s.S)
	if err != nil {
		t.Fatal(err)
	}
	leaks(t, "xml", string(x))
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(s); err == nil {
		leaks(t, "gob", b.String())
	}
	n, err := schema.NodeOf(map[string]any{"k": []any{s.S}, "s": &s})
	if err != nil {
		t.Fatal(err)
	}
	var walk func(*schema.Node)
	walk = func(n *schema.Node) {
		leaks(t, "node", fmt.Sprintf("%v %+v %#v", *n, n, n))
		j, _ := json.Marshal(n)
		leaks(t, "node as json", string(j))
		for _, p := range n.Pairs {
			walk(p.Value)
		}
		for _, i := range n.Items {
			walk(i)
		}
	}
	walk(n)
}

// TestSecretIsNotInFindings puts the canary where each kind of value is wanted.
func TestSecretIsNotInFindings(t *testing.T) {
	ty := typeOf[kitchen](t)
	for _, f := range ty.Fields {
		for _, v := range []any{schema.NewSecret(canary), []any{schema.NewSecret(canary)}, map[string]any{"name": schema.NewSecret(canary), "x": schema.NewSecret(canary)}} {
			leaks(t, "Check of "+f.Key, schema.Check(ty, map[string]any{f.Key: v}).Error())
			if err := schema.Set(&kitchen{}, f.Key, v); err != nil {
				leaks(t, "Set of "+f.Key, err.Error())
			}
		}
	}
	// A secret field that gets the canary as plain text in a graph.
	type tight struct {
		S schema.Secret `mgmt:"max=3"`
		T schema.Secret
	}
	var v tight
	ds := schema.Decode(dict("s", str(canary), "t", list(str(canary))), &v)
	if len(ds) != 2 {
		t.Fatal(ds)
	}
	leaks(t, "Decode", fmt.Sprintf("%v %+v %#v", ds, ds, ds))
}

func TestSecret(t *testing.T) {
	a, b := schema.NewSecret("a"), schema.NewSecret("b")
	if !a.Equal(schema.NewSecret("a")) || a.Equal(b) || a.Equal(schema.Secret{}) || !(schema.Secret{}).Equal(schema.NewSecret("")) {
		t.Error("Equal is wrong")
	}
	if a.String() != schema.Redacted || (schema.Secret{}).String() != "" || !schema.NewSecret("").IsZero() || a.IsZero() || a.Reveal() != "a" {
		t.Error("a method is wrong")
	}
	if fmt.Sprintf("%#v|%d|%s", a, a, schema.Secret{}) != "(secret)|(secret)|" {
		t.Error("the verbs differ")
	}
}
