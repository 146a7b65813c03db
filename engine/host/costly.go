package host

import (
	"bytes"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// memfile returns a file in memory, twice: to read from and to write to. A command whose output
// goes there can write on without a reader, where a pipe would end it.
func memfile() (read, write *os.File, err error) {
	fd, err := unix.MemfdCreate("output", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, nil, os.NewSyscallError("memfd_create", err)
	}
	again, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		unix.Close(fd)
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), "output"), os.NewFile(uintptr(again), "output"), nil
}

// reread reads the output of a command with a cost from its files, when the command has ended.
func (r *run) reread() {
	if r.c.Cost == "" {
		return
	}
	defer r.carry()
	b := make([]byte, readSize)
	for _, s := range []struct {
		from *os.File
		to   *stream
	}{{r.stdout, &r.out.stdout}, {r.stderr, &r.out.stderr}} {
		for at := int64(0); ; {
			n, err := s.from.ReadAt(b, at)
			s.to.take(b[:n])
			at += int64(n)
			if err != nil {
				break
			}
		}
		r.out.flush(s.to)
	}
}

// systemdRun makes a scope, and becomes the command in it.
const systemdRun = "/usr/bin/systemd-run"

// scopeSettings make a stop of the scope, as at a shutdown, wait for the command instead of ending it.
var scopeSettings = []string{"KillSignal=SIGCONT", "SendSIGKILL=no", "TimeoutStopSec=infinity"}

// apart returns how to start a program where a stop of our own systemd unit does not reach it: in a
// scope of its own. Outside of a service of systemd the command is unchanged.
func (h *Host) apart(program string, argv []string) (string, []string) {
	if !h.service() {
		return program, argv
	}
	out := []string{systemdRun, "--scope", "--quiet", "--collect", "--description=" + path.Base(program) + ", which mgmt has started"}
	for _, s := range scopeSettings {
		out = append(out, "--property="+s)
	}
	return systemdRun, slices.Concat(out, []string{"--", program}, argv[1:])
}

// inService reports whether this process is in a service of the systemd that runs this machine, and may make a scope there.
func inService() bool {
	if os.Geteuid() != 0 {
		return false
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return false
	}
	if _, err := os.Stat(systemdRun); err != nil {
		return false
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	return err == nil && serviceGroup(text)
}

// serviceGroup reports whether a /proc/PID/cgroup is that of a service of the system.
func serviceGroup(text []byte) bool {
	for line := range bytes.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(f) != 3 || f[0] != "0" && f[1] != "name=systemd" {
			continue
		}
		if strings.HasSuffix(f[2], ".service") && !strings.Contains(f[2], "/user@") {
			return true
		}
	}
	return false
}
