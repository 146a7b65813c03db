package ineffect

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// lossyDisk is a file system that keeps after a loss of power only the things that were synced, and perhaps others.
type lossyDisk struct {
	mu     sync.Mutex            // orders the goroutine of the keeper and that of the test
	names  map[string]*lossyFile // as programs see them
	lasted map[string]*lossyFile // as a sync has left them
	left   int                   // operations until the power is lost; negative for never
	bad    int                   // so many syncs of files fail first
}

type lossyFile struct {
	disk         *lossyDisk
	text, lasted string
}

var (
	errPower = errors.New("the power is lost")
	errDisk  = errors.New("the disk is bad")
)

func (d *lossyDisk) step() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 {
		return errPower
	}
	d.left--
	return nil
}

func (d *lossyDisk) Create(path string) (diskFile, error) {
	if err := d.step(); err != nil {
		return nil, err
	}
	f := d.names[path]
	if f == nil {
		f = &lossyFile{disk: d}
		d.names[path] = f
	}
	f.text = ""
	return f, nil
}

func (d *lossyDisk) Append(path string) (diskFile, error) {
	if err := d.step(); err != nil {
		return nil, err
	}
	return d.names[path], nil
}

func (d *lossyDisk) Rename(from, to string) error {
	if err := d.step(); err != nil {
		return err
	}
	d.names[to] = d.names[from]
	delete(d.names, from)
	return nil
}

func (d *lossyDisk) Remove(path string) error {
	if err := d.step(); err != nil {
		return err
	}
	delete(d.names, path)
	return nil
}

func (d *lossyDisk) SyncFolder(string) error {
	if err := d.step(); err != nil {
		return err
	}
	d.lasted = maps.Clone(d.names)
	return nil
}

func (f *lossyFile) Write(b []byte) (int, error) {
	if err := f.disk.step(); err != nil {
		f.text += string(b[:len(b)/2])
		return len(b) / 2, err
	}
	f.text += string(b)
	return len(b), nil
}

func (f *lossyFile) Sync() error {
	if err := f.disk.step(); err != nil {
		return err
	}
	if f.disk.bad > 0 {
		f.disk.bad--
		return errDisk
	}
	f.lasted = f.text
	return nil
}

func (f *lossyFile) Close() error { return f.disk.step() }

// after returns every content that a file may have after a loss of power.
func (d *lossyDisk) after(path string) (all []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range []*lossyFile{d.names[path], d.lasted[path]} {
		if f == nil {
			all = append(all, "nothing")
		} else {
			all = append(all, f.text, f.lasted)
		}
	}
	return all
}

func newLossyDisk(left int) *lossyDisk {
	old := &lossyFile{text: "old", lasted: "old"}
	d := &lossyDisk{names: map[string]*lossyFile{"dir/f": old}, lasted: map[string]*lossyFile{"dir/f": old}, left: left}
	old.disk = d
	return d
}

// TestPowerLoss: whenever the power is lost, the file is the old one or the new one, whole. After a write that has
// ended it is the new one.
func TestPowerLoss(t *testing.T) {
	for left, ended := 0, false; !ended; left++ {
		d := newLossyDisk(left)
		err := replaceDurably(d, "dir/f", []byte("new one"))
		ended = err == nil
		for _, text := range d.after("dir/f") {
			if text != "new one" && (ended || text != "old") {
				t.Errorf("after %d steps (%v) the file may have %q", left, err, text)
			}
		}
		if left > 20 {
			t.Fatal("it never ends")
		}
	}
}

// TestBadDisk: a sync that fails leaves the old file, is told once, and is tried again.
func TestBadDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newLossyDisk(-1)
		d.bad = 2
		var said strings.Builder
		k := New("dir/f", slog.New(slog.NewTextHandler(&said, nil)), clock.System{})
		k.disk = d
		k.Keep(func() Names { return Names{All: []string{"noop[a]"}} }, "/graph.yaml")
		synctest.Wait()
		if got := d.after("dir/f"); slices.ContainsFunc(got, func(s string) bool { return s != "old" }) {
			t.Errorf("after a sync that has failed the file may have %q", got)
		}
		if got := d.after("dir/f.new"); slices.ContainsFunc(got, func(s string) bool { return s != "nothing" }) {
			t.Errorf("after a sync that has failed the temporary file may have %q", got)
		}
		time.Sleep(3 * retry)
		synctest.Wait()
		const want = `{"input":"/graph.yaml","resources":["noop[a]"]}`
		if got := d.after("dir/f"); slices.ContainsFunc(got, func(s string) bool { return s != want }) {
			t.Errorf("later the file may have %q", got)
		}
		if n := strings.Count(said.String(), "the disk is bad"); n != 1 {
			t.Errorf("it is told %d times: %s", n, &said)
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestLocalDisk: the file system of the machine takes the same steps.
func TestLocalDisk(t *testing.T) {
	path := t.TempDir() + "/f"
	for i := range 3 {
		text := fmt.Sprint("text ", i)
		if err := replaceDurably(localDisk{}, path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("the file has %q, %v", got, err)
		}
	}
	if _, err := os.Stat(path + ".new"); err == nil {
		t.Error("the temporary file is left")
	}
	if err := replaceDurably(localDisk{}, path+"/f", nil); err == nil {
		t.Error("a file below a file is made")
	}
}

// TestRead: the names are those of a graph from the same input, and a file that can't be read is an error.
func TestRead(t *testing.T) {
	path := t.TempDir() + "/f"
	if names, err := Read(path, "a"); names.All != nil || err != nil {
		t.Errorf("without a file: %v, %v", names, err)
	}
	k := New(path, slog.New(slog.DiscardHandler), clock.System{})
	k.Keep(func() Names { return Names{All: []string{"noop[a]"}} }, "a")
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]int{"a": 1, "b": 0} {
		if names, err := Read(path, input); len(names.All) != want || err != nil {
			t.Errorf("from %s: %v, %v", input, names, err)
		}
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if names, err := Read(path, "a"); names.All != nil || err == nil {
		t.Errorf("a damaged file: %v, %v", names, err)
	}
}
