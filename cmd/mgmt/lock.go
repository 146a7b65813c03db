package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// lockState takes the state folder for this process, until the returned function
// is called or the process ends, however it ends. The empty folder needs no lock.
func lockState(dir string) (unlock func(), err error) {
	if dir == "" {
		return func() {}, nil
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the state folder cannot be locked, name another one with --prefix: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = writePID(f)
	}
	if err != nil {
		defer f.Close()
		return nil, lockError(dir, f, err)
	}
	return func() { _ = f.Close() }, nil
}

func lockError(dir string, f *os.File, err error) error {
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("the state folder %s cannot be locked: %w", dir, err)
	}
	who := "another mgmt"
	if pid := readPID(f); pid != "" {
		who += " (pid " + pid + ")"
	}
	return fmt.Errorf("%s runs with the state folder %s, name another one with --prefix", who, dir)
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}

func readPID(f *os.File) string {
	buf, err := io.ReadAll(io.LimitReader(f, 32))
	pid := strings.TrimSpace(string(buf))
	if err != nil || pid == "" || strings.Trim(pid, "0123456789") != "" {
		return ""
	}
	return pid
}
