package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/await"
	_ "github.com/reactivegraph/mgmt/resources/all"
)

// puppetModules are the folders that modules are looked for in: what the environment
// says, and where Debian's packages put them.
func puppetModules() []string {
	list := filepath.SplitList(os.Getenv("PUPPET_MODULES"))
	return append(list, "/usr/share/puppet/modules")
}

// needModules skips a test where a module is not installed, and fails it in CI.
func needModules(t *testing.T, names ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("make check asks Puppet")
	}
	_, err := exec.LookPath("puppet")
	missing := names
	if err == nil {
		missing = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return slices.ContainsFunc(puppetModules(), func(dir string) bool {
				_, err := os.Stat(filepath.Join(dir, name))
				return err == nil
			})
		})
	}
	switch {
	case err == nil && len(missing) == 0:
	case os.Getenv("CI") == "true":
		t.Fatalf("puppet or its modules %v are not installed", missing)
	default:
		t.Skipf("puppet or its modules %v are not installed; make check-tools installs them, and PUPPET_MODULES names folders of others", missing)
	}
}

// compiled is a catalog in JSON with rich data, or why there is none.
type compiled struct {
	Catalog json.RawMessage `json:"rich"`
	Error   string
}

// compileAll compiles manifests with the Puppet of this machine.
func compileAll(t *testing.T, manifests ...string) (list []compiled) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), await.Left())
	defer stop()
	dir := t.TempDir()
	args := []string{"../gapi/puppet/testdata/compile.rb", dir, strings.Join(puppetModules(), ":")}
	cmd := exec.CommandContext(ctx, "ruby", append(args, manifests...)...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "LANG=C.UTF-8")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	for line := range bytes.Lines(out) {
		if !bytes.HasPrefix(line, []byte("{")) {
			continue // of a log
		}
		var c compiled
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	if len(list) != len(manifests) {
		t.Fatalf("%d answers for %d manifests: %s", len(list), len(manifests), errs.String())
	}
	return list
}

// understood counts the resources of a catalog that are more than containers, and names
// those that are left out, with the reason.
func understood(t *testing.T, name string, src []byte) (all int, left []string) {
	t.Helper()
	var c struct{ Resources []struct{ Kind string } }
	if err := json.Unmarshal(src, &c); err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Resources {
		if r.Kind == "compilable_type" {
			all++
		}
	}
	d, err := puppet.Read(name, src, engine.DefaultRegistry(), puppet.Options{Lenient: true, YAML: yaml.Value, Modules: puppetModules()})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range d.Problems {
		if text, out := strings.CutSuffix(p.Message, "; the resource is left out"); out && !seen[p.Resource] {
			seen[p.Resource] = true
			left = append(left, text)
		}
	}
	if g, ds := gapi.Build(engine.DefaultRegistry(), d); g == nil {
		t.Errorf("%s: %v", name, ds)
	}
	return all, left
}

// TestFindingE5Modules: of the catalogs that come of the modules that Debian has, at least
// 372 resources are understood, and at most 7 of 100 are left out, each by its name and with the
// reason; and all of them are graphs.
func TestFindingE5Modules(t *testing.T) {
	manifests, err := filepath.Glob("testdata/catalogs/*.pp")
	if err != nil || len(manifests) != 26 {
		t.Fatal(manifests, err)
	}
	var names []string
	for _, m := range manifests {
		names = append(names, strings.TrimSuffix(filepath.Base(m), ".pp"))
	}
	needModules(t, names...)
	total, out := 0, 0
	for i, c := range compileAll(t, manifests...) {
		if c.Error != "" {
			t.Errorf("%s: %s", names[i], c.Error)
			continue
		}
		all, left := understood(t, names[i], c.Catalog)
		total, out = total+all, out+len(left)
		for _, text := range left {
			t.Logf("%s: left out: %s", names[i], text)
		}
	}
	t.Logf("%d of %d resources of %d catalogs are understood", total-out, total, len(names))
	if total-out < 372 || out*100 > total*7 {
		t.Errorf("%d of %d resources are left out", out, total)
	}
}

