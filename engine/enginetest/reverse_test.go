package enginetest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/traits"
)

// undoable is a file that can be undone; no text is no file.
type undoable struct {
	traits.Base
	traits.Reversible

	Path string `yaml:"path"`
	Text string `yaml:"text"`
	Bug  string `yaml:"bug"`

	init *engine.Init
}

func (u *undoable) Default() engine.Res         { return &undoable{} }
func (u *undoable) Validate() error             { return nil }
func (u *undoable) Init(i *engine.Init) error   { u.init = i; return nil }
func (u *undoable) Cleanup() error              { return nil }
func (u *undoable) Watch(context.Context) error { return nil }
func (u *undoable) Cmp(o engine.Res) error      { return engine.CmpFields(u, o) }

func (u *undoable) text() (string, error) {
	data, err := os.ReadFile(u.Path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(data), err
}

func (u *undoable) CheckApply(_ context.Context, apply bool) (bool, error) {
	has, err := u.text()
	if err != nil || has == u.Text && u.Bug != "undo never rests" {
		return err == nil, err
	}
	u.init.Change(engine.Change{Field: "text", From: has, To: u.Text})
	if !apply && u.Bug != "undo alters" {
		return false, nil
	}
	if u.Text == "" {
		return false, os.Remove(u.Path)
	}
	return false, os.WriteFile(u.Path, []byte(u.Text), 0o600)
}

func (u *undoable) Read(context.Context) (engine.Res, error) {
	has, err := u.text()
	if err != nil || has == "" {
		return nil, err
	}
	got := &undoable{Path: u.Path, Text: has}
	got.SetKind(u.Kind())
	got.SetName(u.Name())
	return got, nil
}

func (u *undoable) Reversed(was engine.Res) (engine.Res, error) {
	switch {
	case u.Bug == "undoes something else":
		return &undoable{Path: u.Path, Text: "else"}, nil
	case u.Bug == "Reversed panics":
		panic("oh")
	case u.Bug == "undo is not possible":
		return nil, errors.New("no")
	case was == nil:
		return &undoable{Path: u.Path, Bug: u.Bug}, nil
	}
	return &undoable{Path: u.Path, Text: was.(*undoable).Text, Bug: u.Bug}, nil
}

// TestLawReverse: the law holds for who keeps it, and is broken by who does not.
func TestLawReverse(t *testing.T) {
	reg := engine.NewRegistry()
	if err := reg.Register("undoable", func() engine.Res { return &undoable{} }); err != nil {
		t.Fatal(err)
	}
	for bug, want := range map[string]string{
		"": "", "undo is not possible": "",
		"undoes something else": "Read shows something else",
		"Reversed panics":       "Reversed panicked",
		"undo alters":           "CheckApply(false) altered something",
		"undo never rests":      "after it was undone",
	} {
		for _, before := range []string{"", "before"} {
			s := Suite{
				Kind: "undoable", Registry: reg,
				Prepare: func(t *testing.T, dir string) {
					if before == "" {
						return
					}
					if err := os.WriteFile(filepath.Join(dir, "f"), []byte(before), 0o600); err != nil {
						t.Fatal(err)
					}
				},
				New: func(_ *testing.T, dir string) engine.Res {
					return &undoable{Path: filepath.Join(dir, "f"), Text: "now", Bug: bug}
				},
			}
			err := law{"reverse", lawReverse}.run(t, s)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) && before != "") {
				t.Errorf("%q, before %q: %v", bug, before, err)
			}
		}
	}
}
