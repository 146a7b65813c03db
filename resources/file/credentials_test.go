package file

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/files"
)

// TestFileFromCredential: a credential is shown nowhere, and its copy is for nobody
// else.
func TestFileFromCredential(t *testing.T) {
	const canary = "canary-7b1e"
	creds, dir := t.TempDir(), t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", creds)
	if err := os.WriteFile(filepath.Join(creds, "app"), []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &Res{Path: filepath.Join(dir, "copy"), Source: filepath.Join(creds, "app")}
	r.SetKind("file")
	r.SetName(r.Path)
	shared := files.New(nil)
	defer func() {
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
	}()
	fake := enginetest.NewInit(t, enginetest.WithShared(shared))
	if err := r.Init(fake.Init()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Cleanup(); err != nil {
			t.Error(err)
		}
	}()
	if ok, err := r.CheckApply(context.Background(), true); ok || err != nil {
		t.Fatalf("CheckApply: %t, %v", ok, err)
	}
	if shown := fmt.Sprint(fake.Changes()); strings.Contains(shown, canary) || !strings.Contains(shown, "(secret)") {
		t.Errorf("shown: %s", shown)
	}
	text, err := os.ReadFile(r.Path)
	if err != nil || string(text) != canary {
		t.Errorf("%q, %v", text, err)
	}
	if st, err := os.Stat(r.Path); err != nil || st.Mode() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

// TestFindingD8FileWatchesOwn: a file whose source names the credential of another service
// reads and watches the own one.
func TestFindingD8FileWatchesOwn(t *testing.T) {
	own := t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", own)
	if err := os.WriteFile(filepath.Join(own, "app"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &Res{Path: "/tmp/x", Source: "/run/credentials/mgmt.service/app"}
	if paths, _ := r.watched(); !slices.Contains(paths, filepath.Join(own, "app")) {
		t.Errorf("it watches %q", paths)
	}
}
