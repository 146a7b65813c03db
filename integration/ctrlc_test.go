package integration_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// TestFindingA4CtrlC: Ctrl-C on the terminal of a daemon reaches the daemon alone, which ends its
// commands by their own signal. None of them is left.
func TestFindingA4CtrlC(t *testing.T) {
	far, near := enginetest.Terminal(t)
	d := newDaemon(t, t.TempDir(), `resources:
  exec:
  - name: long
    shell: /bin/sh
    cmd: "trap 'echo int >> DIR/got' INT; echo $$ > DIR/begun; while :; do sleep 0.05; done"
`)
	d.cmd.Stdin = near
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	d.start()
	d.has("begun", "\n")
	if _, err := far.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Wait(); err == nil {
		t.Log("it ended with 0")
	}
	if got := d.log.String(); !strings.Contains(got, "interrupt: stopping") {
		t.Errorf("the log:\n%s", got)
	}
	if got := d.read("got"); got != "" {
		t.Errorf("the command got the SIGINT of the terminal, too")
	}
	d.until("the command has ended", func() bool {
		b, err := os.ReadFile("/proc/" + strings.TrimSpace(d.read("begun")) + "/cmdline")
		return err != nil || !strings.Contains(string(b), d.dir)
	})
}
