package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine/safepath"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree makes a folder of everything that there can be.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir() + "/in"
	must(t, os.MkdirAll(dir+"/sub/empty", 0o755))
	must(t, os.WriteFile(dir+"/b", []byte("bee"), 0o640))
	must(t, os.WriteFile(dir+"/a", nil, 0o600))
	must(t, os.WriteFile(dir+"/sub/c", bytes.Repeat([]byte("c"), 100_000), 0o755))
	must(t, os.Symlink("/etc/nothing", dir+"/sub/link"))
	must(t, unix.Mkfifo(dir+"/pipe", 0o600))
	stamp := time.Date(2020, 1, 2, 3, 4, 5, 678, time.UTC)
	for _, p := range []string{"/a", "/b", "/sub/c", "/sub/empty", "/sub", ""} {
		must(t, os.Chtimes(dir+p, stamp, stamp))
	}
	return dir
}

func packed(t *testing.T, format string, inputs ...string) []byte {
	t.Helper()
	entries, err := Walk(t.Context(), safepath.System(), inputs)
	must(t, err)
	var b bytes.Buffer
	must(t, Pack(t.Context(), safepath.System(), &b, Formats[format], entries))
	return b.Bytes()
}

// names lists an archive: each thing with what is to be known of it.
func names(t *testing.T, data []byte) string {
	t.Helper()
	var all []string
	r := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(all, " ")
		}
		must(t, err)
		body, err := io.ReadAll(r)
		must(t, err)
		if h.Uname != "" || h.Gname != "" || h.Uid != os.Geteuid() {
			t.Errorf("the owner of %s is %q %d", h.Name, h.Uname, h.Uid)
		}
		s := fmt.Sprintf("%s:%o:%d", h.Name, h.Mode, len(body))
		if h.Linkname != "" {
			s = h.Name + "->" + h.Linkname
		}
		all = append(all, s)
	}
}

func TestPack(t *testing.T) {
	dir := tree(t)
	const all = "a:600:0 b:640:3 sub/:755:0 sub/c:755:100000 sub/empty/:755:0 sub/link->/etc/nothing"
	for format := range Formats {
		if got := names(t, packed(t, format, dir+"/")); got != all {
			t.Errorf("%q: %s", format, got)
		}
	}
	if got := names(t, packed(t, "", dir)); got != "in/:755:0 in/"+strings.ReplaceAll(all, " ", " in/") {
		t.Error(got)
	}
	if got := names(t, packed(t, "", dir+"/b", dir+"/sub/")); got != "b:640:3 c:755:100000 empty/:755:0 link->/etc/nothing" {
		t.Error(got)
	}
	must(t, os.Symlink("b", dir+"/to"))
	if got := names(t, packed(t, "", dir+"/to")); got != "to:640:3" {
		t.Error(got)
	}
}

// The same files give the same bytes, wherever they are and whenever they are packed.
func TestPackIsExact(t *testing.T) {
	a, b := tree(t), tree(t)
	must(t, os.Remove(b+"/sub/link"))
	must(t, os.Symlink("/etc/nothing", b+"/sub/link"))
	for _, p := range []string{a, b} { // of links the time is set apart
		times := []unix.Timespec{{Sec: 7}, {Sec: 7}}
		must(t, unix.UtimesNanoAt(unix.AT_FDCWD, p+"/sub/link", times, unix.AT_SYMLINK_NOFOLLOW))
		stamp := time.Unix(9, 0)
		must(t, os.Chtimes(p+"/sub", stamp, stamp))
	}
	if !bytes.Equal(packed(t, "", a+"/"), packed(t, "", b+"/")) {
		t.Error("equal trees give different archives")
	}
	must(t, os.Chmod(b+"/a", 0o644))
	if bytes.Equal(packed(t, "", a+"/"), packed(t, "", b+"/")) {
		t.Error("another mode gives the same archive")
	}
}

func TestPackRefuses(t *testing.T) {
	dir := tree(t)
	for want, inputs := range map[string][]string{
		"would both be b":  {dir + "/b", dir + "/"},
		"no such file":     {dir + "/none"},
		"is a pipe":        {dir + "/pipe"},
		"would both be in": {dir, dir},
	} {
		if _, err := Walk(t.Context(), safepath.System(), inputs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	for name, alter := range map[string]func(p string) error{
		"longer":  func(p string) error { return os.WriteFile(p, []byte("bees"), 0o600) },
		"shorter": func(p string) error { return os.Truncate(p, 1) },
		"gone":    os.Remove,
		"another": func(p string) error {
			other := filepath.Join(t.TempDir(), "secret")
			return errors.Join(os.WriteFile(other, []byte("key"), 0o600), os.Remove(p), os.Symlink(other, p))
		},
	} {
		dir := tree(t)
		entries, err := Walk(t.Context(), safepath.System(), []string{dir + "/b"})
		must(t, err)
		must(t, alter(dir+"/b"))
		var b bytes.Buffer
		if err := Pack(t.Context(), safepath.System(), &b, 0, entries); err == nil || strings.Contains(b.String(), "key") {
			t.Errorf("%s: %v", name, err)
		}
	}
	entries, err := Walk(t.Context(), safepath.System(), []string{dir + "/"})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Pack(ctx, safepath.System(), io.Discard, 0, entries); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Walk(ctx, safepath.System(), []string{dir + "/"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	long := dir + "/" + strings.Repeat("x", 200)
	must(t, os.WriteFile(long, nil, 0o600))
	entries, err = Walk(t.Context(), safepath.System(), []string{long})
	must(t, err)
	if err := Pack(t.Context(), safepath.System(), io.Discard, Formats["ustar"], entries); err == nil {
		t.Error("a name is cut")
	}
}
