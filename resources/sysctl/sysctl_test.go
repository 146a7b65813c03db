package sysctl

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func TestMain(m *testing.M) { kindtest.Main(m) }

// TestBug28_CancelledWatchesEnd: the Watch returns as soon as its context ends.
//
// Seen failing with: sysctl.go, Watch: ctx.Done answered by a break out of the select alone.
func TestBug28_CancelledWatchesEnd(t *testing.T) {
	kindtest.WatchEnds(t, "sysctl", resAt(t.TempDir(), "a.b", "1"), nil)
}

// TestFindingA7SysctlNotForAll: a value that only root may read is in no change.
func TestFindingA7SysctlNotForAll(t *testing.T) {
	const key, canary = "net.ipv4.tcp_fastopen_key", kindtest.Canary
	kindtest.NotForAll(t, "sysctl", map[string]kindtest.Part{
		"closed file.conf": {Before: key + " = " + canary + "\n", Mode: 0o600, Make: func(p string) engine.Res {
			return &Res{Key: key, Value: canary + "2", Persist: true, Path: p, root: t.TempDir()}
		}},
		"closed value": {Make: func(string) engine.Res {
			root := t.TempDir()
			kindtest.Must(t, os.MkdirAll(root+"/proc/sys/net/ipv4", 0o755))
			kindtest.Must(t, os.WriteFile(root+"/proc/sys/net/ipv4/tcp_fastopen_key", []byte(canary+"\n"), 0o600))
			return &Res{Key: key, Value: canary + "2", Runtime: true, root: root}
		}},
	})
}

// layProc makes a tree like that of the kernel.
func layProc(t *testing.T, dir string) {
	t.Helper()
	kindtest.Lay(t, dir+"/proc/sys/net/ipv4/ip_forward", "0\n")
	kindtest.Lay(t, dir+"/proc/sys/net/ipv4/range", "1\t2\n")
	kindtest.Lay(t, dir+"/proc/sys/net/conf/eth0.1/up", "1\n")
	kindtest.Must(t, os.MkdirAll(dir+"/etc/sysctl.d", 0o700))
}

func resAt(dir, key, value string) *Res {
	return &Res{Key: key, Value: value, Runtime: true, Persist: true, root: dir, poll: 5 * time.Millisecond}
}

func TestSysctlSuite(t *testing.T) {
	model := &Res{root: "/nowhere"} // its Default makes all others, in the folder of the law that runs
	reg := engine.DefaultRegistry().Without("sysctl")
	kindtest.Must(t, reg.Register("sysctl", func() engine.Res { return model }))
	enginetest.Run(t, enginetest.Suite{
		Kind: "sysctl", Registry: reg, Prepare: layProc, Host: kindtest.RealHost, Received: []string{"value"},
		New: func(_ *testing.T, dir string) engine.Res {
			model.root = dir
			return resAt(dir, "net.ipv4.ip_forward", "1")
		},
		Drifts: map[string]func(*testing.T, string){
			"running": kindtest.WriteInto("proc/sys/net/ipv4/ip_forward", "0\n"),
			"kept":    kindtest.WriteInto("etc/sysctl.d/99-mgmt.conf", "net.ipv4.ip_forward=0\n"),
			"removed": func(t *testing.T, dir string) { kindtest.Must(t, os.Remove(dir+defaultFile)) },
		},
	})
}

