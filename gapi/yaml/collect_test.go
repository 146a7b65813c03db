package yaml_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// TestCollect: the items of collect are read with their places, and all that is wrong is told at once.
func TestCollect(t *testing.T) {
	load := func(text string) (got []string, wrong string) {
		d, err := yaml.Load("-", yaml.Options{}, strings.NewReader(text))
		if err != nil {
			return nil, err.Error()
		}
		for _, c := range d.Collects {
			got = append(got, fmt.Sprintf("%d %s %s %s %t", c.Pos.Line, c.Kind, c.Name, c.From, c.Set != nil))
		}
		return got, d.Problems.Error()
	}
	got, wrong := load(`collect:
- {kind: Host, name: "web*", from: "*", set: {ip: 10.0.0.1}, comment: all of them}
- {kind: file, pattern: /etc/*}
`)
	if want := "[2 host web* * true 3 file /etc/*  false]"; fmt.Sprint(got) != want || wrong != "" {
		t.Errorf("%v, want %s; %s", got, want, wrong)
	}
	_, wrong = load(`collect:
- {name: a}
- text
- {kind: file, nmae: x, set: 3}
- {kind: file, name: x, pattern: y}
- {kind: ""}
`)
	for _, want := range []string{
		"2:3: this item of collect has no kind", "3:3: an item of collect is a map", `4:16: unknown key "nmae" in an item of collect (did you mean "name"?)`,
		"4:30: set must be a map", "5:25: pattern is another word for name", "",
	} {
		if !strings.Contains(wrong, want) {
			t.Errorf("%q is not in %s", want, wrong)
		}
	}
}
