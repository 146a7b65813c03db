package plugin_test

import (
	"syscall"
	"testing"
)

func kill(t *testing.T, pid int) {
	t.Helper()
	if pid == 0 {
		t.Fatal("there is no process")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
