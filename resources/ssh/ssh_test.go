package ssh_test

import (
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/resources/ssh"
	"github.com/reactivegraph/mgmt/resources/ssh/sshtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// info is what the server is reached by.
func info(s *sshtest.Server) provider.Record {
	return provider.Record{
		"host": "127.0.0.1", "port": int64(s.Port), "user": "root", "identity_file": s.Identity, "host_key": s.HostKey,
		"known_hosts": "/nowhere", "connect_timeout": int64(10), "keepalive": int64(1),
	}
}

func connect(t *testing.T, s *sshtest.Server) provider.Transport {
	t.Helper()
	c, err := ssh.Connect(t.Context(), &provider.Line{Target: "here"}, info(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func run(t *testing.T, c provider.Transport, cmd engine.Command) *engine.Result {
	t.Helper()
	res, err := c.(provider.Commander).Command(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestFindingE8Command: a command gets its arguments, environment and input as they are, and its output and its code come back.
func TestFindingE8Command(t *testing.T) {
	c := connect(t, sshtest.Start(t))
	odd := "it's \"odd\" $HOME `id`\n!\\ \xff\x01*"
	res := run(t, c, engine.Command{Argv: []string{"printf", "%s|%s", odd, ""}, Env: []string{"PATH=/usr/bin"}})
	if string(res.Stdout) != odd+"|" || res.ExitCode != 0 {
		t.Errorf("%q, %d, %s", res.Stdout, res.ExitCode, res.Stderr)
	}
	stdin := strings.Repeat("\x00\xff\n line ", 20000)
	if res := run(t, c, engine.Command{Argv: []string{"cat"}, Stdin: []byte(stdin)}); string(res.Stdout) != stdin {
		t.Errorf("%d bytes of %d", len(res.Stdout), len(stdin))
	}
	if res := run(t, c, engine.Command{Argv: []string{"env"}, Env: []string{"PATH=/usr/bin:/bin", "A=" + odd}}); string(res.Stdout) != "A="+odd+"\nPATH=/usr/bin:/bin\n" &&
		string(res.Stdout) != "PATH=/usr/bin:/bin\nA="+odd+"\n" {
		t.Errorf("%q", res.Stdout)
	}
	if res := run(t, c, engine.Command{Argv: []string{"sh", "-c", "pwd; echo no >&2; exit 7"}}); res.ExitCode != 7 || string(res.Stderr) != "no\n" || string(res.Stdout) != "/\n" {
		t.Errorf("%+v", res)
	}
	if res := run(t, c, engine.Command{Argv: []string{"sh", "-c", "kill -9 $$"}}); res.ExitCode != 137 {
		t.Errorf("%+v", res)
	}
	if res := run(t, c, engine.Command{Argv: []string{"no-such-program"}}); res.ExitCode != 127 {
		t.Errorf("%+v", res)
	}
	facts, err := c.Facts(t.Context())
	if err != nil || facts["kernel"] != "Linux" {
		t.Errorf("%v, %v", facts, err)
	}
	if err := c.Verify(context.Background()); err != nil {
		t.Error(err)
	}
}
