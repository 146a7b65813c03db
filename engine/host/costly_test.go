package host

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// costly is a command that says that it has started, waits for a file, and says more.
func costly(t *testing.T) (c engine.Command, begun, goOn string) {
	dir := t.TempDir()
	begun, goOn = filepath.Join(dir, "begun"), filepath.Join(dir, "go")
	c = sh(`echo first; echo oops >&2; echo $$ >` + begun + `.new; mv ` + begun + `.new ` + begun + `; until [ -e ` + goOn + ` ]; do sleep 0.01; done; echo last; exit 3`)
	c.Cost = "the database is left half written"
	return c, begun, goOn
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// TestFindingB1CostlyCommandIsLetFinish: the end of the context does not end it, and its result is whole.
func TestFindingB1CostlyCommandIsLetFinish(t *testing.T) {
	h := newHost(t, Options{})
	c, begun, goOn := costly(t)
	var lines []string
	c.Stdout = func(l []byte) { lines = append(lines, string(l)) }
	ctx, cancel := context.WithCancel(t.Context())
	type ending struct {
		r   *engine.Result
		err error
	}
	ended := make(chan ending, 1)
	go func() {
		r, err := h.Command(ctx, c)
		ended <- ending{r, err}
	}()
	await(t, "it has begun", exists(begun))
	cancel()
	select {
	case e := <-ended:
		t.Fatalf("it was cut: %+v, %v", e.r, e.err)
	case <-time.After(100 * time.Millisecond):
	}
	write(t, goOn, "")
	e := <-ended
	if e.err != nil || e.r.ExitCode != 3 || string(e.r.Stdout) != "first\nlast\n" || string(e.r.Stderr) != "oops\n" || !slices.Equal(lines, []string{"first", "last"}) {
		t.Errorf("%+v, %v, %q", e.r, e.err, lines)
	}
	if _, err := h.Command(ctx, c); err == nil {
		t.Error("it is started although the context has ended")
	}
}

// TestFindingB1SecondSignalCutsCostlyCommand: KillAll ends it, and it is said so.
func TestFindingB1SecondSignalCutsCostlyCommand(t *testing.T) {
	h := newHost(t, Options{})
	c, begun, _ := costly(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := h.Command(ctx, c)
		ended <- err
	}()
	await(t, "it has begun", exists(begun))
	cancel()
	h.KillAll()
	if err := <-ended; err == nil {
		t.Error("it was killed, and no error says so")
	}
	pid, err := os.ReadFile(begun)
	must(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	must(t, err)
	gone(t, []int{n})
}

// TestFindingB2CostlyCommandRunsInAScope: a stop of our unit does not reach it.
func TestFindingB2CostlyCommandRunsInAScope(t *testing.T) {
	h := newHost(t, Options{})
	for _, in := range []bool{false, true} {
		h.service = func() bool { return in }
		program, argv := h.apart("/usr/bin/apt-get", []string{"apt-get", "install", "x"})
		text := program + " " + strings.Join(argv, " ")
		if want := "/usr/bin/apt-get apt-get install x"; !in && text != want {
			t.Errorf("outside of a service %q, want %q", text, want)
		}
		if in && (program != systemdRun || argv[1] != "--scope" || !strings.HasSuffix(text, " -- /usr/bin/apt-get install x")) {
			t.Errorf("in a service %q", text)
		}
	}
	for text, want := range map[string]bool{
		"0::/system.slice/mgmt.service\n":                                     true,
		"0::/machine.slice/x.service\n":                                       true,
		"12:cpu:/\n1:name=systemd:/system.slice/mgmt.service\n0::/\n":         true,
		"0::/user.slice/user-0.slice/session-1.scope\n":                       false,
		"0::/user.slice/user-0.slice/user@0.service/app.slice/mgmt.service\n": false,
		"0::/system.slice/mgmt.service/sub\n":                                 false,
		"0::/\n":                                                              false,
		"":                                                                    false,
	} {
		if got := serviceGroup([]byte(text)); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// TestFindingQ15NewestLine: while a command runs, its newest line can be seen, of one that may be cut as of one that may not;
// afterwards there is none.
func TestFindingQ15NewestLine(t *testing.T) {
	for _, cost := range []string{"", "the database is left half written"} {
		h := newHost(t, Options{})
		c, begun, goOn := costly(t)
		c.Cost, c.Newest = cost, new(engine.Newest)
		c.Argv[len(c.Argv)-1] = `head -c 5000 /dev/zero | tr '\0' x; echo; ` + strings.Replace(c.Argv[len(c.Argv)-1], "echo oops >&2; ", "", 1)
		ended := make(chan error, 1)
		go func() {
			_, err := h.Command(t.Context(), c)
			ended <- err
		}()
		await(t, "it has begun", exists(begun))
		await(t, "its line is seen", func() bool { return c.Newest.Line() == "first" })
		write(t, goOn, "")
		if err := <-ended; err != nil || c.Newest.Line() != "" {
			t.Errorf("cost %q: %v, %q is shown after its end", cost, err, c.Newest.Line())
		}
	}
}
