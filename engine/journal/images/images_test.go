package images

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// at is a clock that stands.
type at struct {
	clock.System
	now time.Time
}

func (c *at) Now() time.Time { return c.now }

func opened(t *testing.T, dir string, c *at, size int64) *Store {
	t.Helper()
	s, err := Open(Options{
		Dir: dir, Size: size, Age: time.Hour, Clock: c, Log: slog.New(slog.DiscardHandler),
		Seal: func(clear string) (string, error) { return "sealed:" + strings.ToUpper(clear), nil },
		Unseal: func(text string) (string, error) {
			return strings.ToLower(strings.TrimPrefix(text, "sealed:")), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// contents returns the contents since a time, by resource and in their order.
func contents(t *testing.T, s *Store, since time.Time) (list []string) {
	t.Helper()
	for _, i := range s.Since(since) {
		body, err := s.Content(i)
		if err != nil {
			t.Error(err)
		}
		list = append(list, i.Resource+"="+string(body)+i.Why)
	}
	return list
}

func same(t *testing.T, got []string, want string) {
	t.Helper()
	if text := strings.Join(got, " "); text != want {
		t.Errorf("there is %q, want %q", text, want)
	}
}

// TestImages: what is kept is read again, by this process and by the next one, from a time on. Equal contents of a resource take the room of one.
// A secret is sealed, and nobody else may read a file.
func TestImages(t *testing.T) {
	dir, c := filepath.Join(t.TempDir(), "images"), &at{now: time.Unix(1000, 0)}
	s := opened(t, dir, c, 1<<20)
	s.Keep("a", []byte("head"), []byte("one"), false, "")
	c.now = c.now.Add(time.Second)
	s.Keep("b", nil, []byte("canary"), true, "")
	s.Keep("a", []byte("head"), []byte("one"), false, "")
	s.Keep("c", nil, nil, false, "too large")
	s.Keep("a", nil, []byte{}, false, "")
	same(t, contents(t, s, time.Time{}), "a=one b=canary a=one c=too large a=")
	same(t, contents(t, s, c.now), "b=canary a=one c=too large a=")
	text, err := os.ReadFile(s.path(1))
	if err != nil || strings.Count(string(text), "one") != 1 || strings.Contains(string(text), "canary") {
		t.Errorf("the file has %q, %v", text, err)
	}
	s.Keep("d", nil, []byte("hush"), false, "")
	s.Keep("d", nil, []byte("hush"), true, "") // a secret by now
	if list := s.Since(c.now); !list[len(list)-1].Sealed {
		t.Error("a secret is that of an image which is not sealed")
	}
	if info, err := os.Stat(s.path(1)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	again := opened(t, dir, c, 1<<20)
	same(t, contents(t, again, time.Time{}), "a=one b=canary a=one c=too large a= d=hush d=hush")
	again.Keep("a", nil, []byte("two"), false, "")
	if list := again.Since(time.Time{}); list[0].ID != 1 || list[7].ID != 8 || string(list[0].Head) != "head" {
		t.Errorf("%+v", list)
	}
}

// TestTorn: wherever a process was killed, all images before the last write are read, and the next process goes on.
func TestTorn(t *testing.T) {
	dir, c := t.TempDir(), &at{now: time.Unix(1000, 0)}
	s := opened(t, dir, c, 1<<20)
	s.Keep("a", nil, []byte("one"), false, "")
	whole, err := os.ReadFile(s.path(1))
	if err != nil {
		t.Fatal(err)
	}
	s.Keep("b", nil, []byte("two"), false, "")
	both, err := os.ReadFile(s.path(1))
	if err != nil {
		t.Fatal(err)
	}
	for n := len(whole); n < len(both); n++ {
		dir := t.TempDir()
		next := opened(t, dir, c, 1<<20)
		if err := os.WriteFile(next.path(1), both[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		next = opened(t, dir, c, 1<<20)
		next.Keep("c", nil, []byte("three"), false, "")
		same(t, contents(t, opened(t, dir, c, 1<<20), time.Time{}), "a=one c=three")
	}
}

// TestBounds: the oldest go, by size and by age, and their files with them.
func TestBounds(t *testing.T) {
	dir, c := t.TempDir(), &at{now: time.Unix(1000, 0)}
	const size = 16 << 10
	s := opened(t, dir, c, size)
	for i := range 200 {
		s.Keep("a", nil, []byte(strings.Repeat(string(rune('a'+i%26)), 500)), false, "")
		var all int64
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				t.Fatal(err)
			}
			all += info.Size()
		}
		if all > size+1024 {
			t.Fatalf("after %d there are %d bytes", i, all)
		}
	}
	if n := len(s.Since(time.Time{})); n < 10 || n == 200 {
		t.Errorf("%d are left", n)
	}
	c.now = c.now.Add(2 * time.Hour)
	for range 4 { // more than one file has
		s.Keep("b", nil, []byte(strings.Repeat("b", 500)), false, "")
		s.Keep("b", nil, []byte(strings.Repeat("c", 500)), false, "")
	}
	if list := s.Since(time.Time{}); len(list) != 8 && list[0].Resource != "a" { // those of the file that was open
		t.Errorf("%d are left", len(list))
	}
}

// TestDamaged: a content that was altered is an error, and no other one's.
func TestDamaged(t *testing.T) {
	dir, c := t.TempDir(), &at{now: time.Unix(1000, 0)}
	s := opened(t, dir, c, 1<<20)
	s.Keep("a", nil, []byte("one"), false, "")
	s.Keep("b", nil, []byte("two"), false, "")
	text, err := os.ReadFile(s.path(1))
	if err == nil {
		err = os.WriteFile(s.path(1), []byte(strings.Replace(string(text), "one", "eno", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	list := s.Since(time.Time{})
	if _, err := s.Content(list[0]); err == nil {
		t.Error("an altered content is read")
	}
	if body, err := s.Content(list[1]); err != nil || string(body) != "two" {
		t.Errorf("%q, %v", body, err)
	}
}

// TestFull: a disk without room costs an image, and no later one.
func TestFull(t *testing.T) {
	dir, c := t.TempDir(), &at{now: time.Unix(1000, 0)}
	s := opened(t, dir, c, 1<<20)
	s.Keep("a", nil, []byte("one"), false, "")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("there is no /dev/full")
	}
	if err != nil {
		t.Fatal(err)
	}
	was := s.out
	s.out = full
	if err := s.keep(Image{Resource: "b", At: c.now}, []byte("two"), false); err == nil {
		t.Error("a full disk takes it")
	}
	s.out = was
	_ = full.Close()
	s.Keep("c", nil, []byte("three"), false, "")
	same(t, contents(t, opened(t, dir, c, 1<<20), time.Time{}), "a=one c=three")
}
