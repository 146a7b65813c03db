package mgmt_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
)

// seed returns the seed of the random graphs: that of the environment, or another one each time, which is logged.
func seed(t *testing.T) uint64 {
	seed := rand.Uint64()
	if text := os.Getenv("MGMT_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal("MGMT_SEED: ", err)
		}
	}
	t.Logf("MGMT_SEED=%d draws the same", seed)
	return seed
}

// drawn is a random graph over a folder, and what is in the folder before.
type drawn struct {
	*rand.Rand
	root    string
	folders []string // below root; each ends in a slash
	kinds   map[string][]string
	taken   map[string]bool
	absent  []string        // folders that are to go
	byWorld map[string]bool // paths that a command decides
	inputs  []string        // paths that another resource may read
	makers  map[string][]string
	noop    map[string]bool   // paths that are only looked at
	copies  map[string]string // folders, by the one that they are copied to
}

// TestFindingL1PlanIsRun: a plan says of each resource whether a run will change it, in random graphs over random folders. What it can't
// tell is decided by the answer of a command.
func TestFindingL1PlanIsRun(t *testing.T) {
	t.Parallel()
	first := seed(t)
	var change, unknown, bad int
	graphs := uint64(300)
	if testing.Short() {
		graphs = 60
	}
	for n := range graphs {
		d := &drawn{Rand: rand.New(rand.NewPCG(first, n)), root: t.TempDir(), kinds: map[string][]string{}, taken: map[string]bool{}, byWorld: map[string]bool{}, makers: map[string][]string{}, noop: map[string]bool{}, copies: map[string]string{}}
		graph := d.draw(t)
		c, u, wrong := d.compare(t, graph)
		if change, unknown = change+c, unknown+u; len(wrong) == 0 {
			continue
		}
		t.Errorf("graph %d:\n%s\n%s", n, strings.Join(wrong, "\n"), graph)
		if bad++; bad == 5 {
			break
		}
	}
	t.Logf("%d to change, %d unknown", change, unknown)
}

func (d *drawn) chance(of int) bool { return d.IntN(of) == 0 }

func pick[T any](d *drawn, list ...T) T { return list[d.IntN(len(list))] }