func TestSysctlParameters(t *testing.T) {
	for name, c := range map[string]struct {
		file string // before; - for none
		make func(*Res)
		what string
		now  string // of ip_forward
		want string // the file after
	}{
		"both":             {"-", nil, `value: "0" -> "1" persist: (none) -> "1"`, "1\n", "net.ipv4.ip_forward = 1\n"},
		"beside others":    {"# mine\na.b = 1", nil, `value: "0" -> "1" persist: (none) -> "1"`, "1\n", "# mine\na.b = 1\nnet.ipv4.ip_forward = 1"},
		"as written":       {"net/ipv4/ip_forward=1\n", nil, `value: "0" -> "1"`, "1\n", "net/ipv4/ip_forward=1\n"},
		"the last one":     {"net.ipv4.ip_forward=1\n-net.ipv4.ip_forward = 0\n", nil, `value: "0" -> "1" persist: "0" -> "1"`, "1\n", "net.ipv4.ip_forward=1\nnet.ipv4.ip_forward = 1\n"},
		"another's name":   {"net.ipv4.ip_forwards = 7\n#net.ipv4.ip_forward = 7\n", func(r *Res) { r.Runtime = false }, `persist: (none) -> "1"`, "0\n", "net.ipv4.ip_forwards = 7\n#net.ipv4.ip_forward = 7\nnet.ipv4.ip_forward = 1\n"},
		"now only":         {"a.b=1", func(r *Res) { r.Persist = false }, `value: "0" -> "1"`, "1\n", "a.b=1"},
		"absent":           {"a.b=1\nnet.ipv4.ip_forward=1\n", func(r *Res) { r.State, r.Value = Absent, "" }, `persist: "1" -> (none)`, "0\n", "a.b=1\n"},
		"slashes":          {"-", func(r *Res) { r.Key = "net/ipv4/ip_forward" }, `value: "0" -> "1" persist: (none) -> "1"`, "1\n", "net.ipv4.ip_forward = 1\n"},
		"the name":         {"-", func(r *Res) { r.Key = ""; r.SetName("net.ipv4.ip_forward") }, `value: "0" -> "1" persist: (none) -> "1"`, "1\n", "net.ipv4.ip_forward = 1\n"},
		"blanks":           {"net.ipv4.range = 1   2\n", func(r *Res) { r.Key, r.Value = "net.ipv4.range", " 1 2" }, "", "0\n", "net.ipv4.range = 1   2\n"},
		"a dot in a part":  {"-", func(r *Res) { r.Key, r.Value, r.Persist = "net.conf.eth0/1.up", "1", false }, "", "0\n", "-"},
		"missing":          {"-", func(r *Res) { r.Key = "net.none" }, "error: the kernel has no parameter net.none (ignore_missing: true allows that)", "0\n", "-"},
		"missing, ignored": {"-", func(r *Res) { r.Key, r.IgnoreMissing = "net.none", true }, `persist: (none) -> "1"`, "0\n", "net.none = 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			layProc(t, dir)
			if c.file != "-" {
				kindtest.Lay(t, dir+defaultFile, c.file)
			}
			r := resAt(dir, "net.ipv4.ip_forward", "1")
			if c.make != nil {
				c.make(r)
			}
			f := kindtest.Begin(t, "sysctl", r)
			kindtest.Want(t, f, r, c.what)
			kindtest.WantFile(t, dir+"/proc/sys/net/ipv4/ip_forward", c.now)
			if c.want != "-" {
				kindtest.WantFile(t, dir+defaultFile, c.want)
			}
			if !strings.HasPrefix(c.what, "error") {
				kindtest.Want(t, f, r, "")
			}
		})
	}
}

