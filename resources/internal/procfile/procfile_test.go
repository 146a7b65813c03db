package procfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Whether changes are seen is tested where there are some: with the kinds mount and
// hostname, in namespaces of their own.
func TestFollow(t *testing.T) {
	f, err := Follow("/proc/self/mountinfo", func() (string, error) { return "the same", nil })
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	select {
	case <-f.C():
		t.Error("a change that was none")
	default:
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	for path, look := range map[string]error{plain: nil, plain + "x": nil, "/proc/self/mountinfo": broken} {
		if f, err := Follow(path, func() (string, error) { return "", look }); err == nil {
			f.Close()
			t.Errorf("%s is followed", path)
		}
	}
}
