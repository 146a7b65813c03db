package hostname

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/systemd1"
)

func TestMain(m *testing.M) { kindtest.Main(m) }

// TestBug28_CancelledWatchesEnd: the Watch returns as soon as its context ends.
//
// Seen failing with: hostname.go, Watch: ctx.Done answered by a break out of the select alone.
func TestBug28_CancelledWatchesEnd(t *testing.T) {
	kindtest.WatchEnds(t, "hostname", &Res{Hostname: "a"}, nil)
}

// nameMachine gives the machine of the test its names.
func nameMachine(t *testing.T, static, transient, pretty string) {
	t.Helper()
	for path, text := range map[string]string{staticFile: static, prettyFile: pretty} {
		kindtest.Must(t, os.RemoveAll(path))
		if text != "" {
			kindtest.Put(t, path, text)
		}
	}
	kindtest.Must(t, unix.Sethostname([]byte(transient)))
}

// machineNames are all names of the machine.
func machineNames(t testing.TB) string {
	name, err := kernelName()
	if err != nil {
		t.Fatal(err)
	}
	static, _ := os.ReadFile(staticFile)
	pretty, _ := os.ReadFile(prettyFile)
	return string(static) + "|" + name + "|" + string(pretty)
}

func TestHostnameSuite(t *testing.T) {
	if !kindtest.InMachine(t) {
		return
	}
	enginetest.Run(t, enginetest.Suite{
		Kind:    "hostname",
		Prepare: func(t *testing.T, _ string) { nameMachine(t, "old\n", "older", "CHASSIS=vm\n") },
		New: func(*testing.T, string) engine.Res {
			return &Res{Hostname: "web1.example.com", PrettyHostname: new("Ada's \"web\"")}
		},
		Host: func(t testing.TB) engine.Host { return kindtest.NewHost(t) },
		Snapshot: func(t testing.TB, dir string) enginetest.Tree {
			tree := enginetest.Snapshot(t, "/etc")
			tree["the kernel"] = machineNames(t)
			return tree
		},
		Drifts: map[string]func(*testing.T, string){
			"kernel":  func(t *testing.T, _ string) { kindtest.Must(t, unix.Sethostname([]byte("drift"))) },
			"static":  func(t *testing.T, _ string) { kindtest.Put(t, staticFile, "drift\n") },
			"removed": func(t *testing.T, _ string) { kindtest.Must(t, os.Remove(staticFile)) },
			"pretty":  func(t *testing.T, _ string) { kindtest.Put(t, prettyFile, prettyKey+"drift\n") },
		},
		Variants: map[string]func(engine.Res){
			"none":      func(r engine.Res) { r.(*Res).StaticHostname = new("") },
			"transient": func(r engine.Res) { r.(*Res).TransientHostname = "other" },
		},
	})
}

func TestHostnameNames(t *testing.T) {
	if !kindtest.InMachine(t) {
		return
	}
	for name, c := range map[string]struct {
		r          *Res
		says, want string
	}{
		"both":      {&Res{Hostname: "a"}, `static_hostname: "old" -> "a" hostname: "older" -> "a"`, "a\n|a|# mine\nPRETTY_HOSTNAME=x y"},
		"static":    {&Res{Hostname: "older"}, `hostname: "old" -> "older"`, "older\n|older|# mine\nPRETTY_HOSTNAME=x y"},
		"two":       {&Res{Hostname: "old", TransientHostname: "older"}, "", "# a comment\n old \n|older|# mine\nPRETTY_HOSTNAME=x y"},
		"none":      {&Res{Hostname: "older", StaticHostname: new("")}, `static_hostname: "old" -> ""`, "|older|# mine\nPRETTY_HOSTNAME=x y"},
		"pretty":    {&Res{Hostname: "old", TransientHostname: "older", PrettyHostname: new("$x `\"\\ ü")}, `pretty_hostname: "x y" -> "$x ` + "`" + `\"\\ ü"`, "# a comment\n old \n|older|# mine\nPRETTY_HOSTNAME=\"\\$x \\`\\\"\\\\ ü\"\n"},
		"no pretty": {&Res{Hostname: "old", TransientHostname: "older", PrettyHostname: new("")}, `pretty_hostname: "x y" -> ""`, "# a comment\n old \n|older|# mine\n"},
	} {
		t.Run(name, func(t *testing.T) {
			nameMachine(t, "# a comment\n old \n", "older", "# mine\nPRETTY_HOSTNAME='x y'")
			c.want = strings.Replace(c.want, "=x y", "='x y'", 1)
			f := kindtest.Begin(t, "hostname", c.r)
			kindtest.Want(t, f, c.r, c.says)
			if got := machineNames(t); got != c.want {
				t.Errorf("the names are %q, and not %q", got, c.want)
			}
			kindtest.Want(t, f, c.r, "")
		})
	}
}

// fakeHostnamed sets names as it is told to.
type fakeHostnamed struct {
	bus.Bus
	fail   error
	refuse string // the method that has no effect
	calls  []string
}