// twin runs a command on a file system of its own, where it finds a folder as /run/twin, and
// returns what it has altered there.
func twin(t *testing.T, stage string, command ...string) (entries []string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), await.Left())
	defer stop()
	script, err := filepath.Abs("testdata/catalogs/twin.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, script, append([]string{t.TempDir() + "/twin", stage}, command...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		switch {
		case strings.HasPrefix(line, "entry "):
			entries = append(entries, strings.TrimSpace(line))
		case strings.HasPrefix(line, "status ") && line != "status 0\n" && line != "status 2\n":
			t.Fatalf("%v: %s", command, out)
		}
	}
	return entries
}

// stageFile writes a file, with the content of another one where that is given.
func stageFile(t *testing.T, path, from string, content []byte) {
	t.Helper()
	var err error
	if from != "" {
		content, err = os.ReadFile(from)
	}
	if err == nil {
		err = os.WriteFile(path, content, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// stageModules links to modules in a folder, those that a manifest needs: puppet asks each module that it finds for facts, which
// takes half a minute for all of Debian's.
func stageModules(t *testing.T, dir string, names []string) {
	t.Helper()
	err := os.Mkdir(dir, 0o700)
	for _, name := range names {
		for _, from := range puppetModules() {
			if _, missing := os.Stat(filepath.Join(from, name)); missing == nil {
				err = errors.Join(err, os.Symlink(filepath.Join(from, name), filepath.Join(dir, name)))
				break
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// needTwins skips a test where no overlay can be mounted.
func needTwins(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `mount -t tmpfs x `+dir+` && mkdir `+dir+`/u `+dir+`/w `+dir+`/r && mount -t overlay -o lowerdir=/,upperdir=`+dir+`/u,workdir=`+dir+`/w x `+dir+`/r`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("no overlay of the machine's file system can be mounted: %v: %s", err, out)
	}
}

// TestFindingE5Twins: what `puppet apply` and mgmt make of a manifest on twin file systems is
// the same, entry by entry: names, kinds, modes, owners, contents.
func TestFindingE5Twins(t *testing.T) {
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string][]string{"files": nil, "modules": {"concat", "stdlib"}, "sources": {"postfix", "postgresql"}}
	names := slices.Sorted(maps.Keys(modules))
	needModules(t, slices.Concat(modules["modules"], modules["sources"])...)
	needTwins(t)
	var manifests []string
	for _, name := range names {
		manifest, err := filepath.Abs("testdata/twins/" + name + ".pp")
		if err != nil {
			t.Fatal(err)
		}
		manifests = append(manifests, manifest)
	}
	catalogs := compileAll(t, manifests...)
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			c := catalogs[i]
			if c.Error != "" {
				t.Fatal(c.Error)
			}
			stage := t.TempDir()
			stageFile(t, filepath.Join(stage, "catalog.json"), "", c.Catalog)
			stageFile(t, filepath.Join(stage, "manifest.pp"), manifests[i], nil)
			stageFile(t, filepath.Join(stage, "mgmt"), filepath.Join(bin, "mgmt"), nil)
			stageModules(t, filepath.Join(stage, "modules"), modules[name])
			args := []string{"puppet", "apply", "--detailed-exitcodes", "--basemodulepath", "/run/twin/modules", "/run/twin/manifest.pp"}
			for _, place := range []string{"confdir", "codedir", "vardir", "ssldir", "rundir", "logdir", "publicdir"} {
				args = append(args, "--"+place, "/tmp/twin-puppet/"+place)
			}
			want := twin(t, stage, args...)
			got := twin(t, stage, "/run/twin/mgmt", "run", "--puppet-catalog", "/run/twin/catalog.json", "--converged-exit", "--tmp-prefix")
			if diff := cmp.Diff(want, got); diff != "" || len(want) < 3 {
				t.Errorf("puppet (-) and mgmt (+), of %d entries:\n%s", len(want), diff)
			}
			t.Logf("%d entries are the same", len(want))
		})
	}
}
