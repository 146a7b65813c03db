package attack_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// A walker that opens the folder that it has checked again by its path loses most places above which a folder is exchanged within so many,
// and one that opens a file so loses those that are read.
var stepCount = flag.Int("attack.steps", 40, "how often each place is exchanged at least")

// roleEnv says what this program is to be in place of a test.
const roleEnv = "MGMT_ATTACK_ROLE"

func TestMain(m *testing.M) {
	flag.Parse()
	if role := os.Getenv(roleEnv); role != "" {
		if err := act(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// act is what a process does that a test has started.
func act(role string) error {
	base := os.Getenv("MGMT_ATTACK_BASE")
	switch role {
	case "daemon":
		return beDaemon(base, flag.Args())
	case "hung":
		return beHung(base, flag.Args())
	case "plant":
		return plantAll(base)
	case "probe":
		return probeAll(base)
	case "prepare":
		return prepareAll(base)
	case "own":
		return ownAll(base)
	case "swap":
		return swapAll(base)
	case "step":
		return stepAll(base, *stepCount, os.Stdin, os.Stdout)
	case "stepped":
		return beStepped(base, flag.Args())
	}
	return fmt.Errorf("there is no role %s", role)
}

// built is the program, which is linked once for all worlds.
var built = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "attack-program")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "mgmt")
	if out, err := exec.Command("go", "build", "-o", path, "../../cmd/mgmt").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return os.ReadFile(path)
})

// build puts the program into a folder.
func build(t *testing.T, dir string) string {
	t.Helper()
	text, err := built()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "mgmt")
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return program
}
