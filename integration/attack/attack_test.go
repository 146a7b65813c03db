package attack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/internal/await"
)

// world is a folder with all places, a daemon and the attacker.
type site struct {
	t       *testing.T
	dir     string
	program string
	self    string // this program, where the attacker can read it
	places  []place
	before  map[string]map[string]string // the victims, by the place
}

// newWorld makes the places of all rows.
func newWorld(t *testing.T, race bool) *site {
	t.Helper()
	return newWorldOf(t, func(dir string) []place { return places(dir, race) })
}

// newWorldOf makes some places below a folder.
func newWorldOf(t *testing.T, in func(dir string) []place) *site {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root has another user to fear: run it as root")
	}
	dir, err := os.MkdirTemp("", "attack")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &site{t: t, dir: dir, self: filepath.Join(dir, "attacker"), before: map[string]map[string]string{}}
	w.must(os.Chmod(dir, 0o755))
	w.program = build(t, dir)
	exe, err := os.Executable()
	w.must(err)
	text, err := os.ReadFile(exe)
	w.must(err)
	w.must(os.WriteFile(w.self, text, 0o755))
	w.places = in(dir)
	for _, p := range w.places {
		w.must(p.make())
		w.before[p.id] = snapshot(p.victims())
	}
	return w
}

func (w *site) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// role starts this program as something else.
func (w *site) role(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.self, args...)
	cmd.Dir = "/"
	cmd.Env = []string{roleEnv + "=" + name, "MGMT_ATTACK_BASE=" + w.dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if !slices.Contains([]string{"daemon", "hung", "stepped"}, name) {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: attackerUID, Gid: attackerUID}
		return cmd
	}
	cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

// daemon starts mgmt in a mount namespace of its own, in which the attacker has a name.
func (w *site) daemon(ctx context.Context, meta string, args ...string) *daemon {
	w.t.Helper()
	return w.daemonAs(ctx, "daemon", meta, args...)
}

// daemonAs starts it by a role.
func (w *site) daemonAs(ctx context.Context, role, meta string, args ...string) *daemon {
	w.t.Helper()
	var users strings.Builder
	text, err := os.ReadFile("/etc/passwd")
	w.must(err)
	fmt.Fprintf(&users, "%s\n%s:x:%d:%[3]d::/nonexistent:/bin/sh\n", bytes.TrimSpace(text), attackerName, attackerUID)
	for _, p := range w.places {
		if p.home {
			fmt.Fprintf(&users, "u-%s:x:%d:%[2]d::%s:/bin/sh\n", p.id, attackerUID, p.user)
		}
	}
	graph := filepath.Join(w.dir, "graph.yaml")
	w.must(os.WriteFile(filepath.Join(w.dir, "passwd"), []byte(users.String()), 0o644))
	w.must(os.WriteFile(graph, []byte(declare(w.places, meta)), 0o600))
	cmd := w.role(ctx, role, append([]string{w.program, "run", "--yaml", graph, "--prefix", filepath.Join(w.dir, "state")}, args...)...)
	log, err := os.OpenFile(filepath.Join(w.dir, "log"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	w.must(err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	w.must(cmd.Start())
	return &daemon{w, cmd, log.Name()}
}

// daemon is mgmt that runs.
type daemon struct {
	*site
	cmd *exec.Cmd
	at  string // its log
}

func (d *daemon) log() string {
	text, err := os.ReadFile(d.at)
	d.must(err)
	return string(text)
}

// stop ends it, and returns what was mounted, and what the log says.
func (d *daemon) stop() (mounts, log string) {
	d.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", d.cmd.Process.Pid))
	d.must(err)
	d.must(d.cmd.Process.Signal(syscall.SIGTERM))
	err = d.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() == 1 || exit.ExitCode() < 0) {
		d.t.Fatalf("%v\n%s", err, d.log())
	}
	return string(text), d.log()
}

// beDaemon becomes mgmt.
func beDaemon(base string, argv []string) error {
	if err := privateMounts(base); err != nil {
		return err
	}
	return becomeMgmt(argv)
}

// privateMounts gives the attacker a name, for this process alone.
func privateMounts(base string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if err := unix.Mount(filepath.Join(base, "passwd"), "/etc/passwd", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind /etc/passwd: %w", err)
	}
	return nil
}

func becomeMgmt(argv []string) error {
	return syscall.Exec(argv[0], argv, []string{"PATH=" + os.Getenv("PATH")})
}

// snapshot is all that must not change of a tree.
func snapshot(root string) map[string]string {
	all := map[string]string{}
	_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err := errors.Join(err, unix.Lstat(path, &st)); err != nil {
			all[path] = err.Error()
			return nil
		}
		text, _ := os.ReadFile(path)
		attrs := make([]byte, 256)
		n, _ := unix.Llistxattr(path, attrs)
		all[path] = fmt.Sprintf("inode %d, mode %o, owner %d:%d, attributes %q, %q", st.Ino, st.Mode, st.Uid, st.Gid, attrs[:max(n, 0)], text)
		return nil
	})
	return all
}

