package password

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/private"
)

func newPassword(t *testing.T, change func(*Res), o ...enginetest.Option) (*Res, *enginetest.Fake) {
	t.Helper()
	r := (&Res{}).Default().(*Res)
	if change != nil {
		change(r)
	}
	return r, kindtest.Begin(t, "password", r, o...)
}

// sent returns the password that was sent, empty for none.
func sent(f *enginetest.Fake) string {
	if s, ok := f.Sent().(*Sends); ok {
		return s.Password.Reveal()
	}
	return ""
}

// made applies and returns the password, failing the test unless the changes
// are these.
func made(t *testing.T, f *enginetest.Fake, r *Res, what string) string {
	t.Helper()
	if got := kindtest.Verbs(t, f, r, true); got != what {
		t.Fatalf("got %q, want %q", got, what)
	}
	p := sent(f)
	if n := len([]rune(p)); n != r.Length {
		t.Fatalf("%d characters, want %d", n, r.Length)
	}
	for _, line := range f.Logs() {
		if strings.Contains(line, p) {
			t.Errorf("logged %q", line)
		}
	}
	return p
}

// newOne is how the changes tell of a new password with the usual length and characters.
const newOne = "created length: (none) -> 64"

func TestPasswordIsMadeOnce(t *testing.T) {
	r, f := newPassword(t, nil)
	if got := kindtest.Verbs(t, f, r, false); got != newOne || f.Sent() != nil {
		t.Errorf("looking: %q, sent %v", got, f.Sent())
	}
	if _, err := os.Stat(f.VarDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("looking made the folder: %v", err)
	}
	p := made(t, f, r, newOne)
	for range 3 {
		if again := made(t, f, r, ""); again != p {
			t.Fatal("another one")
		}
	}
	kindtest.Verbs(t, f, r, false)
	if sent(f) != p {
		t.Error("looking sends another one, or none")
	}
	info, err := os.Stat(filepath.Join(f.VarDir(), tokenFile))
	if err != nil || info.Mode() != private.Mode {
		t.Errorf("it is kept as %v, %v", info.Mode(), err)
	}
}

// TestPasswordSaysWhatItMakes: the change that tells of a new password is followed by what is known of it, and not by the password.
func TestPasswordSaysWhatItMakes(t *testing.T) {
	r, f := newPassword(t, func(r *Res) { r.Length, r.Charset = 12, "xyz" })
	const want = `created length: (none) -> 12 charset: (none) -> "xyz"`
	if got := kindtest.Verbs(t, f, r, false); got != want {
		t.Errorf("a plan says %q, want %q", got, want)
	}
	made(t, f, r, want)
}

func TestPasswordIsKeptOverRestarts(t *testing.T) {
	dir := enginetest.WithVarDir(filepath.Join(t.TempDir(), "var"))
	r, f := newPassword(t, nil, dir)
	p := made(t, f, r, newOne)
	r, f = newPassword(t, nil, dir)
	if made(t, f, r, "") != p {
		t.Error("another one")
	}
}

func TestPasswordNotSaved(t *testing.T) {
	unsaved := func(r *Res) { r.Saved = false }
	r, f := newPassword(t, unsaved)
	stop := kindtest.Watching(t, f, r)
	defer stop()
	p := made(t, f, r, newOne)
	if made(t, f, r, "") != p {
		t.Error("another one")
	}
	if n := f.VarDirCount(); n != 0 {
		t.Errorf("it asked %d times for a folder", n)
	}
	r, f = newPassword(t, unsaved)
	if made(t, f, r, newOne) == p {
		t.Error("the same one")
	}
}

func TestPasswordRefresh(t *testing.T) {
	for _, saved := range []bool{true, false} {
		r, f := newPassword(t, func(r *Res) { r.Saved = saved })
		p := made(t, f, r, newOne)
		f.SetRefresh(true)
		if got := kindtest.Verbs(t, f, r, false); got != "refreshed" || f.Sent() != nil {
			t.Errorf("looking: %q, sent %v", got, f.Sent())
		}
		q := made(t, f, r, "refreshed")
		f.SetRefresh(false)
		if q == p || made(t, f, r, "") != q {
			t.Error("it was not made anew, or not kept")
		}
	}
}

