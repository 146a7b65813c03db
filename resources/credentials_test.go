package resources

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/enginetest"
)

func TestIsCredential(t *testing.T) {
	t.Setenv("CREDENTIALS_DIRECTORY", "/x/creds")
	for path, want := range map[string]bool{
		"/run/credentials/mgmt.service/app": true, "/run/credentials/": true, "/x/creds/app": true, "/x/creds/": true, "/x/creds/../creds/a": true,
		"/run/credentialsx/app": false, "/x/creds2/app": false, "/x/creds/../app": false, "/etc/app": false, "": false,
	} {
		if got := isCredential([]string{"/etc/first", path}); got != want {
			t.Errorf("%q: %t", path, got)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	if isCredential([]string{"/etc/app"}) || isCredential(nil) {
		t.Error("without the folder everything is a credential")
	}
}

// TestFileFromCredential: a credential is shown nowhere, and its copy is for nobody
// else.
func TestFileFromCredential(t *testing.T) {
	const canary = "canary-7b1e"
	creds, dir := t.TempDir(), t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", creds)
	if err := os.WriteFile(filepath.Join(creds, "app"), []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &FileRes{Path: filepath.Join(dir, "copy"), Source: filepath.Join(creds, "app")}
	r.SetKind("file")
	r.SetName(r.Path)
	shared := newFileShared()
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
