package ineffect

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// TestDeclarations: what a Keeper has kept of declarations is read with its salt. Without a file, and where it can't be read, there is
// a new salt and nothing else.
func TestDeclarations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "declared")
	was, err := ReadDeclarations[string](path)
	if err != nil || len(was.Salt) != saltLen || len(was.Prints) > 0 {
		t.Fatalf("without a file: %v, %v", was, err)
	}
	was.Prints = map[string]string{"file[/a]": "x", "file[/b]": "y"}
	k := NewLog("the declarations", path, func() any { return was }, slog.New(slog.DiscardHandler), clock.System{})
	k.Put("file[/a]", was.Prints["file[/a]"])
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	is, err := ReadDeclarations[string](path)
	if err != nil || !bytes.Equal(is.Salt, was.Salt) || !maps.Equal(is.Prints, was.Prints) {
		t.Errorf("%v, %v, want %v", is, err, was)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: others can read it", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if is, err = ReadDeclarations[string](path); err == nil || len(is.Salt) != saltLen || bytes.Equal(is.Salt, was.Salt) || len(is.Prints) > 0 {
		t.Errorf("of a broken file: %v, %v", is, err)
	}
}

// TestFindingQ5Log: what was flushed is read by the next process, though this one never ends the file, and though the last line is
// half written. What has left is not.
func TestFindingQ5Log(t *testing.T) {
	path := filepath.Join(t.TempDir(), "declared")
	is := map[string]string{}
	l := NewLog("the declarations", path, func() any { return Declarations[string]{Salt: bytes.Repeat([]byte{1}, saltLen), Prints: is} },
		slog.New(slog.DiscardHandler), clock.System{})
	defer l.Close()
	want := func() {
		t.Helper()
		l.Flush()
		if got, err := ReadDeclarations[string](path); err != nil || len(got.Salt) != saltLen || !maps.Equal(got.Prints, is) {
			t.Errorf("%v, %v, want %v", got, err, is)
		}
	}
	for i, key := range []string{"a", "b", "a"} {
		is[key] = strconv.Itoa(i)
		l.Put(key, is[key])
		want()
	}
	delete(is, "a")
	l.Put("a", nil)
	want()
	for i := range 100 { // the file is written anew in between, not only at its end
		key, text := "key"+strconv.Itoa(i%10), strings.Repeat(strconv.Itoa(i), 1000)
		is[key] = text
		l.Put(key, text)
		l.settle()
		want()
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 4*appended {
		t.Errorf("the file grows: %v, %v", info.Size(), err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"prints":{"b":"torn`); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	want()
}

// TestLogTriesAgain: what a bad disk has refused is written later, all of it. The failure is said once.
func TestLogTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk, said := &lossyDisk{left: -1, names: map[string]*lossyFile{}}, 0
		is := map[string]string{}
		l := NewLog("the declarations", "declared", func() any { return Declarations[string]{Salt: []byte("salt"), Prints: maps.Clone(is)} },
			slog.New(counter{&said}), clock.System{})
		l.disk = disk
		disk.bad = 2
		is["a"] = "1"
		l.Put("a", "1")
		time.Sleep(time.Second)
		l.Put("b", "2")
		is["b"] = "2"
		l.Flush()
		time.Sleep(3 * retry)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		var got Declarations[string]
		if err := read([]byte(disk.names["declared"].text), &got); err != nil || !maps.Equal(got.Prints, is) {
			t.Errorf("%v, %v, want %v", got, err, is)
		}
		if said != 1 {
			t.Errorf("the failure is said %d times", said)
		}
	})
}

// counter counts what is logged.
type counter struct{ n *int }

func (c counter) Enabled(context.Context, slog.Level) bool  { return true }
func (c counter) Handle(context.Context, slog.Record) error { *c.n++; return nil }
func (c counter) WithAttrs([]slog.Attr) slog.Handler        { return c }
func (c counter) WithGroup(string) slog.Handler             { return c }
