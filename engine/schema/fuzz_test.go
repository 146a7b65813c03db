package schema_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// builder makes a Node of bytes: any shape, any text, also what no frontend makes.
type builder struct {
	data []byte
	left int
}

func (b *builder) next() byte {
	if len(b.data) == 0 {
		return 0
	}
	c := b.data[0]
	b.data = b.data[1:]
	return c
}

func (b *builder) text() string {
	n := min(int(b.next()%24), len(b.data))
	s := string(b.data[:n])
	b.data = b.data[n:]
	return s
}

var fuzzKeys = typeKeys()

func typeKeys() []string {
	return []string{"owner", "group", "path", "state", "content", "langkey", "force", "small", "port", "huge", "ratio", "thin", "delay", "shift", "limit",
		"mode", "after", "token", "when", "raw", "args", "env", "items", "sub", "maybe", "free", "name", "count"}
}

func (b *builder) node(depth int) *schema.Node {
	b.left--
	if b.left < 0 || depth > 40 {
		return nil
	}
	n := &schema.Node{Kind: schema.NodeKind(b.next() % 9), Text: ""}
	switch n.Kind {
	case schema.NodeList:
		for range b.next() % 5 {
			n.Items = append(n.Items, b.node(depth+1))
		}
	case schema.NodeMap:
		for range b.next() % 8 {
			key := fuzzKeys[int(b.next())%len(fuzzKeys)]
			if b.next()%8 == 0 {
				key = b.text()
			}
			n.Pairs = append(n.Pairs, schema.Pair{Key: key, Value: b.node(depth + 1)})
		}
	default:
		n.Text = b.text()
	}
	return n
}

// FuzzDecode: no Node makes Decode, Value or NodeOf panic; Value refuses what
// Decode refuses; and what Decode takes goes round.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{6, 3, 15, 1, 2, 4, '0', '6', '4', '4', 12, 1, 4, 2, '5', 's', 3, 1, 4, 6, 'e', 'x', 'i', 's', 't', 's'})
	f.Add([]byte{6, 2, 25, 1, 5, 3, 3, 3, '1', 'e', '9', 0, 6, 1, 0, 0, 3, 'a', '.', 'b', 4, 1, 'x', 7, 8})
	f.Fuzz(func(t *testing.T, data []byte) {
		b := builder{data: data, left: 200}
		n := b.node(0)
		var k kitchen
		ds := schema.Decode(n, &k)
		_, vs := schema.Value(typeOf[kitchen](t), n)
		if (ds.Err() == nil) != (vs.Err() == nil) {
			t.Fatalf("Decode: %v\nValue: %v", ds, vs)
		}
		var free any
		schema.Decode(n, &free)
		all, err := schema.EncodeAll(&k)
		if err != nil {
			t.Fatal(err)
		}
		again, err := schema.NodeOf(all)
		if err != nil {
			t.Fatal(err)
		}
		var back kitchen
		for _, d := range schema.Decode(again, &back) {
			if d.Path != "port" && d.Path != "sub.name" && d.Path != "maybe.name" && d.Path != "state" { // zero is outside of their bounds
				t.Fatalf("does not go round: %v", d)
			}
		}
	})
}

func FuzzNotations(f *testing.F) {
	for _, s := range []string{"0644", "u=rwX,go=rX", "10MiB", "1d12h", "file[a].b", `env["a.b"][0].c`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if m, err := schema.ParseMode(s); err == nil {
			if again, err := schema.ParseMode(string(m)); err != nil || again != m {
				t.Errorf("mode %q: %q, %v", m, again, err)
			}
			if _, err := m.Apply(0o644, false); err != nil {
				t.Error(err)
			}
		}
		if n, err := schema.ParseSize(s); err == nil {
			if again, err := schema.ParseSize(n.String()); err != nil || again != n {
				t.Errorf("size %q: %v, %v", s, again, err)
			}
		}
		if d, err := schema.ParseDuration(s, "ms"); err == nil {
			if again, err := schema.ParseDuration(schema.FormatDuration(d), "ms"); err != nil || again != d {
				t.Errorf("duration %q: %v, %v", s, again, err)
			}
		}
		if r, err := schema.ParseRef(s); err == nil && r.String() != s {
			t.Errorf("reference %q: %q", s, r)
		}
		_, _, _ = typeOf[kitchen](t).At(s)
		_, _ = schema.Get(&kitchen{}, s)
		_ = schema.Set(&kitchen{}, s, s)
		_ = schema.Nearest(s, []string{"state", s})
	})
}