// What was kept and can't be used is replaced, without showing it.
func TestPasswordDamaged(t *testing.T) {
	good := strings.Repeat("x", 64)
	short, long := "length: 6 -> 64", "length: 65 -> 64"
	charset := engine.Change{Field: "charset", From: engine.Unknown, To: defaultCharset}.String()
	for name, damaged := range map[string]struct{ text, change string }{
		"empty":     {"", newOne},
		"short":     {string(formatToken("canary")), short},
		"long":      {string(formatToken(good + "x")), long},
		"charset":   {string(formatToken(strings.Repeat("-", 64))), charset},
		"sum":       {strings.Replace(string(formatToken(good)), "xx", "xy", 1), newOne},
		"cut":       {string(formatToken(good))[:40], newOne},
		"more":      {string(formatToken(good)) + "more\n", newOne},
		"header":    {"canary" + string(formatToken(good)), newOne},
		"binary":    {"\x00\xff\n\n\n", newOne},
		"link":      {"link", newOne},
		"directory": {"directory", newOne},
	} {
		t.Run(name, func(t *testing.T) {
			for _, recover := range []bool{true, false} {
				r, f := newPassword(t, func(r *Res) { r.CheckRecovery = recover })
				damage(t, f.VarDir(), damaged.text)
				if !recover {
					got := kindtest.Verbs(t, f, r, true)
					if !strings.HasPrefix(got, "error: the password that was kept can't be used (check_recovery is off): ") ||
						strings.Contains(got, "canary") || strings.Contains(got, "xxx") {
						t.Errorf("got %q", got)
					}
					continue
				}
				if got := kindtest.Verbs(t, f, r, false); got != damaged.change || f.Sent() != nil {
					t.Errorf("looking: %q, sent %v", got, f.Sent())
				}
				p := made(t, f, r, damaged.change)
				if made(t, f, r, "") != p {
					t.Error("it was not kept")
				}
			}
		})
	}
}

