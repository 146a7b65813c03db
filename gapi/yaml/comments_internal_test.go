package yaml

import (
	"slices"
	"strings"
	"testing"
)

// What looks like a comment inside a text is none.
func TestComments(t *testing.T) {
	src := strings.Join([]string{
		`# head`,
		`a: "x # 1" # double`,
		`b: 'it''s # 2' # single`,
		`c: "over`,
		`  lines # 3`,
		`  \" # 4" # end`,
		`d: | # block`,
		`  # 5`,
		`   # 6`,
		``,
		`  # 7`,
		`e: >- # folded`,
		`  x`,
		`  # 8`,
		`f: !!str "# 9" # tagged`,
		`g: &x '# 10' # anchored`,
		`h: [a, "b # 11", c#d] # flow`,
		`i: plain "text # after a quote`,
		`j: |`,
		``,
		`# after nothing`,
		`"k # 12": 日本 # key`,
		`日本: "# 13" # wide`,
	}, "\n") + "\n"
	doc, err := document([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"# head", "# double", "# single", "# end", "# block", "# folded", "# tagged", "# anchored", "# flow", "# after a quote",
		"# after nothing", "# key", "# wide",
	}
	if got := slices.Collect(comments([]byte(src), doc)); !slices.Equal(got, want) {
		t.Errorf("found %q", got)
	}
}
