package integration_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// program builds the program under test, once, and returns the folder it is in.
// Where the tests look for races, it does too. With -short it has not the flags of a release, with which nothing that the tests
// themselves are made of could be used again: on a new machine that costs five minutes.
var program = sync.OnceValues(func() (string, error) {
	args := []string{"build", "-o", filepath.Join(programDir, "mgmt"), "-ldflags", "-X github.com/reactivegraph/mgmt/cmd/internal/cli.buildVersion=v1.2.3"}
	if !testing.Short() {
		flags, err := os.ReadFile("../packaging/buildflags")
		if err != nil {
			return "", err
		}
		for flag := range strings.Lines(string(flags)) {
			if !strings.HasPrefix(flag, "#") {
				args = append(args, strings.TrimSpace(flag))
			}
		}
	}
	if withRace() {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "../cmd/mgmt")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return programDir, nil
})

var programDir string // made by TestMain

func withRace() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}

// processes are what this binary can be instead of a test, by the value of processEnv.
var processes = map[string]func() error{}

const processEnv = "MGMT_TEST_PROCESS"

func TestMain(m *testing.M) {
	if run := processes[os.Getenv(processEnv)]; run != nil {
		if err := run(); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "mgmt-test-")
	if err != nil {
		panic(err)
	}
	programDir = dir
	// Who runs the tests with nohup, or in the background, ignores these, and so would all that is started.
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// TestScripts runs the program as people do. What a script can do beside what
// testscript has is in commands_test.go. In its *.yaml, *.json and *.toml files $WORK is the
// folder that it runs in.
func TestScripts(t *testing.T) {
	testscript.Run(t, params(t, testscript.Params{Dir: "testdata/script"}))
}

func params(t *testing.T, p testscript.Params) testscript.Params {
	t.Helper()
	dir, err := program()
	if err != nil {
		t.Fatal(err)
	}
	p.RequireExplicitExec, p.RequireUniqueNames = true, true
	p.Cmds = commands
	p.Condition = func(cond string) (bool, error) {
		if cond == "race" {
			return withRace(), nil
		}
		return false, fmt.Errorf("unknown condition %q", cond)
	}
	examples, err := filepath.Abs("../examples")
	if err != nil {
		t.Fatal(err)
	}
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("PATH", dir+":"+env.Getenv("PATH"))
		env.Setenv("MGMT_PREFIX", filepath.Join(env.WorkDir, "state"))
		env.Setenv("EXAMPLES", examples)
		env.Setenv("GORACE", "atexit_sleep_ms=0")
		if setup != nil {
			if err := setup(env); err != nil {
				return err
			}
		}
		return placeFolder(env.WorkDir)
	}
	return p
}

// placeFolder puts the folder of a script in the place of $WORK in its graphs.
func placeFolder(work string) error {
	return filepath.WalkDir(work, func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || ext != ".yaml" && ext != ".json" && ext != ".toml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "$WORK", work)), 0o600)
	})
}

// exampleNeeds are the programs that an example runs and that Debian's base lacks, each with its package.
var exampleNeeds = map[string][2]string{"apt_key.yaml": {"gpg", "gnupg"}}

// TestExamples validates, plans and runs every graph in examples, in a folder of
// its own.
func TestExamples(t *testing.T) {
	list, err := filepath.Glob("../examples/*.yaml")
	list = slices.DeleteFunc(list, func(path string) bool { return strings.HasSuffix(path, "_test.yaml") })
	if err != nil || len(list) == 0 {
		t.Fatalf("examples: %q, %v", list, err)
	}
	for _, path := range list {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			if program, ok := exampleNeeds[filepath.Base(path)]; ok {
				enginetest.Need(t, program[0], program[1])
			}
			testscript.Run(t, params(t, testscript.Params{
				Files: []string{"testdata/example.txtar"},
				Setup: func(env *testscript.Env) error {
					text, err := os.ReadFile(path)
					if err != nil {
						return err
					}
					moved := strings.ReplaceAll(string(text), "/tmp/mgmt-", "$WORK/mgmt-")
					return os.WriteFile(filepath.Join(env.WorkDir, "example.yaml"), []byte(moved), 0o600)
				},
			}))
		})
	}
}

// TestExamplesAreFormatted: every graph in examples is in its usual form.
func TestExamplesAreFormatted(t *testing.T) {
	dir, err := program()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "mgmt"), "fmt", "--check", "../examples").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestDemonstration runs what make run runs, in a folder of its own.
func TestDemonstration(t *testing.T) {
	dir, err := program()
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "../.ci/demo", filepath.Join(dir, "mgmt"))
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	for _, want := range []string{"converged: 4 ok", "hello/greeting.txt: hello, world", "hello/size.txt: 13", "in another terminal try:"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}