// judge says of each place what the attacker has reached.
func (w *site) judge(mounts, log string) map[string][]string {
	lost := map[string][]string{}
	for _, p := range w.places {
		now, was := snapshot(p.victims()), w.before[p.id]
		if !maps.Equal(now, was) {
			lost[p.id] = append(lost[p.id], "a victim has changed: "+firstDifference(was, now))
		}
		if strings.Contains(mounts, " "+p.victims()) {
			lost[p.id] = append(lost[p.id], "something is mounted over a victim")
		}
		_ = filepath.WalkDir(p.user, func(path string, d fs.DirEntry, err error) error {
			if err == nil {
				if won := gained(path, d); won != "" {
					lost[p.id] = append(lost[p.id], won)
				}
			}
			return nil
		})
	}
	if i := strings.Index(log, token); i >= 0 {
		lost["log"] = []string{"the log shows the secret of root: " + log[max(0, i-300):i+len(token)]}
	}
	return lost
}

func firstDifference(was, now map[string]string) string {
	both := maps.Clone(was)
	maps.Copy(both, now)
	for _, path := range slices.Sorted(maps.Keys(both)) {
		if was[path] != now[path] {
			return fmt.Sprintf("%s\n\twas %s\n\tis  %s", path, was[path], now[path])
		}
	}
	return ""
}

// tell reports what was lost, each place once.
func (w *site) tell(lost map[string][]string) {
	w.t.Helper()
	for _, p := range w.places {
		for _, what := range lost[p.id] {
			w.t.Errorf("%s: %s", p, what)
		}
	}
	for _, what := range lost["log"] {
		w.t.Error(what)
	}
}

// TestFindingA1A2A3A6Planted: what another user has put where the graph names a path lets
// nothing of root's be changed, read or run.
func TestFindingA1A2A3A6Planted(t *testing.T) {
	w := newWorld(t, false)
	ctx := t.Context()
	out, err := w.role(ctx, "plant").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	idle := map[string]map[string]string{}
	for _, p := range w.places {
		idle[p.id] = p.made()
	}
	d := w.daemon(ctx, "", "--flapping", "off")
	for end := time.Now().Add(await.Left()); time.Now().Before(end) && !rests.MatchString(d.log()); {
		time.Sleep(100 * time.Millisecond)
	}
	mounts, log := d.stop()
	lost := w.judge(mounts, log)
	for _, p := range w.places {
		if p.route == honest && p.acts() && maps.Equal(idle[p.id], p.made()) {
			lost[p.id] = append(lost[p.id], "nothing was done, though nobody attacks: the row shows nothing")
		}
	}
	w.probe(lost)
	w.tell(lost)
	if t.Failed() {
		t.Logf("the log:\n%s", log)
	}
}

// made is all that the daemon could have made.
func (p place) made() map[string]string {
	all := snapshot(p.user)
	maps.Copy(all, snapshot(filepath.Dir(p.out)))
	return all
}

// acts reports whether what the kind makes can be seen from here. A mount is in the
// daemon's namespace, and what may not be done in another user's folder is not done.
func (p place) acts() bool { return !p.unseen }

// probe has the attacker look for what she has gained.
func (w *site) probe(lost map[string][]string) {
	w.t.Helper()
	out, err := w.role(w.t.Context(), "probe").Output()
	w.must(err)
	won := map[string][]string{}
	w.must(json.Unmarshal(out, &won))
	for id, what := range won {
		lost[id] = append(lost[id], what...)
	}
}
