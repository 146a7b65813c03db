package engine_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/gapi/yaml"
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
	graphs  string   // the folder of the graph, with that of its module
	folders []string // below root; each ends in a slash
	list    []*entry
	taken   map[string]bool
	absent  []string        // folders that are to go
	byWorld map[string]bool // paths that a command decides
	unsaid  map[string]bool // of these, those that a command alters without saying so
	inputs  []string        // paths that another resource may read
	makers  map[string][]string
	noop    map[string]bool   // paths that are only looked at
	copies  map[string]string // folders, by the one that they are copied to
	left    []string          // ids that the graph of the run before had
}

// entry is one declaration of a drawn graph.
type entry struct {
	kind, name, rest string
	ids              []string // quoted, as references have them
	module, gone     bool
	bare             bool // the name is no path
	stays            bool // it never leaves
}

// at returns the name in the graph.
func (x *entry) at(root string) string {
	if x.bare {
		return x.name
	}
	return root + "/" + x.name
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
	for n, had := uint64(0), uint64(0); had < graphs; n, had = n+1, had+1 { // a second graph counts, too
		d := &drawn{Rand: rand.New(rand.NewPCG(first, n)), root: t.TempDir(), taken: map[string]bool{}, byWorld: map[string]bool{}, unsaid: map[string]bool{}, makers: map[string][]string{}, noop: map[string]bool{}, copies: map[string]string{}}
		d.graphs = t.TempDir()
		if err := os.Mkdir(filepath.Join(d.graphs, "part"), 0o700); err != nil {
			t.Fatal(err)
		}
		graph := d.draw(t)
		c, u, wrong := d.compare(t)
		if len(wrong) == 0 && d.chance(2) {
			had++
			before := graph
			graph = d.again(t)
			c, u, wrong = d.compare(t)
			graph = before + "=== then\n" + graph
		}
		if change, unknown = change+c, unknown+u; len(wrong) == 0 {
			continue
		}
		t.Error(strings.ReplaceAll(fmt.Sprintf("graph %d:\n%s\n%s", n, strings.Join(wrong, "\n"), graph), d.root+"/", ""))
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

func (d *drawn) add(kind, name, rest string) *entry {
	if kind != "exec" && !strings.Contains(rest, "meta:") && d.chance(3) {
		rest += ", meta: {" + pick(d, "leaving: undo", "leaving: undo", "reverse: true", "leaving: keep", "leaving: ask") + "}"
	}
	if d.chance(6) {
		rest += `, when: "${{ ` + pick(d, "1 < 2", "facts.hostname != '.'") + ` }}"`
	}
	x := &entry{kind: kind, name: name, rest: rest, ids: []string{fmt.Sprintf("%q", kind+"["+d.root+"/"+name+"]")}, module: d.chance(4)}
	d.list = append(d.list, x)
	return x
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
			d.add("file", f, `, mode: "`+pick(d, "0700", "0750", "0755")+`"`)
		default:
			d.add("file", f, "")
		}
	}
	d.folders = slices.DeleteFunc(d.folders, func(f string) bool { return slices.Contains(d.absent, f) })
	for range 3 + d.IntN(10) {
		d.resource(t)
	}
	if d.chance(2) {
		d.deep(t)
	}
	if d.chance(3) {
		d.accounts(t)
	}
	return d.text(t)
}

// accounts draws groups and users of another system, whose databases are below root.
func (d *drawn) accounts(t *testing.T) {
	d.taken["image/"], d.taken["image/etc/"] = true, true // a folder that nobody removes
	for name, text := range map[string]string{
		"passwd": "root:x:0:0:root:/root:/bin/sh\nbot:x:900:900::/:/bin/false\nweb:x:901:800::/:/bin/false\n",
		"group":  "root:x:0:\nbot:x:900:\nold:x:800:bot\n", "shadow": "root:*:19000:0:99999:7:::\nbot:!:19000::::::\nweb:!:19000::::::\n",
	} {
		d.write(t, "image/etc/"+name, text)
	}
	groups, depend := []string{"root", "old"}, ""
	account := func(kind, name, rest string) *entry {
		x := &entry{kind: kind, name: name, bare: true, ids: []string{fmt.Sprintf("%q", kind+"["+name+"]")}, rest: fmt.Sprintf(", root: %q%s", d.root+"/image", rest)}
		d.list = append(d.list, x)
		return x
	}
	for _, g := range []string{"old", "team", "crew"} {
		if d.chance(2) {
			x := account("group", g, pick(d, "", fmt.Sprintf(", gid: %d", 810+len(d.list))))
			groups, depend = append(groups, g), depend+x.ids[0]+", "
		}
	}
	for _, u := range []string{"bot", "web", "new"} {
		if d.chance(3) {
			continue
		}
		rest := ""
		if d.chance(2) {
			rest += ", group: " + pick(d, groups...)
		}
		if d.chance(2) {
			rest += ", groups: [" + pick(d, groups...) + "]"
		}
		account("user", u, rest+pick(d, "", "", "", ", shell: /bin/sh", ", state: absent")+", depend: ["+strings.TrimSuffix(depend, ", ")+"]")
	}
}

