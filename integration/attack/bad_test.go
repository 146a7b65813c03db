package attack_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/internal/await"
)

// bad are the things in the place of a path that no kind can work with.
var bad = map[string]func(at string) error{
	"loop":   func(at string) error { return os.Symlink(filepath.Base(at), at) },
	"pipe":   func(at string) error { return unix.Mkfifo(at, 0o644) },
	"device": func(at string) error { return unix.Mknod(at, unix.S_IFCHR|0o644, int(unix.Mkdev(1, 7))) },
}

// replaces reports whether the kind removes or replaces whatever is there, by the graph's
// own word.
func (p place) replaces() bool {
	text := p.graph(p)
	return p.kind == "file" && !p.reads && (strings.Contains(text, "force: true") || strings.Contains(text, "absent"))
}

func badPlaces(dir string) []place {
	var all []place
	for _, r := range rows() {
		for _, route := range []string{"loop", "pipe", "device"} {
			p := newPlace(dir, r, route, len(all))
			if r.unseen || r.home || r.name == "mode" || p.replaces() || strings.Contains(p.graph(p), attackerName) {
				continue
			}
			all = append(all, p)
		}
	}
	return all
}

// spoil fills a place of root's with what is bad.
func (p place) spoil() error {
	return errors.Join(os.Chown(p.user, 0, 0), os.Mkdir(p.sub, 0o755), bad[p.route](p.file))
}

// ids finds the places in a log.
var ids = regexp.MustCompile(`\bp[0-9]{3}\b`)

// wayOut is what a sentence says that tells how to go on.
var wayOut = regexp.MustCompile(`remove it|name another|name the real path|force: true|put a folder there|fix the links`)

// failures are the places that the log says to have failed, with the last sentence.
func failures(log string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(log) {
		resource, why, ok := strings.Cut(line, " failed: ")
		if !ok || !strings.Contains(line, " ERROR ") {
			continue
		}
		if id := ids.FindString(resource); id != "" {
			all[id] = strings.TrimSpace(why)
		} else if id := ids.FindString(why); id != "" {
			all[id] = strings.TrimSpace(why)
		}
	}
	return all
}

// TestFindingBadPathsFailAlone: a circle of links, a pipe or a device in the place of a
// path makes its own resource fail, with a sentence that names the path, and nothing else.
// When it is gone the resource is right again, without a person.
func TestFindingBadPathsFailAlone(t *testing.T) {
	w := newWorldOf(t, badPlaces)
	good := newPlace(w.dir, row{kind: "file", name: "good", graph: item(`{name: OUT, content: "good\n"}`)}, honest, len(w.places))
	w.must(good.make())
	for _, p := range w.places {
		w.must(p.spoil())
	}
	w.places = append(w.places, good)
	d := w.daemon(t.Context(), "", "--flapping", "off")
	soon(t, d, "the graph has not converged: something hangs", func(log string) bool { return rests.MatchString(log) })
	if text, err := os.ReadFile(good.out); string(text) != "good\n" {
		t.Errorf("what is good was not done: %q, %v", text, err)
	}
	failed := failures(d.log())
	for _, p := range w.places[:len(w.places)-1] {
		if why := failed[p.id]; !strings.Contains(why, p.file) || !wayOut.MatchString(why) {
			t.Errorf("%s: it has to fail with a sentence that names %s and a way out: %q", p, p.file, why)
		}
	}
	for _, p := range w.places[:len(w.places)-1] {
		w.must(os.Remove(p.file))
		w.must(p.own(p.file))
	}
	at := len(d.log())
	soon(t, d, "what was bad is gone, and there are failures still", func(log string) bool {
		i := strings.LastIndex(log, "converged: ")
		return i >= at && !strings.Contains(log[i:], "failed")
	})
	d.stop()
	if t.Failed() {
		t.Log(d.log())
	}
}

// rests is the line of a log that says how the graph stands at rest.
var rests = regexp.MustCompile(`(^|\W)(converged|at rest): `)

// soon waits until the log shows something.
func soon(t *testing.T, d *daemon, what string, is func(log string) bool) {
	t.Helper()
	for end := time.Now().Add(await.Left()); !is(d.log()); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%s\n%s", what, d.log())
			return
		}
	}
}
