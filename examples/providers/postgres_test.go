//go:build linux

package providers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// server is the PostgreSQL of this test program. All tests share it, since its start takes a second. It listens on a socket in a
// folder of its own only, and logs each statement.
var server struct {
	sync.Once
	env     map[string]string
	process *exec.Cmd
	dir     string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if server.process != nil {
		_ = server.process.Process.Signal(syscall.SIGQUIT)
		_ = server.process.Wait()
		_ = os.RemoveAll(server.dir)
	}
	os.Exit(code)
}

// postgres returns the environment for psql.
func postgres(t testing.TB) map[string]string {
	t.Helper()
	programs := []string{serverProgram(t, "initdb"), serverProgram(t, "postgres")} // a test that lacks one is skipped here
	server.Do(func() { startServer(t, programs[0], programs[1]) })
	if server.env == nil {
		t.Fatal("the server has not started")
	}
	return server.env
}

// startServer makes a cluster, starts its server, and waits for it. The server refuses to be root, so another user runs it then.
func startServer(t testing.TB, initdb, postgres string) {
	dir, err := os.MkdirTemp("", "mgmt-pg")
	if err != nil {
		t.Fatal(err)
	}
	server.dir = dir
	secret := filepath.Join(dir, "password")
	if err := os.WriteFile(secret, []byte("test-superuser"), 0o644); err != nil {
		t.Fatal(err)
	}
	attr := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		const nobody = 65534
		attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	c := exec.Command(initdb, "-D", data, "-U", "mgmt", "-A", "scram-sha-256", "--pwfile", secret, "--no-sync", "--locale=C", "-E", "UTF8")
	c.SysProcAttr, c.Dir = attr, dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	run := exec.Command(postgres, "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "log_statement=all")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	run.Stdout, run.Stderr, run.Dir = log, log, dir
	run.SysProcAttr = attr
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	server.process = run
	env := map[string]string{"PGHOST": dir, "PGUSER": "mgmt", "PGDATABASE": "postgres", "PGPASSWORD": "test-superuser"}
	for range 500 {
		ask := exec.Command("psql", "-XAtc", "SELECT 1")
		for key, v := range env {
			ask.Env = append(ask.Env, key+"="+v)
		}
		ask.Env = append(ask.Env, "PATH="+os.Getenv("PATH"))
		if ask.Run() == nil {
			server.env = env
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	text, _ := os.ReadFile(log.Name())
	t.Fatalf("the server does not answer: %s", strings.TrimSpace(string(text)))
}

// serverProgram returns the path of a program of the server. Debian puts them beside PATH.
func serverProgram(t testing.TB, name string) string {
	t.Helper()
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name); len(found) > 0 {
		return slices.Max(found)
	}
	return enginetest.Need(t, name, "postgresql")
}
