package exec

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// TestBug31_WatchcmdLeavesNothing: of a watchcmd that is started and ended with each
// graph no process goes on, and none is left unburied. The first one is gone when
// Watch returns; the others, which are not our children, have been killed.
//
// Seen failing with: exec/watch.go, Watch: the end of follow not waited for;
// host/process_linux.go, signal: the first process alone is sent it.
func TestBug31_WatchcmdLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	r := &Res{
		Cmd: "true", WatchCwd: dir, WatchShell: "/bin/sh",
		WatchCmd: `sh -c 'echo $$ > child; sleep 1000 & echo $! > grandchild; wait' & echo $$ > first; wait`,
	}
	f := real(t, r)
	for range 5 {
		f.Restart()
		stop := kindtest.Watching(t, f, r)
		var pids []int
		for _, name := range []string{"first", "child", "grandchild"} {
			pids = append(pids, kindtest.PidIn(t, filepath.Join(dir, name)))
			kindtest.Must(t, os.Remove(filepath.Join(dir, name)))
		}
		stop()
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pids[0])); err == nil {
			t.Errorf("after Watch has returned: %s", stat)
		}
		for _, pid := range pids {
			kindtest.Gone(t, pid)
		}
	}
}
