package seal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/seal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const canary = "CANARY-7a31 ü\x00"

func newIdentity(t *testing.T) seal.Identity {
	t.Helper()
	i, err := seal.New()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestSeal: each recipient reads the text, and no other host does.
func TestSeal(t *testing.T) {
	a, b, other := newIdentity(t), newIdentity(t), newIdentity(t)
	text, err := seal.Seal([]string{a.Recipient(), b.Recipient()}, canary)
	if err != nil || !seal.Is(text) || strings.Contains(text, "CANARY") {
		t.Fatalf("sealed is %s: %v", text, err)
	}
	for _, i := range []seal.Identity{a, b} {
		if clear, err := i.Unseal(text); err != nil || clear != canary {
			t.Errorf("%v reads %q: %v", i, clear, err)
		}
	}
	for _, i := range []seal.Identity{other, {}} {
		if clear, err := i.Unseal(text); !errors.Is(err, seal.ErrNotForUs) || clear != "" {
			t.Errorf("%v reads %q: %v", i, clear, err)
		}
	}
	for _, damaged := range []string{"ENC[age,]", "ENC[age,!]", text[:len(text)/2] + "]", strings.Replace(text, text[len(text)-9:], "AAAAAAA=]", 1)} {
		if clear, err := a.Unseal(damaged); err == nil || clear != "" || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("a damaged text is %q: %v", clear, err)
		}
	}
	if clear, err := a.Unseal("plain"); err != nil || clear != "plain" {
		t.Errorf("a plain text is %q: %v", clear, err)
	}
	if _, err := seal.Seal(nil, canary); !errors.Is(err, seal.ErrNoReader) {
		t.Errorf("without recipients: %v", err)
	}
	if _, err := seal.Seal([]string{"x"}, canary); err == nil {
		t.Error("a wrong recipient is taken")
	}
}

// TestIdentityFile: the file is made once, for its owner alone, and the identity is never printed.
func TestIdentityFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "age.key")
	i, err := seal.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v: %v", info, err)
	}
	again, err := seal.Open(path, nil)
	if err != nil || again.Recipient() != i.Recipient() {
		t.Errorf("it comes back as %v: %v", again, err)
	}
	if text := fmt.Sprintf("%v %+v %#v", i, i, i); strings.Contains(text, "SECRET") || !strings.Contains(text, "age1") {
		t.Errorf("it is printed as %s", text)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := seal.Open(path, nil); !errors.Is(err, seal.ErrOpenIdentity) {
		t.Errorf("an open file is read: %v", err)
	}
	if err := os.WriteFile(path, []byte("AGE-SECRET-KEY-1CANARY"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := seal.Open(path, nil); err == nil || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("a damaged file: %v", err)
	}
}
