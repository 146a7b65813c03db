package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// writeFile replaces a file in one step; one that is there keeps its mode and its
// owner. A link stays, and leads to what is written; one that leads nowhere is
// replaced. What is no file, a device or a pipe, is written to; a pipe that nobody
// reads is an error.
func writeFile(path string, content []byte) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return writeInto(path, content)
	}
	if behind, err := filepath.EvalSymlinks(path); err == nil {
		path = behind
	}
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }() // does nothing after the replacement
	if info != nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			_ = f.Chown(int(st.Uid), int(st.Gid)) // only root may give it away
		}
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

func writeInto(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
