package entries

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// TestFindingD7ValidateEdit: what edits a part of a file has the whole of it checked.
func TestFindingD7ValidateEdit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	kindtest.Put(t, path, "a\n")
	line := &Line{File: path, Content: "b", ValidateCmd: "sh -c 'grep -q c % || { echo no c; exit 1; }'"}
	f := kindtest.Begin(t, "line", line, enginetest.WithHost(kindtest.NewHost(t)))
	if got := kindtest.Verbs(t, f, line, true); !strings.HasSuffix(got, "so the old one stays: no c") {
		t.Error(got)
	}
	kindtest.Alone(t, path, "a\n")
	line.Content = "c"
	if got := kindtest.Verbs(t, f, line, true); strings.Contains(got, "error") {
		t.Error(got)
	}
	kindtest.Alone(t, path, "a\nc\n")

	ini := kindtest.Filled(t, iniKindHere(t), path+" [main] port", map[string]any{"value": "80", "validate": "grep -q nothing"})
	f = kindtest.Begin(t, "ini_setting", ini, enginetest.WithHost(kindtest.NewHost(t)))
	if got := kindtest.Verbs(t, f, ini, true); !strings.Contains(got, "grep refuses the new file (exit status 1), so the old one stays") {
		t.Error(got)
	}
	kindtest.Alone(t, path, "a\nc\n")
}

// TestFindingE5KeepClash: what edits a file that was made once does not clash with it.
func TestFindingE5KeepClash(t *testing.T) {
	content := "made"
	f := &file.Res{Path: "/x", Content: &content, Keep: true}
	line := &Line{File: "/x", Content: "a"}
	if err := f.Clashes(line); err != nil {
		t.Error(err)
	}
	if err := line.Clashes(f); err != nil {
		t.Error(err)
	}
	f.Keep = false
	if err := line.Clashes(f); err == nil {
		t.Error("they undo each other")
	}
}