// path draws a name that no other resource has, in one of the folders.
func (d *drawn) path() string {
	for {
		p := pick(d, d.folders...) + pick(d, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
		if !d.taken[p] && !d.taken[p+"/"] {
			d.taken[p] = true
			return p
		}
	}
}

func (d *drawn) add(kind, name, rest string) {
	d.kinds[kind] = append(d.kinds[kind], fmt.Sprintf("  - {name: %q%s}", d.root+"/"+name, rest))
}

// draw makes the folder as it is before, and returns the graph.
func (d *drawn) draw(t *testing.T) string {
	d.folders = []string{"", "one/", "one/two/", "one/two/three/", "four/"}
	for _, f := range d.folders[1:] {
		d.taken[f] = true
		if d.chance(2) {
			d.write(t, f, "")
		}
		switch d.IntN(8) {
		case 0: // it is there, or not
		case 1:
			if f != "one/two/three/" && f != "four/" {
				d.add("file", f, "")
				break
			}
			d.add("file", f, ", state: absent, recurse: true, force: true")
			d.absent = append(d.absent, f)
		case 2:
			d.add("file", f, ", recurse: true, purge: true")
			d.write(t, f+"junk", "junk")
		case 3:
			d.add("file", f, `, mode: "0700"`)
		default:
			d.add("file", f, "")
		}
	}
	d.folders = slices.DeleteFunc(d.folders, func(f string) bool { return slices.Contains(d.absent, f) })
	for range 3 + d.IntN(10) {
		d.resource(t)
	}
	for to, from := range d.copies {
		for p := range d.byWorld {
			if strings.HasPrefix(p, from) {
				d.byWorld[to] = true
			}
		}
	}
	return d.text()
}

// text is the graph.
func (d *drawn) text() string {
	b := &strings.Builder{}
	b.WriteString("graph: drawn\nresources:\n")
	for kind, list := range d.kinds {
		fmt.Fprintf(b, "  %s:\n%s\n", kind, strings.Join(list, "\n"))
	}
	return b.String()
}

// write makes a file or a folder, with the folders above.
func (d *drawn) write(t *testing.T, p, content string) {
	full := filepath.Join(d.root, p)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	err := error(nil)
	if strings.HasSuffix(p, "/") {
		err = os.MkdirAll(full, 0o755)
	} else {
		err = os.WriteFile(full, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// resource draws a resource. It comes after all that makes its input.
func (d *drawn) resource(t *testing.T) {
	p := d.path()
	texts := []string{"x\n", "y\n", "x\ny\n", ""}
	if d.chance(3) {
		d.write(t, p, pick(d, texts...))
	}
	input := pick(d, append(d.inputs, "nothing")...)
	after := ""
	if makers := d.makers[input]; len(makers) > 0 {
		after = fmt.Sprintf(", depend: [%s]", strings.Join(makers, ", "))
	}
	kind, name := "file", p
	full, from := d.root+"/"+p, d.root+"/"+input
	add := func(format string, args ...any) {
		id := fmt.Sprintf("%q", kind+"["+d.root+"/"+name+"]")
		d.makers[p] = append(slices.Clone(d.makers[p]), id)
		d.add(kind, name, fmt.Sprintf(format, args...))
	}
	reads := true
	draw := d.IntN(24)
	switch draw {
	case 0, 1, 2:
		reads = false
		add(", content: %q%s", pick(d, texts...), pick(d, "", "", `, mode: "0600"`))
	case 3, 4:
		add(", source: %q%s", from, after)
	case 5:
		reads = false
		add(", state: absent")
	case 6:
		d.makers[p] = d.makers[input] // who reads the link needs what it leads to
		add(", symlink: true, source: %q%s%s", from, pick(d, "", ", force: true"), after)
	case 7:
		reads = false
		add(`, keep: true, content: "x\n"`)
		kind, name = "line", p+" line"
		add(", file: %q, content: %q", full, pick(d, "x", "y", "z"))
	case 8:
		reads, kind = false, "line"
		add(", file: %q, content: %q, create: %t", full, pick(d, "x", "y", "z"), d.chance(2))
	case 9:
		kind = "gzip"
		add(", input: %q%s", from, after)
	case 10:
		kind = "tar"
		add(", inputs: [%q]%s", from, after)
	case 11:
		kind, p = "exec", strings.ReplaceAll(p, "/", "_") // its folder is there
		full, name = d.root+"/"+p, p
		d.byWorld[p] = true
		add(", cmd: touch %q, creates: %q", full, full)
	case 12:
		kind, p = "exec", strings.ReplaceAll(p, "/", "_")
		name = p
		d.byWorld[p] = true
		add(", cmd: touch %q, ifcmd: test -e %q%s", d.root+"/"+p, from, after)
	case 13:
		reads = false
		d.add("value", p+" text", fmt.Sprintf(", any: %q", pick(d, texts...)))
		add(`, recv: {content: "value[%s text].any"}`, full)
	case 14:
		reads, d.byWorld[p] = false, true
		d.add("exec", p+" says", ", cmd: echo x")
		add(`, recv: {content: "exec[%s says].output"}`, full)
	case 15:
		p = strings.ReplaceAll(p, "/", "_") // its folder is there
		kind, name = "ini_setting", p+" [main] port"
		add(", value: %q", pick(d, "1", "2"))
		return // what such a kind writes is not seen by those below
	case 16:
		second := pick(d, append(d.inputs, "nothing")...)
		d.byWorld[p] = d.byWorld[second]
		if makers := slices.Concat(d.makers[input], d.makers[second]); len(makers) > 0 {
			after = fmt.Sprintf(", depend: [%s]", strings.Join(makers, ", "))
		}
		add(", fragments: [%q, %q]%s", from, d.root+"/"+second, after)
	case 17:
		p = strings.ReplaceAll(p, "/", "_") // it makes no folder above itself that others wait for
		reads, name = false, p+"/"
		if dir := pick(d, d.folders...); dir != "" && !strings.HasPrefix(p, dir) {
			add(", source: %q, recurse: true%s", d.root+"/"+dir, pick(d, "", ", purge: true"))
			d.copies[p] = dir
		} else {
			add("")
		}
		return
	case 18:
		kind, name = "tar", p+"/"
		reads = false
		d.tar(t, p+".tar", pick(d, texts...))
		add(", extract: %q", full+".tar")
		d.inputs = append(d.inputs, p+"/x")
		d.makers[p+"/x"] = d.makers[p]
		return
	case 19:
		name = p + "${{ each.value }}"
		add(", for_each: [1, 2], content: %q", pick(d, texts...))
		for _, n := range []string{"1", "2"} {
			d.makers[p+n] = []string{fmt.Sprintf("%q", "file["+full+n+"]")}
			d.inputs = append(d.inputs, p+n)
		}
		return
	case 20:
		reads = false
		if os.Geteuid() == 0 {
			add(", content: %q, owner: daemon, group: %s", pick(d, texts...), pick(d, "daemon", "root"))
		}
	case 21:
		reads, d.noop[p] = false, true
		add(", content: %q, meta: {noop: true}", pick(d, texts...))
	case 22:
		reads = false
		add(", state: exists, mode: %q", pick(d, "0600", "0644", "0440"))
	case 23:
		name = p + "/"
		add(", state: absent, recurse: true, force: true")
		return
	}
	if reads && d.byWorld[input] {
		d.byWorld[p] = true
	}
	d.inputs = append(d.inputs, p)
	if d.chance(6) {
		d.add("exec", p+" told", fmt.Sprintf(`, cmd: "true", refreshonly: true, listen: [%s]`, d.makers[p][len(d.makers[p])-1]))
	}
}

// tar makes an archive with one file.
func (d *drawn) tar(t *testing.T, p, content string) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Name: "x", Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg})
	if err == nil {
		_, err = w.Write([]byte(content))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	d.write(t, p, b.String())
}

// compare plans the graph and runs it. It returns how many resources would change, and how many are unknown.
func (d *drawn) compare(t *testing.T, graph string) (change, unknown int, wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	e, f := from(t, graph, mgmt.Options{})
	plan, err := e.Plan(t.Context(), f)
	if err != nil {
		say("%v", err)
		return
	}
	var mu sync.Mutex
	changed, failed := map[string][]engine.Change{}, map[string]error{}
	e, f = from(t, graph, mgmt.Options{ConvergedExit: true, ConvergedTimeout: time.Millisecond, NoWatch: true, Observer: mgmt.Observer{Ran: func(r mgmt.Run) {
		mu.Lock()
		defer mu.Unlock()
		if r.Changed {
			changed[r.Resource] = append(changed[r.Resource], r.Changes...)
		}
		delete(failed, r.Resource)
		if r.State == engine.StateFailed {
			failed[r.Resource] = r.Err
		}
	}}})
	if err := e.Run(t.Context(), f); err != nil {
		say("%v", err)
		return
	}
	for _, s := range plan.Steps {
		_, did := changed[s.Resource]
		_, name, _ := strings.Cut(strings.TrimSuffix(s.Resource, "]"), d.root+"/")
		name, _, _ = strings.Cut(name, " ")
		name = strings.TrimSuffix(name, "/")
		switch s.State {
		case engine.StateWouldChange:
			change++
			if !did && !d.byWorld[name] && !d.noop[name] { // what a command has to bring may be missing, and then it fails
				say("%s would change (%v), and did not: %v", s.Resource, s.Changes, failed[s.Resource])
			}
		case engine.StateUnknown:
			unknown++
			if !d.byWorld[name] {
				say("%s is unknown until %s, and no command decides it", s.Resource, s.Until)
			}
		case engine.StateFailed:
			if failed[s.Resource] == nil || did {
				say("%s failed in the plan (%v), and the run has done %v", s.Resource, s.Err, changed[s.Resource])
			}
		default:
			if did {
				say("%s is %s, and has changed: %v", s.Resource, s.State, changed[s.Resource])
			}
		}
	}
	return change, unknown, wrong
}