// damage puts something where the password is kept.
func damage(t *testing.T, dir, text string) {
	t.Helper()
	path := filepath.Join(dir, tokenFile)
	err := os.MkdirAll(dir, 0o700)
	switch {
	case err != nil:
	case text == "link":
		err = os.Symlink("elsewhere", path)
	case text == "directory":
		err = os.MkdirAll(filepath.Join(path, "sub"), 0o700)
	default:
		err = os.WriteFile(path, []byte(text), private.Mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestPasswordOtherLengthOrCharset(t *testing.T) {
	for what, change := range map[string]func(*Res){
		"length: 64 -> 24":             func(r *Res) { r.Length = 24 },
		`charset: (unknown) -> "αβγ-"`: func(r *Res) { r.Charset = "αβγ-" },
	} {
		dir := enginetest.WithVarDir(filepath.Join(t.TempDir(), "var"))
		r, f := newPassword(t, nil, dir)
		made(t, f, r, newOne)
		r, f = newPassword(t, change, dir)
		p := made(t, f, r, what)
		if made(t, f, r, "") != p {
			t.Error("it was not kept")
		}
	}
}

func TestPasswordMadePrivateAgain(t *testing.T) {
	r, f := newPassword(t, nil)
	p := made(t, f, r, newOne)
	path := filepath.Join(f.VarDir(), tokenFile)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	what := `saved: "mode 0644" -> "mode 0600"`
	if got := kindtest.Verbs(t, f, r, false); got != what || sent(f) != p {
		t.Errorf("looking: %q", got)
	}
	if made(t, f, r, what) != p {
		t.Error("another one")
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != private.Mode {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	made(t, f, r, "")
}

func TestPasswordIsWatched(t *testing.T) {
	r, f := newPassword(t, nil)
	kindtest.Watching(t, f, r)
	p := made(t, f, r, newOne)
	path := filepath.Join(f.VarDir(), tokenFile)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if n := f.Host().Touch(path); n != 1 {
		t.Errorf("%d subscriptions", n)
	}
	f.WaitEvent(t)
	if made(t, f, r, newOne) == p {
		t.Error("the same one")
	}
}

func TestPasswordCannotBeKept(t *testing.T) {
	r, f := newPassword(t, nil)
	if err := os.MkdirAll(filepath.Dir(f.VarDir()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.VarDir(), nil, 0o600); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	if got := kindtest.Verbs(t, f, r, true); !strings.HasPrefix(got, "error: ") || f.Sent() != nil {
		t.Errorf("got %q, sent %v", got, f.Sent())
	}
}

func TestPasswordWatchFails(t *testing.T) {
	r, f := newPassword(t, nil)
	f.Host().FailWatch(errors.New("no watches left"))
	if err := r.Watch(t.Context()); err == nil || f.RunningCount() != 0 {
		t.Errorf("got %v", err)
	}
	f.Init().VarDir = func(string) (string, error) { return "", errors.New("no folder") }
	if err := r.Watch(t.Context()); err == nil || err.Error() != "no folder" {
		t.Errorf("got %v", err)
	}
	if got := kindtest.Verbs(t, f, r, true); got != "error: no folder" {
		t.Errorf("got %q", got)
	}
}

// Each character has the same chance: a crude test that sees a bias of 10 %.
func TestPasswordIsEven(t *testing.T) {
	charset := []rune(defaultCharset)
	counts := map[rune]int{}
	const n = 62 * 2000
	p, err := makePassword(charset, n)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Reveal() {
		counts[c]++
	}
	for _, c := range charset {
		if got := counts[c]; got < 1700 || got > 2300 {
			t.Errorf("%q came %d times of %d", c, got, n)
		}
	}
	if len(counts) != len(charset) {
		t.Errorf("%d characters of %d", len(counts), len(charset))
	}
}

func TestPasswordValidate(t *testing.T) {
	for want, r := range map[string]*Res{
		"":                       {Length: 1, Charset: "ab"},
		"length is 0":            {},
		"length is -1":           {Length: -1},
		"length is 4097":         {Length: 4097},
		"at least two":           {Length: 8, Charset: "a"},
		`holds 'a' twice`:        {Length: 8, Charset: "aba"},
		`'\n', which can't be p`: {Length: 8, Charset: "ab\n"},
		"can't be printed":       {Length: 8, Charset: "ab\xff"},
	} {
		err := r.Validate()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestWritePrivate(t *testing.T) {
	f := enginetest.NewInit(t)
	for _, sync := range []bool{false, true} {
		for _, text := range []string{"one", "", strings.Repeat("x", 1<<20)} {
			if err := private.Write(f.Init(), "it", []byte(text), sync); err != nil {
				t.Fatal(err)
			}
			if got, err := private.Read(f.Init(), "it"); err != nil || string(got) != text {
				t.Errorf("read %d bytes, %v; want %d", len(got), err, len(text))
			}
		}
	}
	left, err := os.ReadDir(f.VarDir())
	if err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

// What somebody has put in the way is neither followed nor kept.
func TestWritePrivateFollowsNoLink(t *testing.T) {
	f := enginetest.NewInit(t)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(f.VarDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"it", "it.new"} {
		if err := os.Symlink(victim, filepath.Join(f.VarDir(), name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := private.Read(f.Init(), "it"); err == nil {
		t.Error("it read through a link")
	}
	if err := private.Write(f.Init(), "it", []byte("new"), false); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(victim); string(got) != "precious" {
		t.Errorf("the victim holds %q", got)
	}
	if got, err := private.Read(f.Init(), "it"); string(got) != "new" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

// A pipe in the place of a file would be waited for.
func TestReadPrivateWaitsForNobody(t *testing.T) {
	f := enginetest.NewInit(t)
	if err := os.MkdirAll(f.VarDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(f.VarDir(), "it"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := private.Read(f.Init(), "it")
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("it read a pipe")
		}
	case <-time.After(await.Left()):
		t.Fatal("it waits for somebody to write")
	}
}

// What is kept is private and readable to us whatever the umask is.
func TestWritePrivateUnderAnyUmask(t *testing.T) {
	f := enginetest.NewInit(t)
	if err := os.MkdirAll(f.VarDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, mask := range []int{0, 0o777} {
		old := syscall.Umask(mask)
		err := private.Write(f.Init(), "it", nil, false)
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(f.VarDir(), "it")); err != nil || info.Mode() != private.Mode {
			t.Errorf("umask %#o: %v, %v", mask, info.Mode(), err)
		}
	}
}

// A write that fails leaves the old and nothing else.
func TestWritePrivateFails(t *testing.T) {
	f := enginetest.NewInit(t)
	if err := private.Write(f.Init(), "it", []byte("old"), false); err != nil {
		t.Fatal(err)
	}
	f.Init().VarDir = func(string) (string, error) { return filepath.Join(f.VarDir(), "missing"), nil }
	if err := private.Write(f.Init(), "it", []byte("new"), false); err == nil {
		t.Error("it wrote into a folder that is not there")
	}
	if data, err := private.Read(f.Init(), "it"); data != nil || err != nil {
		t.Errorf("read %q, %v where nothing is", data, err)
	}
	var e engine.Init
	e.VarDir = func(string) (string, error) { return "", errors.New("no folder") }
	if err := private.Write(&e, "it", nil, false); err == nil {
		t.Error("it wrote nowhere")
	}
}
