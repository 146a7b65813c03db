package schema_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestWholeJSONNumbers: each number that encoding/json reads is a float64. Where it is whole, it is
// a length of time in the unit of the field, or a number of bytes, as a bare integer of YAML is.
func TestWholeJSONNumbers(t *testing.T) {
	type thing struct {
		Wait time.Duration `yaml:"wait"`
		Slow time.Duration `yaml:"slow" mgmt:"unit=ms"`
		Room schema.Size   `yaml:"room"`
	}
	for text, want := range map[string]struct {
		thing
		wrong string
	}{
		`{"wait": 30, "slow": 500, "room": 4096}`: {thing: thing{30 * time.Second, 500 * time.Millisecond, 4096}},
		`{"wait": 3e2, "room": 1e3}`:              {thing: thing{Wait: 300 * time.Second, Room: 1000}},
		`{"wait": 0, "slow": -0.0}`:               {},
		`{"wait": 1.5}`:                           {wrong: "wait must be"},
		`{"room": 0.5}`:                           {wrong: "room must be"},
		`{"room": 1e16}`:                          {wrong: "room must be"}, // not exact
	} {
		var values any
		if err := json.Unmarshal([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
		n, err := schema.NodeOf(values)
		if err != nil {
			t.Fatal(err)
		}
		var got thing
		diags := schema.Decode(n, &got)
		switch {
		case want.wrong != "":
			if err := diags.Err(); err == nil || !strings.Contains(err.Error(), want.wrong) {
				t.Errorf("%s: %v, want %q", text, err, want.wrong)
			}
		case len(diags) > 0 || got != want.thing:
			t.Errorf("%s: %+v, %v", text, got, diags)
		}
	}
}
