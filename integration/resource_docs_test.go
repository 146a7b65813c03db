package integration_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var lineHead = regexp.MustCompile(`(?m)^\S+Z (INFO|WARN|ERROR) `)

// TestSessionsInTheDocs runs the sessions of the page on mgmt resource: lines that begin
// with a dollar sign are commands, and what follows is all that they write, and the exit
// code if it is not 0. They run one after the other, in a folder of their own instead
// of /tmp/mgmt-look, as another user than root where that is the case.
func TestSessionsInTheDocs(t *testing.T) {
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	owner, group := whoami(t)
	moved := strings.NewReplacer("/tmp/mgmt-look", dir,
		"owner => 'root'", "owner => '"+owner+"'", "group => 'root'", "group => '"+group+"'",
		`"owner": "root"`, `"owner": "`+owner+`"`, `"group": "root"`, `"group": "`+group+`"`,
		"owner: root", "owner: "+owner, "group: root", "group: "+group)
	n := 0
	for _, b := range blocks(t, "../docs/resource-verb.md") {
		if b.lang != "text" || !strings.HasPrefix(b.text, "$ ") {
			continue
		}
		for _, session := range strings.Split("\n"+b.text, "\n$ ")[1:] {
			n++
			command, want, _ := strings.Cut(strings.TrimSuffix(session, "\n"), "\n")
			if got := runSession(t, bin, dir, moved.Replace(command)); got != strings.TrimSuffix(moved.Replace(want), "\n") {
				t.Errorf("$ %s\n got:\n%s\n the page says:\n%s", command, got, want)
			}
		}
	}
	if n < 10 {
		t.Errorf("%d commands found", n)
	}
}

func whoami(t *testing.T) (owner, group string) {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	g, err := user.LookupGroupId(u.Gid)
	if err != nil {
		t.Fatal(err)
	}
	return u.Username, g.Name
}

// runSession runs a command of a page, if that is harmless.
func runSession(t *testing.T, bin, dir, command string) string {
	t.Helper()
	if err := harmless(command, dir); err != nil {
		t.Fatalf("$ %s\nis not run: %v", command, err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "MGMT_PREFIX="+filepath.Join(dir, "state"))
	out, err := cmd.CombinedOutput()
	text := lineHead.ReplaceAllString(strings.TrimSuffix(string(out), "\n"), "")
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		text += fmt.Sprintf("\nexit code %d", exit.ExitCode())
	} else if err != nil {
		t.Fatal(err)
	}
	return text
}