func TestSysctlRefuses(t *testing.T) {
	at := func(make func(*Res)) *Res {
		r := resAt("", "a.b", "1")
		make(r)
		return r
	}
	for text, r := range map[string]*Res{
		`"a//b" is no name`:             at(func(r *Res) { r.Key = "a..b" }),
		`"//.b" is no name`:             at(func(r *Res) { r.Key = "../b" }),
		`"a/../../etc/x" is no name`:    at(func(r *Res) { r.Key = "a/../../etc/x" }),
		`"/a/b" is no name`:             at(func(r *Res) { r.Key = "/a/b" }),
		`begins with a dash`:            at(func(r *Res) { r.Key = "-a.b" }),
		`has a character in it`:         at(func(r *Res) { r.Key = "a.b\nc" }),
		`"a/b=1" has a character`:       at(func(r *Res) { r.Key = "a.b=1" }),
		`has to have two parts`:         at(func(r *Res) { r.Key = "ab" }),
		`value is missing`:              at(func(r *Res) { r.Value = "" }),
		`value is blank`:                at(func(r *Res) { r.Value = " " }),
		`value has to be one line`:      at(func(r *Res) { r.Value = "1\nx.y=2" }),
		`state is "off"`:                at(func(r *Res) { r.State = "off" }),
		`a value makes no sense`:        at(func(r *Res) { r.State = Absent }),
		`runtime and persist are both`:  at(func(r *Res) { r.Runtime, r.Persist = false, false }),
		`state is absent and persist`:   at(func(r *Res) { r.State, r.Persist = Absent, false }),
		`path has to end in .conf`:      at(func(r *Res) { r.Path = "/etc/sysctl.d/x" }),
		`path "x.conf" is not absolute`: at(func(r *Res) { r.Path = "x.conf" }),
	} {
		if err := r.Validate(); !strings.Contains(kindtest.ErrText(err), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A value that the kernel does not take as it is, is an error, and not kept.
func TestSysctlRefusedByTheKernel(t *testing.T) {
	dir := t.TempDir()
	layProc(t, dir)
	at := dir + "/proc/sys/net/ipv4/ip_forward"
	kindtest.Must(t, os.Remove(at))
	kindtest.Must(t, os.Symlink("../../../../outside", at))
	kindtest.Lay(t, dir+"/outside", "0")
	r := resAt(dir, "net.ipv4.ip_forward", "1")
	if got := kindtest.Verbs(t, kindtest.Begin(t, "sysctl", r), r, true); !strings.Contains(got, "escapes") {
		t.Errorf("it says %q", got)
	}
	kindtest.Must(t, os.Remove(at))
	err := unix.Mknod(at, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 7))) // as /dev/full
	if got := kindtest.Verbs(t, kindtest.Begin(t, "sysctl", r), r, true); err == nil && !strings.HasPrefix(got, "error: the kernel refuses the value") {
		t.Errorf("it says %q", got)
	}
	if _, err := os.Stat(dir + defaultFile); err == nil {
		t.Error("what the kernel does not have is kept")
	}
	kindtest.WantFile(t, dir+"/outside", "0")
}

// What CheckApply has looked at counts, too: a value that was wrong, right and wrong again
// between two looks of Watch is seen.
func TestSysctlLooksOfBothCount(t *testing.T) {
	dir := t.TempDir()
	layProc(t, dir)
	r := resAt(dir, "net.ipv4.ip_forward", "1")
	f := kindtest.Begin(t, "sysctl", r)
	r.look()
	kindtest.Lay(t, dir+"/proc/sys/net/ipv4/ip_forward", "1\n")
	kindtest.Verbs(t, f, r, true)
	kindtest.Lay(t, dir+"/proc/sys/net/ipv4/ip_forward", "0\n")
	if !r.look() {
		t.Error("the change is not seen")
	}
}

// A file that is not managed is not looked at.
func TestSysctlLeavesTheFileAlone(t *testing.T) {
	dir := t.TempDir()
	layProc(t, dir)
	kindtest.Must(t, os.MkdirAll(dir+defaultFile, 0o700)) // a folder
	r := resAt(dir, "net.ipv4.ip_forward", "1")
	f := kindtest.Begin(t, "sysctl", r)
	if got := kindtest.Verbs(t, f, r, true); !strings.HasPrefix(got, "error") {
		t.Errorf("it says %q", got)
	}
	r.Persist = false
	kindtest.Want(t, f, r, `value: "0" -> "1"`)
}

// A change is seen also where the value is the one that was wrong the last time.
func TestSysctlSeesEachChange(t *testing.T) {
	dir := t.TempDir()
	layProc(t, dir)
	r := resAt(dir, "net.ipv4.ip_forward", "1")
	f := kindtest.Begin(t, "sysctl", r)
	kindtest.Watching(t, f, r)
	for range 5 {
		kindtest.Verbs(t, f, r, true)
		kindtest.Lay(t, dir+"/proc/sys/net/ipv4/ip_forward", "0\n")
		f.WaitEvent(t)
	}
}

func TestSysctlLists(t *testing.T) {
	dir := t.TempDir()
	layProc(t, dir)
	kindtest.Lay(t, dir+"/proc/sys/kernel/version", "7")
	kindtest.Must(t, os.Chmod(dir+"/proc/sys/kernel/version", 0o444))
	kindtest.Lay(t, dir+"/proc/sys/kernel/empty", "")
	kindtest.Lay(t, dir+defaultFile, "net.ipv4.ip_forward = 0\nnet.ipv4.range = 3\n")
	r := resAt(dir, "", "")
	r.SetKind("sysctl")
	kindtest.Must(t, r.Init(enginetest.NewInit(t).Init()))
	var got []string
	for res, err := range r.List(t.Context()) {
		kindtest.Must(t, err)
		s := res.(*Res)
		kindtest.Must(t, s.Validate())
		got = append(got, fmt.Sprintf("%s=%s %t", s.Name(), s.Value, s.Persist))
		f := kindtest.Begin(t, "sysctl", s)
		kindtest.Want(t, f, s, "")
	}
	const all = "net.conf.eth0/1.up=1 false, net.ipv4.ip_forward=0 true, net.ipv4.range=1 2 false"
	if strings.Join(got, ", ") != all {
		t.Errorf("listed are %q", got)
	}
	for range r.List(t.Context()) {
		break
	}
}

func TestSysctlReads(t *testing.T) {
	dir := t.TempDir()
	layProc(t, dir)
	kindtest.Lay(t, dir+defaultFile, "net.none = 4\nnet.ipv4.range = 1 2")
	for key, want := range map[string]string{
		"net.ipv4.range": "exists 1 2 true true", "net.none": "exists 4 false true", "net.nothing": "absent  false true",
	} {
		r := resAt(dir, key, "1")
		kindtest.Begin(t, "sysctl", r)
		res, err := r.Read(t.Context())
		kindtest.Must(t, err)
		s := res.(*Res)
		kindtest.Must(t, s.Validate())
		if got := fmt.Sprint(s.State, " ", s.Value, " ", s.Runtime, " ", s.Persist); got != want {
			t.Errorf("%s: %s", key, got)
		}
	}
}

// Kernel and file get back what each of them had, as far as it was managed.
func TestSysctlReversed(t *testing.T) {
	for name, c := range map[string]struct {
		file  string // before
		make  func(*Res)
		after string // the file when it is undone, if others have written it since
		ends  string // the file then, if it is not what it was before
		now   string // the running value then; "0" if empty
	}{
		"both":                  {file: "a.b = 1\n"},
		"another value kept":    {file: "a.b = 1\nnet.ipv4.ip_forward=2\nc.d = 1\n"},
		"as it was written":     {file: "-net/ipv4/ip_forward\t=  2\n"},
		"the same value":        {file: "net/ipv4/ip_forward=1\n"},
		"the running one alone": {file: "net.ipv4.ip_forward = 2\n", make: func(r *Res) { r.Persist = false }},
		"the file alone":        {file: "a.b = 1\n", make: func(r *Res) { r.Runtime = false }, now: "7"},
		"taken out":             {file: "a.b=1\nnet.ipv4.ip_forward=2\n", make: func(r *Res) { r.State, r.Value = Absent, "" }, now: "7"},
		"others' lines stay":    {file: "a.b = 1\n", after: "net.ipv4.ip_forward = 1\ne.f = 1\n", ends: "e.f = 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			layProc(t, dir)
			at := dir + "/proc/sys/net/ipv4/ip_forward"
			kindtest.Lay(t, dir+defaultFile, c.file)
			r := resAt(dir, "net.ipv4.ip_forward", "1")
			if c.make != nil {
				c.make(r)
			}
			f := kindtest.Begin(t, "sysctl", r)
			was, err := r.Read(t.Context())
			kindtest.Must(t, err)
			kindtest.Verbs(t, f, r, true)
			if c.now != "" {
				kindtest.Lay(t, at, c.now+"\n") // by others
			}
			if c.after != "" {
				kindtest.Lay(t, dir+defaultFile, c.after)
			}
			undo, err := r.Reversed(was)
			kindtest.Must(t, err)
			f = kindtest.Begin(t, "sysctl", undo)
			if looked, applied := kindtest.Verbs(t, f, undo, false), kindtest.Verbs(t, f, undo, true); looked != applied {
				t.Errorf("looking it said %q, applying %q", looked, applied)
			}
			kindtest.Want(t, f, undo, "")
			kindtest.WantFile(t, dir+defaultFile, cmp.Or(c.ends, c.file))
			kindtest.WantFile(t, at, cmp.Or(c.now, "0")+"\n")
		})
	}
}

