package author

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	_ "github.com/reactivegraph/mgmt/resources/all"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/wire"
)

func newTestApp() *cli.App {
	return &cli.App{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
}

// TestWireOfEveryKind: the type of every kind goes through its written form unharmed: it is equal, it has
// the same defaults and docs, and the bytes are the same again.
func TestWireOfEveryKind(t *testing.T) {
	a := newTestApp()
	all, err := wireOf(a, nil)
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := cli.AllKinds(a)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSuffix(all, []byte("\n")), []byte("\n"))
	if len(lines) != len(kinds) {
		t.Fatalf("%d lines for %d kinds", len(lines), len(kinds))
	}
	for i, k := range kinds {
		back, found := wire.Decode(k.Name, lines[i])
		if len(found) > 0 {
			t.Errorf("%s: %v", k.Name, found)
			continue
		}
		if !back.Equal(k.Type) || back.Name != k.Name {
			t.Errorf("%s: another type came back", k.Name)
		}
		for j, f := range back.Fields {
			if want := k.Type.Fields[j]; f.Doc != want.Doc || f.GoName != want.GoName || f.Alias != want.Alias || !schema.Equal(f.Default, want.Default) && want.Default != nil {
				t.Errorf("%s: %s came back as %+v", k.Name, want.Key, f)
			}
		}
		again, err := wire.Encode(back)
		if err != nil || !bytes.Equal(again, lines[i]) {
			t.Errorf("%s: %v\n%s\n%s", k.Name, err, lines[i], again)
		}
	}
}

// TestTypesPage: the example of the page is read as it stands there.
func TestTypesPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/types.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(page)[1]
	ty, found := wire.Decode("", example)
	if len(found) > 0 {
		t.Fatal(found)
	}
	if err := schema.Set(ty.New(), "fallback", map[string]any{"ports": []any{"8000-8010"}, "fallback": map[string]any{"address": "::1"}}); err != nil {
		t.Error(err)
	}
	if !json.Valid(example) || strings.Contains(string(page), "{{") {
		t.Error("the page is not filled")
	}
}
