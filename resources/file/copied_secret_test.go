package file

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/files"
)

// TestFileCopiedFromASecret: what is copied from a file that received a secret is
// shown as little as the secret itself, and others may not read it.
func TestFileCopiedFromASecret(t *testing.T) {
	const canary = "canary-51f0"
	dir := t.TempDir()
	shared := files.New(nil)
	defer func() {
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
	}()
	run := func(r *Res, recv map[string]*engine.Send) string {
		t.Helper()
		r.SetKind("file")
		r.SetName(r.Path)
		fake := enginetest.NewInit(t, enginetest.WithShared(shared))
		fake.SetRecv(recv)
		if err := r.Init(fake.Init()); err != nil {
			t.Fatal(err)
		}
		ok, err := r.CheckApply(context.Background(), true)
		if ok || err != nil {
			t.Fatalf("CheckApply: %t, %v", ok, err)
		}
		defer func() {
			if err := r.Cleanup(); err != nil {
				t.Error(err)
			}
		}()
		st, err := os.Stat(r.Path)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(fake.Changes(), st.Mode().Perm())
	}
	text := canary
	first := &Res{Path: filepath.Join(dir, "first"), Content: &text}
	first.SetKind("file")
	first.SetName(first.Path)
	fake := enginetest.NewInit(t, enginetest.WithShared(shared))
	fake.SetRecv(map[string]*engine.Send{"content": {Key: "password", Secret: true}})
	if err := first.Init(fake.Init()); err != nil {
		t.Fatal(err)
	}
	if _, err := first.CheckApply(context.Background(), true); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Res{
		{Path: filepath.Join(dir, "copy"), Source: first.Path},
		{Path: filepath.Join(dir, "joined"), Fragments: []string{first.Path}},
	} {
		said := run(r, nil)
		if got, err := os.ReadFile(r.Path); err != nil || string(got) != canary {
			t.Errorf("%s holds %q, %v", r.Path, got, err)
		}
		if strings.Contains(said, canary) || !strings.HasSuffix(said, "-rw-------") {
			t.Errorf("%s: %s", r.Path, said)
		}
	}
}
