package ssh_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
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

// TestFindingE8Refused: each reason for which a target can't be used has an error of its own, without the secrets.
func TestFindingE8Refused(t *testing.T) {
	s := sshtest.Start(t)
	other := filepath.Join(t.TempDir(), "other")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "opensesame", "-f", other).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	public, err := os.ReadFile(other + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	empty, known := filepath.Join(t.TempDir(), "empty"), filepath.Join(t.TempDir(), "known")
	write(t, empty, "")
	write(t, known, fmt.Sprintf("[127.0.0.1]:%d %s", s.Port, public))
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, c := range map[string]struct {
		with provider.Record
		want string
	}{
		"another host key":         {provider.Record{"host_key": string(public)}, "another host key than host_key says"},
		"unknown host key":         {provider.Record{"host_key": nil, "known_hosts": empty}, "is not in " + empty + ": add the line"},
		"another key in the file":  {provider.Record{"host_key": nil, "known_hosts": known}, "another host key than " + known + " says"},
		"no file of keys":          {provider.Record{"host_key": nil}, "known_hosts: open /nowhere"},
		"no host key":              {provider.Record{"host_key": "hunter"}, "host_key is no public key"},
		"wrong key":                {provider.Record{"identity_file": other, "passphrase": schema.NewSecret("opensesame")}, "does not let root in"},
		"wrong passphrase":         {provider.Record{"identity_file": other, "passphrase": schema.NewSecret("opensesam")}, "identity_file: " + other},
		"no passphrase":            {provider.Record{"identity_file": other}, "identity_file: " + other},
		"wrong password":           {provider.Record{"identity_file": nil, "password": schema.NewSecret("opensesame")}, "does not let root in"},
		"neither key nor password": {provider.Record{"identity_file": nil}, "neither identity_file nor password"},
		"no answer":                {provider.Record{"port": int64(silent.Addr().(*net.TCPAddr).Port), "connect_timeout": int64(1)}, "has not answered within 1s"},
		"nobody there":             {provider.Record{"port": int64(1)}, "refused"},
	} {
		with := info(s)
		maps.Copy(with, c.with)
		got, err := ssh.Connect(t.Context(), &provider.Line{Target: "here"}, with)
		if err == nil {
			got.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "opensesam") {
			t.Errorf("%s: %v, wanted %q", name, err, c.want)
		}
	}
	if err := os.Chmod(s.Identity, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ssh.Connect(t.Context(), &provider.Line{}, info(s)); err == nil || !strings.Contains(err.Error(), "other users can read") {
		t.Error(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFindingE8ArgumentsOfTheTarget: nothing of a command's environment and input is in an argument list on the target.
func TestFindingE8ArgumentsOfTheTarget(t *testing.T) {
	c := connect(t, sshtest.Start(t))
	res := run(t, c, engine.Command{
		Argv: []string{"sh", "-c", "cat >/dev/null; cat /proc/[0-9]*/cmdline | tr '\\0' ' '"}, Env: []string{"PATH=/usr/bin:/bin", "TOKEN=opensesame"}, Stdin: []byte("trustno1"),
	})
	if out := string(res.Stdout); !strings.Contains(out, "sshd") || strings.Contains(out, "opensesame") || strings.Contains(out, "trustno1") {
		t.Errorf("%s", out)
	}
}

// TestFindingE8Hangs: a command whose context ends is ended on the target, too, with what it has started.
func TestFindingE8Hangs(t *testing.T) {
	c := connect(t, sshtest.Start(t))
	pid := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	go func() {
		sshtest.Until(t, "running", func() bool { text, _ := os.ReadFile(pid); return strings.HasSuffix(string(text), "\n") })
		cancel(why)
	}()
	_, err := c.(provider.Commander).Command(ctx, engine.Command{Argv: []string{"sh", "-c", "sleep 1000 & echo $! > " + pid + "; wait"}})
	if !errors.Is(err, why) {
		t.Error(err)
	}
	text, _ := os.ReadFile(pid)
	sshtest.Until(t, "ended", func() bool {
		state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/stat")
		return err != nil || strings.Contains(string(state), ") Z ")
	})
	if res := run(t, c, engine.Command{Argv: []string{"true"}}); res.ExitCode != 0 {
		t.Errorf("%+v", res)
	}
}
