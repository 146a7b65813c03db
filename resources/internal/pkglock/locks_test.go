package pkglock

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// holdLock is the part of a test that another process plays: it holds a lock until its input ends.
const holdLock = "MGMT_TEST_HOLD_LOCK"

func init() {
	how, path, ok := strings.Cut(os.Getenv(holdLock), " ")
	if !ok {
		return
	}
	playHolder(how, path)
}

// TestFindingB3LocksOfOthers: who holds a lock is told, for each way of holding one, and not after it is over.
func TestFindingB3LocksOfOthers(t *testing.T) {
	for word, how := range map[string]LockBy{"record": ByRecord, "flock": ByFlock, "pid": ByPID, "open": ByOpen} {
		t.Run(word, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lock")
			locks := []Lock{{"apt", path + ".none", ByRecord, EndIt}, {"apt", path, how, EndIt}}
			if h := Held(locks); h != nil {
				t.Fatalf("a file that is not there is held by %v", h)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if h := Held(locks); h != nil {
				t.Fatalf("it is held by %v", h)
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), holdLock+"="+word+" "+path)
			in, _ := cmd.StdinPipe()
			out, _ := cmd.StdoutPipe()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatal(line, err)
			}
			h := Held(locks)
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			if h == nil || h.PID != cmd.Process.Pid || h.Path != path || !h.Own || !strings.HasPrefix(filepath.Base(os.Args[0]), h.Command) {
				t.Errorf("it is held by %+v, and not by process %d", h, cmd.Process.Pid)
			}
			if h := Held(locks); h != nil {
				t.Errorf("after the end it is held by %v", h)
			}
		})
	}
}

// TestFindingB3LocksSay: the text names the process, the lock, and the way out.
func TestFindingB3LocksSay(t *testing.T) {
	h := &Holder{Lock: Locks()[0], PID: 4711, Command: "apt-get"}
	if got := h.String(); got != "process 4711 (apt-get), which holds /var/lib/dpkg/lock-frontend; if it hangs, end it, and then run dpkg --configure -a" {
		t.Error(got)
	}
	h.Own = true
	if got := h.String(); got != "a transaction of mgmt itself, process 4711 (apt-get), which holds /var/lib/dpkg/lock-frontend" {
		t.Error(got)
	}
	for _, b := range []string{"apt", "dnf", "zypper", "pacman", "apk"} {
		if !slices.ContainsFunc(Locks(), func(l Lock) bool { return l.Backend == b }) {
			t.Errorf("the locks of %s are not known", b)
		}
	}
}

// announce says that the lock is held, and waits for the end of the input.
func announce() {
	os.Stdout.WriteString("held\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
