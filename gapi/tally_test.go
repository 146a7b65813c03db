package gapi_test

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/gapi"
)

// TestFindingE5Tally: the tally counts the resources of a text, and nothing else of it.
func TestFindingE5Tally(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		inside bool
		want   int
	}{
		"a catalog":            {`{"name":"x","resources":[{"type":"A"},{"type":"B"}],"edges":[{"source":"A"}]}`, false, 2},
		"wrapped":              {`{"document_type":"Catalog","data":{"tags":["a"],"resources":[{},{}]}}`, false, 2},
		"what is in resources": {`{"resources":[{"parameters":{"list":[{"a":1},{"b":[{}]}]}}]}`, false, 1},
		"a key of a resource":  {`{"resources":[{"parameters":{"resources":[{},{}]}}]}`, false, 1},
		"text":                 {`{"resources":[{"title":"[{[{\"[{"},{"title":"\\"},{"a":"}]}"}]}`, false, 3},
		"edges":                {`{"edges":[{},{}]}`, false, 0},
		"a graph":              {`{resources: {print: [{name: a}, {name: it's}, {name: 'it''s [{'}], file: [{name: b}]}, edges: [{name: c}]}`, false, 4},
		"a graph of JSON":      {`{"resources":{"print":[{"name":"a","with":[{"x":[{}]}]}]}}`, false, 1},
		"a list":               {`[{name: a}, {name: b}] # [{}]`, true, 2},
		"kinds":                {`{print: [{name: a}], file: [{name: b}]}`, true, 2},
		"it does not end":      {`{"resources":[{},{`, false, 2},
		"it ends too often":    {`{}}]`, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for most := range c.want + 2 {
				tally := gapi.Tally{Left: most}
				end, beyond := tally.Count([]byte(c.text), 0, c.inside)
				if got := beyond >= 0; got != (most < c.want) {
					t.Errorf("of %d: %d, %d", most, end, beyond)
				}
				if beyond >= 0 && c.text[beyond] != '{' {
					t.Errorf("of %d: %q is no resource", most, c.text[beyond:])
				}
			}
			tally := gapi.Tally{Left: 100}
			if end, _ := tally.Count([]byte(c.text), 0, c.inside); strings.Trim(c.text[end:], "}] #[{") != "" {
				t.Errorf("the value ends before %q", c.text[end:])
			}
		})
	}
}