// deep draws folders with modes in each other, and one who looks at all that is in them.
func (d *drawn) deep(t *testing.T) {
	var made []string
	for _, f := range []string{"deep/", "deep/er/", "deep/er/est/"} {
		d.taken[f] = true
		d.write(t, f+"x", pick(d, "x\n", "y\n"))
		if d.chance(3) {
			continue // nobody declares it
		}
		x := d.add("file", f, `, mode: "`+pick(d, "0700", "0750", "0755")+`"`+pick(d, "", "", "", ", recurse: true, purge: true"))
		made = append(made, x.ids...)
	}
	after := ""
	if len(made) > 0 {
		after = fmt.Sprintf(", depend: [%s]", strings.Join(made, ", "))
	}
	from := d.root + "/deep" + pick(d, "", "/er")
	if d.chance(2) {
		d.add("tar", "archive", fmt.Sprintf(", inputs: [%q]%s", from, after))
	} else {
		d.add("file", "copy/", fmt.Sprintf(", source: %q, recurse: true%s%s", from+"/", pick(d, "", ", purge: true"), after))
	}
}

// pass waits until a new file has a later second than all that is there: archives tell no more of times.
func (d *drawn) pass(t *testing.T) {
	at := filepath.Join(d.graphs, "clock")
	for first := int64(0); ; {
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(at)
		if err != nil {
			t.Fatal(err)
		}
		switch now := st.ModTime().Unix(); {
		case first == 0:
			first = now
		case now > first:
			return
		}
		time.Sleep(max(time.Millisecond, time.Until(time.Unix(first+1, 0))))
	}
}

// again draws what happens after a run, and returns another graph.
func (d *drawn) again(t *testing.T) string {
	if slices.ContainsFunc(d.list, func(x *entry) bool { return x.kind == "tar" && strings.Contains(x.rest, "inputs:") }) {
		d.pass(t)
	}
	for range d.IntN(4) {
		p := pick(d, slices.DeleteFunc(slices.Sorted(maps.Keys(d.taken)), func(p string) bool { return strings.HasPrefix(p, "image/") })...)
		switch {
		case strings.HasSuffix(p, "/") && d.chance(2):
			if err := os.Chmod(filepath.Join(d.root, p), pick[os.FileMode](d, 0o700, 0o750, 0o755)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		case strings.HasSuffix(p, "/"):
			if err := os.RemoveAll(filepath.Join(d.root, p)); err != nil {
				t.Fatal(err)
			}
		default:
			if st, err := os.Lstat(filepath.Join(d.root, p)); err == nil && !st.Mode().IsRegular() || err != nil && d.chance(2) {
				continue
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(d.root, p)), 0o755); err != nil {
				continue // a file is in the way
			}
			d.write(t, p, pick(d, "x\n", "other\n"))
		}
	}
	leave := 2 + d.IntN(4)
	for _, x := range d.list {
		if x.kind == "value" || x.stays || strings.HasSuffix(x.name, " says") || !d.chance(leave) {
			continue
		}
		if x.gone = d.chance(2); !x.gone && !strings.Contains(x.rest, "when:") {
			x.rest += `, when: "${{ 1 > 2 }}"`
		}
		for _, id := range x.ids {
			for p, makers := range d.makers {
				if slices.Contains(makers, id) {
					d.makers[p] = slices.DeleteFunc(slices.Clone(makers), func(m string) bool { return m == id })
					d.inputs = slices.DeleteFunc(d.inputs, func(in string) bool { return in == p }) // whether a new reader finds it is chance
				}
			}
			d.left = append(d.left, strings.Trim(id, `"`))
		}
	}
	for range d.IntN(5) {
		d.resource(t)
	}
	return d.text(t)
}

