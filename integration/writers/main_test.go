package writers_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// other is a program to test in place of the one of this tree.
var other = flag.String("writers.program", "", "test this mgmt, and not the one of this tree")

// rounds is how often each writer writes. From 300 on the share of the writers that the history names counts, too.
var rounds = flag.Int("writers.rounds", 60, "how often each writer writes in each situation; 9 at most with -short")

// roleEnv says what this program is to be in place of a test.
const roleEnv = "MGMT_WRITERS_ROLE"

func TestMain(m *testing.M) {
	flag.Parse()
	if role := os.Getenv(roleEnv); role != "" {
		if err := act(role, flag.Arg(0), flag.Arg(1)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// act is what a writer does that the machine has no program for.
func act(role, path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	switch role {
	case "twice":
		_, err = io.WriteString(f, text[:len(text)/2])
		time.Sleep(50 * time.Millisecond)
		_, more := io.WriteString(f, text[len(text)/2:])
		err = errors.Join(err, more, f.Close())
		time.Sleep(10 * time.Millisecond)
		return err
	case "open": // until it is killed
		_, err = io.WriteString(f, text)
		time.Sleep(time.Hour)
		return err
	case "append": // for ever, as fast as a busy service
		for err == nil {
			_, err = io.WriteString(f, text+"\n")
			time.Sleep(100 * time.Microsecond)
		}
		return err
	}
	return fmt.Errorf("there is no role %s", role)
}

// built is the folder of the program of this tree, "" before a test asks for it.
var built string

// build builds the program of this tree, once.
var build = sync.OnceValues(func() (path string, err error) {
	if built, err = os.MkdirTemp("", "writers"); err != nil {
		return "", err
	}
	if err := os.Chmod(built, 0o755); err != nil { // another user runs it, too
		return "", err
	}
	path = filepath.Join(built, "mgmt")
	cmd := exec.Command("go", "build", "-o", path, "../../cmd/mgmt")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// program is mgmt.
func program(t *testing.T) string {
	t.Helper()
	if *other != "" {
		return *other
	}
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