func (b *fakeHostnamed) Call(_ context.Context, dest, _, method string, args ...any) ([]any, error) {
	name := strings.TrimPrefix(method, dest+".")
	b.calls = append(b.calls, name)
	switch {
	case b.fail != nil:
		return nil, b.fail
	case name == b.refuse:
	case name == "SetHostname":
		return nil, unix.Sethostname([]byte(args[0].(string)))
	case name == "SetStaticHostname":
		return nil, os.WriteFile(staticFile, []byte(args[0].(string)+"\n"), 0o644)
	}
	return nil, nil
}

// TestHostnamed: hostnamed is asked where systemd runs; what it does not do, and when it
// is not there, is done without it.
func TestHostnamed(t *testing.T) {
	if !kindtest.InMachine(t) {
		return
	}
	for name, c := range map[string]struct {
		bus   *fakeHostnamed
		boot  bool
		calls string
	}{
		"no systemd":  {&fakeHostnamed{}, false, ""},
		"it does it":  {&fakeHostnamed{}, true, "SetStaticHostname SetHostname"},
		"it refuses":  {&fakeHostnamed{refuse: "SetHostname"}, true, "SetStaticHostname SetHostname"},
		"it is gone":  {&fakeHostnamed{fail: &bus.Error{Name: "org.freedesktop.DBus.Error.ServiceUnknown"}}, true, "SetStaticHostname"},
		"bus is gone": {nil, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			nameMachine(t, "old\n", "older", "")
			kindtest.Must(t, os.RemoveAll(systemd1.Booted))
			if c.boot {
				kindtest.Must(t, os.MkdirAll(systemd1.Booted, 0o755))
			}
			r := &Res{Hostname: "new"}
			f := kindtest.Begin(t, "hostname", r)
			f.Host().SetBus(func(context.Context, bus.Kind) (bus.Bus, error) {
				if c.bus == nil {
					return nil, errors.New("the bus is gone")
				}
				return c.bus, nil
			})
			kindtest.Want(t, f, r, `static_hostname: "old" -> "new" hostname: "older" -> "new"`)
			if got := machineNames(t); got != "new\n|new|" {
				t.Errorf("the names are %q", got)
			}
			if c.bus != nil && strings.Join(c.bus.calls, " ") != c.calls {
				t.Errorf("called was %v", c.bus.calls)
			}
		})
	}
}

// TestHostnameTwice: the same drift is told again, though it was repaired in between so
// soon that both look alike.
func TestHostnameTwice(t *testing.T) {
	if !kindtest.InMachine(t) {
		return
	}
	nameMachine(t, "a\n", "a", "")
	r := &Res{Hostname: "a"}
	f := kindtest.Begin(t, "hostname", r)
	kindtest.Watching(t, f, r)
	for range 5 {
		kindtest.Must(t, unix.Sethostname([]byte("b")))
		f.WaitEvent(t)
		kindtest.Must(t, unix.Sethostname([]byte("a")))
		kindtest.Must(t, unix.Sethostname([]byte("b")))
		f.WaitEvent(t)
		kindtest.Must(t, unix.Sethostname([]byte("a")))
		f.WaitEvent(t)
	}
}

func TestHostnameValidate(t *testing.T) {
	for name, says := range map[string]string{
		"":                       "is empty",
		"a..b":                   "is missing",
		".a":                     "is missing",
		"-o":                     "dash",
		"a-.b":                   "dash",
		"a b":                    `' '`,
		"a\nb":                   `'\n'`,
		"../x":                   "is missing",
		"a/b":                    `'/'`,
		"ü":                      `'ü'`,
		strings.Repeat("a", 65):  "65 bytes",
		strings.Repeat("a", 64):  "64 bytes, more than 63",
		"a_b":                    `'_'`,
		strings.Repeat("a.", 33): "66 bytes",
	} {
		r := &Res{Hostname: name}
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", name, err)
		}
	}
	all := &Res{Hostname: "-", StaticHostname: new("a b"), TransientHostname: "c d", PrettyHostname: new(" \n")}
	all.SetRecv(map[string]*engine.Send{"hostname": {Secret: true}})
	if err := all.Validate(); err == nil || strings.Count(err.Error(), "\n") != 4 {
		t.Errorf("not all at once: %v", err)
	}
	for _, name := range []string{"a", "a-1.B", "1", strings.Repeat("a", 63)} {
		if err := (&Res{Hostname: name}).Validate(); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestHostnameClashes(t *testing.T) {
	a := &Res{Hostname: "a", PrettyHostname: new("x")}
	for _, c := range []struct {
		o    engine.Res
		says string
	}{
		{&Res{Hostname: "a"}, ""},
		{&Res{Hostname: "b"}, "different names"},
		{&Res{Hostname: "a", PrettyHostname: new("y")}, "different pretty"},
	} {
		if err := a.Clashes(c.o); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

// A name that was received from a command ends with a newline, which is none of the name.
func TestFindingD10HostnameOfACommand(t *testing.T) {
	r := &Res{Hostname: "web1.example.com\n"}
	r.SetKind("hostname")
	r.SetName("x")
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	if w := r.wants(); w.static != "web1.example.com" || w.transient != "web1.example.com" {
		t.Errorf("%+v", w)
	}
	r.Hostname = "web1\nweb2"
	if err := r.Validate(); err == nil {
		t.Error("two lines were taken for a name")
	}
}