// A parameter that came with a module goes with it.
func TestSysctlReversedWithoutTheParameter(t *testing.T) {
	dir := t.TempDir()
	layProc(t, dir)
	for _, before := range []bool{true, false} { // whether it was there before
		r := resAt(dir, "net.ipv4.ip_forward", "1")
		r.IgnoreMissing = true
		at := dir + "/proc/sys/net/ipv4/ip_forward"
		if before {
			kindtest.Lay(t, at, "0\n")
		}
		f := kindtest.Begin(t, "sysctl", r)
		was, err := r.Read(t.Context())
		kindtest.Must(t, err)
		kindtest.Verbs(t, f, r, true)
		undo, err := r.Reversed(was)
		kindtest.Must(t, err)
		if before {
			kindtest.Must(t, os.Remove(at))
		} else {
			kindtest.Lay(t, at, "1\n")
		}
		kindtest.Want(t, kindtest.Begin(t, "sysctl", undo), undo, `persist: "1" -> (none)`)
		kindtest.Must(t, os.RemoveAll(at))
	}
	for _, before := range []engine.Res{nil, resAt(dir, "a.c", "1"), &Res{Key: "a.b", Path: "/other.conf"}} {
		if _, err := resAt(dir, "a.b", "1").Reversed(before); err == nil {
			t.Errorf("nobody knows what it was, and not %v", before)
		}
	}
}

func TestSysctlClashes(t *testing.T) {
	r := resAt("", "a.b", "1 2")
	gone := resAt("", "a.b", "")
	gone.State = Absent
	for _, c := range []struct {
		o    engine.Res
		want string
	}{
		{resAt("", "a/b", "1  2"), ""},
		{resAt("", "a.c", "1"), ""},
		{resAt("", "a/b", "2"), "they want different values"},
		{gone, "one wants it in the file, the other one wants it gone"},
	} {
		c.o.SetKind("other")
		r.SetKind("sysctl")
		if got := kindtest.ErrText(r.Clashes(c.o)); got != c.want {
			t.Errorf("%s: %q", c.o, got)
		}
		if got := kindtest.ErrText(c.o.(engine.ClashingRes).Clashes(r)); got != c.want {
			t.Errorf("%s, the other way: %q", c.o, got)
		}
	}
	got := resAt("", "a.b", "2")
	got.SetRecv(map[string]*engine.Send{"value": {Res: schema.Ref{Kind: "value", Name: "v"}}})
	if err := r.Clashes(got); err != nil {
		t.Error(err)
	}
}
