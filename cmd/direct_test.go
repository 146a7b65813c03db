package cmd

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine/deploy"
)

// TestDirectStoreLeavesNothing: a verb that asks a store itself leaves no goroutine behind, also where the store cannot be
// opened, and has written its warnings when it returns.
func TestDirectStoreLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	key := filepath.Join(t.TempDir(), "deploy.key")
	made, err := deploy.NewKey()
	if err == nil {
		err = deploy.WriteKey(key, made)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"deploys", "--world", "etcd://nonsense"},
		{"hosts", "--world", "etcd://nonsense"},
		{"api", "kinds", "--world", "etcd://nonsense"},
		{"hosts", "remove", "web1", "--world", "etcd://nonsense", "--sign", key},
	} {
		var out, errs bytes.Buffer
		a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &errs}
		if code := execute(t.Context(), a, args); code != cli.ExitUsage || !strings.Contains(errs.String(), "HOST:PORT") {
			t.Errorf("%q: code %d, standard error %q", args, code, errs.String())
		}
	}
	goleak.VerifyNone(t, before)
}
