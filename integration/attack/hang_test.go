package attack_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// hung is the route of a place whose folder is on a file system that never answers.
const hung = "hung"

func hungPlaces(dir string) []place {
	var all []place
	for _, r := range rows() {
		for _, kind := range []string{"file content", "file source", "line added", "gzip to", "host line", "tar unpacked to"} {
			if kind == r.kind+" "+r.name {
				all = append(all, newPlace(dir, r, hung, len(all)))
			}
		}
	}
	return all
}

// beHung runs mgmt in a mount namespace in which the folders of all places hang: nobody
// reads what the kernel asks of their file systems. SIGUSR1 takes them away.
func beHung(base string, argv []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, p := range hungPlaces(base) {
		fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if err := unix.Mount("fuse", p.sub, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)); err != nil {
			return fmt.Errorf("%s: %w", p.sub, err)
		}
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGUSR1, unix.SIGTERM)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		for s := range signals {
			if s == unix.SIGTERM {
				_ = cmd.Process.Signal(s)
				continue
			}
			for _, p := range hungPlaces(base) {
				if err := unix.Unmount(p.sub, unix.MNT_FORCE|unix.MNT_DETACH); err != nil {
					fmt.Fprintln(os.Stderr, "the test can't unmount:", err)
				}
			}
		}
	}()
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(exit.ExitCode())
	}
	return err
}

// TestFindingBadPathsHang: a file system that never answers stops the resources that use
// it, and no other. When it is gone, they are right again.
func TestFindingBadPathsHang(t *testing.T) {
	if testing.Short() {
		t.Skip("make check runs it")
	}
	if fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		t.Skipf("a file system that hangs is one of FUSE here: %v", err)
	} else {
		unix.Close(fd)
	}
	w := newWorldOf(t, hungPlaces)
	for _, p := range w.places {
		w.must(errors.Join(os.Chown(p.user, 0, 0), os.Mkdir(p.sub, 0o755), p.own(p.file)))
	}
	good := newPlace(w.dir, row{kind: "file", name: "good", graph: item(`{name: OUT, content: "good\n"}`)}, honest, len(w.places))
	w.must(good.make())
	w.places = append(w.places, good)
	d := w.daemonAs(t.Context(), "hung", "", "--flapping", "off")
	soon(t, d, "what is good waits for what hangs", func(string) bool {
		text, _ := os.ReadFile(good.out)
		return string(text) == "good\n"
	})
	w.must(os.Remove(good.out))
	soon(t, d, "what is good is not watched while others hang", func(string) bool {
		text, _ := os.ReadFile(good.out)
		return string(text) == "good\n"
	})
	for _, p := range w.places[:len(w.places)-1] {
		if strings.Contains(d.log(), p.id) {
			t.Errorf("%s was done, so nothing hangs and the test shows nothing", p)
		}
	}
	w.must(d.cmd.Process.Signal(unix.SIGUSR1))
	soon(t, d, "the file system is gone, and its resources are not right", func(log string) bool {
		i := strings.LastIndex(log, "converged: ")
		return i >= 0 && strings.Contains(log[i:], fmt.Sprintf("%d ok", len(w.places))) && !strings.Contains(log[i:], "failed")
	})
	d.stop()
	if t.Failed() {
		t.Log(d.log())
	}
}
