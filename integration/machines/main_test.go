package machines

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/integration/hosts"
)

// patience is for what takes milliseconds, on a machine that is busy with other tests.
const patience = 5 * time.Minute

var packageDir string // made by TestMain

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "mgmt-machines-")
	if err != nil {
		panic(err)
	}
	packageDir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// deb builds the program's package, once.
var deb = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("../../packaging/build", packageDir, "v1.2.3")
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000", "PACKAGE_FORMATS=deb")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("packaging/build: %w\n%s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(packageDir, "*.deb"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("packaging/build made %q: %w", found, err)
	}
	return found[0], nil
})

// boot boots a machine in which mgmt is installed, and not started.
func boot(t *testing.T, name string) *hosts.Host {
	t.Helper()
	tree := hosts.Base(t)
	path, err := deb()
	if err != nil {
		t.Fatal(err)
	}
	h := tree.Boot(t, name)
	h.Install(path)
	return h
}

// draws returns what a test draws its random numbers from: others each time, but where
// MGMT_SEED says which, as in CI, so that a change is judged by the drifts of the one before.
func draws(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("MGMT_SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal("MGMT_SEED: ", err)
		}
		seed = given
	}
	t.Logf("MGMT_SEED=%d draws the same", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// driftRuns is how many drifts a test draws, of each kind: enough that each drift of the kind comes several times, and after
// most of the others. MGMT_DRIFTS asks for another number.
func driftRuns(t *testing.T) int {
	t.Helper()
	text := os.Getenv("MGMT_DRIFTS")
	if text == "" {
		return 30
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal("MGMT_DRIFTS: ", err)
	}
	return n
}

// settle waits until the daemon has converged, and all is as wanted.
func settle(h *hosts.Host) {
	h.Run("mgmt", "status", "--wait", "converged", "--timeout", "3m", "--exit-code")
}
