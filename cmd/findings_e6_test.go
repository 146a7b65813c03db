package cmd

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFindingE6NotMade: what could not be made is not told as made.
func TestFindingE6NotMade(t *testing.T) {
	for _, features := range []string{"features: [simple_get_filter]\n", ""} { // the other provider lists all
		notMade(t, features)
	}
}

func notMade(t *testing.T, features string) {
	t.Helper()
	for name, noted := range map[string]string{
		"it fails": "#!/bin/sh\n[ $1 = get ] || { cat >/dev/null; echo no room >&2; exit 3; }\n",
		"it lies":  "#!/bin/sh\n[ $1 = get ] && echo '[]' || echo '{\"title\": \"milk\", \"status\": \"created\"}'\n",
	} {
		b := newBoard(t)
		b.put(t, "types/note.yaml", features+b.text("types/note.yaml"))
		b.put(t, "noted", noted)
		b.put(t, "graph.yaml", "resources:\n  note:\n  - {name: milk, text: x}\n")
		code, out := b.mgmt(t, "run", filepath.Join(b.dir, "graph.yaml"), "--tmp-prefix", "--converged-exit", "--converged-timeout", "0")
		if code != 4 || strings.Contains(out, "INFO note[milk] created") || !strings.Contains(out, "note[milk] failed") {
			t.Errorf("%s: it ends with %d, and says\n%s", name, code, out)
		}
	}
}

// TestFindingE6CompositeName: a message about a thing with several namevars has all of them.
func TestFindingE6CompositeName(t *testing.T) {
	b := newBoard(t)
	b.put(t, "types/pair.yaml", `name: pair
docs: A pair.
attributes:
  a: {type: String, docs: One., kind: namevar}
  b: {type: String, docs: Other., kind: namevar}
get: [/bin/true]
set: [/bin/true]
`)
	b.put(t, "graph.yaml", "resources:\n  pair:\n  - {name: one, a: x/y, b: z}\n  - {name: two, a: x/y, b: z}\n  - {name: three, a: x, b: y/z}\n")
	code, out := b.mgmt(t, "validate", filepath.Join(b.dir, "graph.yaml"))
	if code != 1 || !strings.Contains(out, `both are the pair a="x/y", b="z"`) || strings.Contains(out, "three") {
		t.Errorf("it ends with %d, and says\n%s", code, out)
	}
}