// text writes the module, and returns the graph that uses it.
func (d *drawn) text(t *testing.T) string {
	for to, from := range d.copies {
		for p := range d.byWorld {
			if strings.HasPrefix(p, from) {
				d.byWorld[to] = true
			}
		}
	}
	var gone []string
	for _, x := range d.list {
		for _, id := range x.ids {
			if x.gone {
				gone = append(gone, id+", ", "", ", "+id, "", id, "")
			}
		}
	}
	without := strings.NewReplacer(gone...)
	kinds := map[bool]map[string][]string{true: {}, false: {}}
	for _, x := range d.list {
		if !x.gone {
			kinds[x.module][x.kind] = append(kinds[x.module][x.kind], fmt.Sprintf("  - {name: %q%s}\n", x.at(d.root), without.Replace(x.rest)))
		}
	}
	b := &strings.Builder{}
	for in, head := range map[bool]string{true: "module: part\n", false: "graph: drawn\nuse: [{module: ./part}]\n"} {
		text := &strings.Builder{}
		text.WriteString(head + "resources:\n")
		for _, kind := range slices.Sorted(maps.Keys(kinds[in])) {
			fmt.Fprintf(text, "  %s:\n%s", kind, strings.Join(kinds[in][kind], ""))
		}
		if len(kinds[in]) == 0 {
			text.WriteString("  noop: []\n")
		}
		at := filepath.Join(d.graphs, "graph.yaml")
		if in {
			at = filepath.Join(d.graphs, "part", "module.yaml")
		}
		if err := os.WriteFile(at, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		b.WriteString(text.String())
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
		x := d.add(kind, name, fmt.Sprintf(format, args...))
		d.makers[p] = append(slices.Clone(d.makers[p]), x.ids...)
	}
	reads := true
	// Which of two editors comes first in a new file is chance without an edge, and so is what a reader of it finds.
	ordered, editors := d.chance(2), 0
	edit := func(format string, args ...any) {
		if editors++; ordered && editors > 1 {
			format += fmt.Sprintf(", depend: [%s]", strings.Join(d.makers[p], ", "))
		}
		add(format, args...)
	}
	draw := d.IntN(29)
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
		if d.chance(4) { // to a folder, in which others write by that link
			dir := strings.ReplaceAll(p, "/", "_") + ".dir/"
			d.write(t, dir, "")
			if d.chance(2) {
				d.write(t, dir+"z", pick(d, texts...))
			}
			p = strings.ReplaceAll(p, "/", "_")
			name = p
			add(", symlink: true, source: %q", d.root+"/"+dir)
			d.list[len(d.list)-1].stays = true
			name = p + "/z"
			add(", content: %q", pick(d, texts...))
			d.taken[dir+"z"], d.makers[dir+"z"] = true, d.makers[p] // behind the link
			d.inputs = append(d.inputs, dir+"z")
			return
		}
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
		d.byWorld[p], d.unsaid[p] = true, true
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
		reads, name = false, p
		if d.chance(2) {
			add(", keep: true, content: %q", pick(d, "", "[main]\nport = 1\n", "10.0.0.1\ta\n"))
		}
		for _, of := range pick(d, []string{"port"}, []string{"port", "host"}, []string{"host", "port", "user"}) {
			kind, name = "ini_setting", p+" [main] "+of
			edit(", value: %q%s", pick(d, "1", "2"), pick(d, "", "", ", state: absent"))
		}
	case 24:
		p = strings.ReplaceAll(p, "/", "_") // its folder is there
		reads, full = false, d.root+"/"+p
		for _, of := range pick(d, []string{"a"}, []string{"a", "b"}) {
			kind, name = "host", p+" line of "+of
			edit(", hostname: %s, target: %q, ip: 10.0.0.%d%s", of, full, 1+d.IntN(2), pick(d, "", "", ", state: absent"))
		}
	case 25, 26, 27, 28:
		p = strings.ReplaceAll(p, "/", "_") // its folder is there
		if draw == 28 {
			p += ".conf"
		}
		reads, name, full = false, p, d.root+"/"+p
		if d.chance(2) {
			add(", keep: true, content: %q", pick(d, "", "# mgmt name: "+full+" part a\n@daily x\n", "ssh-ed25519 "+sshKey+" "+full+" part a\n",
				"none /mnt/"+p+"/a tmpfs defaults 0 0\n", "kernel."+strings.TrimSuffix(p, ".conf")+".a = 1\n"))
		}
		for _, of := range pick(d, []string{"a"}, []string{"a", "b"}) {
			name = p + " part " + of
			switch state := pick(d, "", "", ", state: absent"); draw {
			case 25:
				kind = "crontab"
				edit(", target: %q, command: x, special: %s%s", full, pick(d, "daily", "weekly"), state)
			case 26:
				kind = "ssh_authorized_key"
				edit(", target: %q, type: ssh-ed25519, key: %s%s%s", full, sshKey, pick(d, "", ", options: [no-pty]"), state)
			case 27:
				kind = "mount"
				edit(", path: %q, fstab: %q, device: none, type: tmpfs, passno: %d%s", "/mnt/"+p+"/"+of, full, d.IntN(2), cmp.Or(state, pick(d, ", state: listed", ", state: unmounted")))
			case 28:
				kind = "sysctl"
				edit(", key: %q, path: %q, runtime: false%s", "kernel/"+strings.TrimSuffix(p, ".conf")+"/"+of, full, cmp.Or(state, fmt.Sprintf(", value: %d", d.IntN(2))))
			}
		}
	case 16:
		second := pick(d, append(d.inputs, "nothing")...)
		d.byWorld[p], d.unsaid[p] = d.byWorld[second], d.unsaid[second]
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
		x := d.list[len(d.list)-1]
		x.ids = nil
		for _, n := range []string{"1", "2"} {
			id := fmt.Sprintf("%q", "file["+full+n+"]")
			x.ids, d.makers[p+n] = append(x.ids, id), []string{id}
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
	if reads {
		d.byWorld[p], d.unsaid[p] = d.byWorld[p] || d.byWorld[input], d.unsaid[p] || d.unsaid[input]
	}
	if ordered || editors < 2 {
		d.inputs = append(d.inputs, p)
	}
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

// byOther reports whether a cause is what another resource has written.
func byOther(c reactor.Trigger) bool {
	return c.Cause == reactor.CauseAbove || c.Cause == reactor.CauseEvent && c.From != ""
}

func (d *drawn) frontend() *yaml.Frontend {
	return yaml.New(filepath.Join(d.graphs, "graph.yaml"), yaml.Options{})
}

// compare plans the graph and runs it. It returns how many resources would change, and how many are unknown.
func (d *drawn) compare(t *testing.T) (change, unknown int, wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	o := mgmt.Options{State: mgmt.StateIn(filepath.Join(d.graphs, "state")), Input: "graph.yaml"}
	plan, err := mgmt.Plan(t.Context(), o, d.frontend())
	if err != nil {
		say("%v", err)
		return
	}
	var mu sync.Mutex
	well := map[string]bool{}
	changed, failed, causes := map[string][]engine.Change{}, map[string]error{}, map[string][]reactor.Trigger{}
	class := map[string]string{}
	o.ConvergedExit, o.ConvergedTimeout, o.NoWatch = true, time.Millisecond, true
	o.Observer.Ran = func(r reactor.Run) {
		mu.Lock()
		defer mu.Unlock()
		if r.Changed {
			if _, again := changed[r.Resource]; !again {
				class[r.Resource] = r.Class.String()
			}
			changed[r.Resource] = append(changed[r.Resource], r.Changes...)
		}
		causes[r.Resource] = append(causes[r.Resource], r.Triggers...)
		delete(failed, r.Resource)
		if r.State == resgraph.StateFailed {
			failed[r.Resource] = r.Err
		} else {
			well[r.Resource] = true
		}
	}
	var g *resgraph.Graph // in effect
	o.Observer.Loaded = func(graph func() *resgraph.Graph) { g = graph() }
	// A run may be over before a kind with a Watch of its own has heard of the last work. The next one finds what that has left to do.
	for again := true; again; {
		before := len(changed)
		if _, err := mgmt.Run(t.Context(), o, d.frontend()); err != nil {
			say("%v", err)
			return
		}
		again = len(changed) > before && slices.ContainsFunc(plan.Steps, func(s mgmt.Step) bool { return s.State == resgraph.StateWouldChange && changed[s.Resource] == nil })
	}
	steps := map[string]*mgmt.Step{}
	for i := range plan.Steps {
		steps[plan.Steps[i].Resource] = &plan.Steps[i]
	}
	// What is undone may fail those that came after it, once they have done their work. Whether what comes after them was run before that
	// is chance. And what is unknown until a command has run may fail then, so that nothing behind it is run.
	cut := func(id string) bool {
		if len(causes[id]) > 0 {
			return false
		}
		at, ok := g.Index(id)
		queue := []int{at}
		for n := 0; ok && n < len(queue); n++ {
			for edge := range g.InEdges(queue[n]) {
				up := g.ID(edge.From)
				untold := steps[up] != nil && steps[up].State == resgraph.StateUnknown
				if failed[up] != nil && (well[up] || untold) {
					return true
				}
				if !slices.Contains(queue, edge.From) {
					queue = append(queue, edge.From)
				}
			}
		}
		return false
	}
	byLuck := map[string]bool{} // no edge says that its folder is made before
	for _, id := range d.left {
		if (steps[id] != nil) == slices.Contains(plan.Leaving, id) {
			say("%s leaves; the plan has the step %v, and leaving: %v", id, steps[id], plan.Leaving)
		}
	}
	for _, id := range plan.Leaving {
		if !slices.Contains(d.left, id) {
			say("%s does not leave", id)
		}
	}
	for _, s := range plan.Steps {
		if s.Left && !slices.Contains(d.left, s.Resource) {
			say("%s does not leave, and is undone", s.Resource)
		}
		_, did := changed[s.Resource]
		_, name, _ := strings.Cut(strings.TrimSuffix(s.Resource, "]"), d.root+"/")
		name, _, _ = strings.Cut(name, " ")
		name = strings.TrimSuffix(name, "/")
		switch s.State {
		case resgraph.StateWouldChange:
			change++
			if did && class[s.Resource] != s.Class.String() && !slices.ContainsFunc(slices.Concat(s.Triggers, causes[s.Resource]), byOther) {
				say("%s is %s in the plan, and %s in the run: %v, %v", s.Resource, s.Class, class[s.Resource], s.Triggers, causes[s.Resource])
			}
			if !did && !d.byWorld[name] && !d.noop[name] && !cut(s.Resource) { // what a command has to bring may be missing, and then it fails
				say("%s would change (%v), and did not: %v", s.Resource, s.Changes, failed[s.Resource])
			}
		case resgraph.StateUnknown:
			unknown++
			if !d.byWorld[name] && failed[s.Resource] == nil && !(s.Left && cut(s.Resource)) || !strings.HasPrefix(s.Until, "exec[") && !strings.HasPrefix(s.Resource, "exec[") {
				say("%s is unknown until %s, and no command decides it", s.Resource, s.Until)
			}
		case resgraph.StateFailed:
			if byLuck[s.Resource] = strings.Contains(s.Err.Error(), "the parent folder"); byLuck[s.Resource] {
				continue
			}
			if failed[s.Resource] == nil || did {
				say("%s failed in the plan (%v), and the run has done %v", s.Resource, s.Err, changed[s.Resource])
			}
		default:
			if byLuck[s.BlockedBy] {
				byLuck[s.Resource] = true
			} else if did && !d.unsaid[name] {
				say("%s is %s, and has changed: %v", s.Resource, s.State, changed[s.Resource])
			}
		}
	}
	d.left = nil
	for _, s := range plan.Steps {
		for _, because := range s.Because {
			if !slices.ContainsFunc(causes[s.Resource], func(c reactor.Trigger) bool { return c.From == because && c.Cause == reactor.CauseRefresh }) && changed[because] != nil && !cut(s.Resource) {
				say("%s would be refreshed because of %s, and was run by %v", s.Resource, because, causes[s.Resource])
			}
		}
		for _, c := range causes[s.Resource] {
			if c.Cause == reactor.CauseRefresh && !slices.Contains(s.Because, c.From) && s.State == resgraph.StateWouldChange {
				say("%s is refreshed by %s, and the plan has %v", s.Resource, c.From, s.Because)
			}
		}
	}
	return change, unknown, wrong
}
