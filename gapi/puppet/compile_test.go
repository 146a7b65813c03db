package puppet_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/internal/await"
)

// needPuppet skips a test where there is no puppet, and fails it in CI. Puppet takes seconds for each answer, so make test asks it nothing.
func needPuppet(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("make check asks Puppet")
	}
	if _, err := exec.LookPath("puppet"); err == nil {
		return
	}
	const text = "puppet is not installed, so nothing is compared with it; make check-tools installs it on Debian"
	if os.Getenv("CI") == "true" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// compile compiles a manifest that needs no module with the puppet of this machine, as people do. It looks for none, as their
// facts alone take it half a minute.
func compile(t *testing.T, manifest string) []byte {
	t.Helper()
	dir := t.TempDir()
	ctx, stop := context.WithTimeout(t.Context(), await.Left())
	defer stop()
	args := []string{"catalog", "compile", "node", "--manifest", manifest, "--render-as", "json", "--basemodulepath", filepath.Join(dir, "modules")}
	for _, place := range []string{"confdir", "codedir", "vardir", "ssldir", "rundir", "logdir", "publicdir"} {
		args = append(args, "--"+place, filepath.Join(dir, place))
	}
	cmd := exec.CommandContext(ctx, "puppet", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	return out.Bytes()
}

// compiled is a catalog as puppet prints it, the same with rich data, or why there is none.
type compiled struct {
	Plain, Rich json.RawMessage
	Error       string
}

// compileAll compiles manifests that may need the modules of Debian, all in one process: what puppet does before it compiles
// takes longer than that.
func compileAll(t *testing.T, manifests ...string) (list []compiled) {
	t.Helper()
	args := append([]string{"testdata/compile.rb", t.TempDir(), "/usr/share/puppet/modules"}, manifests...)
	for _, line := range ruby(t, "{", len(manifests), args...) {
		var c compiled
		must(t, json.Unmarshal(line, &c))
		list = append(list, c)
	}
	return list
}

// ruby runs a script, and returns the lines that are its answers; others are of its log.
func ruby(t *testing.T, prefix string, count int, args ...string) (lines [][]byte) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), await.Left())
	defer stop()
	cmd := exec.CommandContext(ctx, "ruby", args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "LANG=C.UTF-8")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	for line := range bytes.Lines(out) {
		if bytes.HasPrefix(line, []byte(prefix)) {
			lines = append(lines, line)
		}
	}
	if len(lines) != count {
		t.Fatalf("%d answers for %d files: %s", len(lines), count, errs.String())
	}
	return lines
}

// unknownType is what Puppet says of a type that no module brings.
var unknownType = regexp.MustCompile(`Unknown resource type: '[^']*'`)

// TestFindingE9Lacking: what Puppet says of a type that it lacks is known as that, and
// nothing else is.
func TestFindingE9Lacking(t *testing.T) {
	const says = "Error: Evaluation Error: Error while evaluating a Resource Statement, Unknown resource type: 'apt_key' (file: /a.pp, line: 1)"
	if got := unknownType.FindString(says); got != "Unknown resource type: 'apt_key'" {
		t.Error(got)
	}
	if got := unknownType.FindString("Error: Syntax error at 'x'"); got != "" {
		t.Error(got)
	}
}

// TestCompile: what Debian's puppet prints for the sample manifests is read as what
// it was when the samples were made.
func TestCompile(t *testing.T) {
	needPuppet(t)
	dir, _ := vectorFolder()
	names, err := samples(dir)
	must(t, err)
	var manifests []string
	for _, name := range names {
		manifest, err := filepath.Abs(filepath.Join(dir, name+".pp"))
		must(t, err)
		manifests = append(manifests, manifest)
	}
	catalogs := compileAll(t, manifests...)
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			want, err := readExpected(filepath.Join(dir, name+".expected.json"))
			must(t, err)
			if text := catalogs[i].Error; text != "" {
				if m := unknownType.FindString(text); m != "" {
					t.Skip("the Puppet of this machine lacks a type that the sample uses: " + m)
				}
				t.Fatal(text)
			}
			for _, src := range [][]byte{catalogs[i].Plain, catalogs[i].Rich} {
				for what, diff := range compare(t, name, src, want) {
					if !slices.ContainsFunc(deviations, func(d deviation) bool { return d.what == what && bytes.Contains(src, []byte(d.has)) }) {
						t.Errorf("%s: %s", what, diff)
					}
				}
			}
		})
	}
}

// asked asks Puppet itself for the relations in catalogs.
func asked(t *testing.T, files ...string) (list [][]puppet.Pair) {
	t.Helper()
	for _, line := range ruby(t, "[", len(files), append([]string{"testdata/relations.rb", t.TempDir()}, files...)...) {
		pairs := []puppet.Pair{}
		must(t, json.Unmarshal(line, &pairs))
		slices.SortFunc(pairs, func(a, b puppet.Pair) int {
			return cmp.Or(strings.Compare(a.Source, b.Source), strings.Compare(a.Target, b.Target))
		})
		list = append(list, pairs)
	}
	return list
}

// TestCompileContainers: classes, defined types and stages are related as Puppet
// relates them, and what came of it can be run.
func TestCompileContainers(t *testing.T) {
	needPuppet(t)
	manifest, err := filepath.Abs("testdata/manifests/containers.pp")
	must(t, err)
	src := compile(t, manifest)
	file := filepath.Join(t.TempDir(), "catalog.json")
	must(t, os.WriteFile(file, src[bytes.Index(src, []byte("\n{"))+1:], 0o600))
	pairs, order, ds := puppet.Relations("c.json", src, kinds)
	if len(ds) > 0 || order == nil {
		t.Errorf("%v", ds)
	}
	if diff := gocmp.Diff(asked(t, file)[0], pairs); diff != "" || len(pairs) < 20 {
		t.Error(diff)
	}
	d, err := puppet.Read("c.json", src, kinds, puppet.Options{})
	must(t, err)
	if g, ds := gapi.Build(kinds, d); g == nil {
		t.Error(ds)
	}
}

// randomCatalog makes one of classes in each other, and resources in them, with
// relations between all of them.
func randomCatalog(r *rand.Rand) string {
	var refs, resources, contains []string
	var classes []int
	for i := range 3 + r.IntN(10) {
		typ, title, params := "Notify", fmt.Sprint(i), ""
		switch r.IntN(4) {
		case 0:
			typ, title = "Class", fmt.Sprintf("C%d", i)
		case 1:
			typ, title = "File", [...]string{"/d", "/bin/" + fmt.Sprint(r.IntN(4)), "/" + strings.Repeat("d/", r.IntN(3)) + title}[r.IntN(3)]
			if slices.Contains(refs, "File["+title+"]") {
				title = "/d/" + fmt.Sprint(i)
			}
		case 2:
			typ, params = "Exec", fmt.Sprintf(`, "command": "/bin/%d", "cwd": "/d"`, r.IntN(4))
		}
		ref := typ + "[" + title + "]"
		for _, word := range []string{"before", "require", "notify", "subscribe"} {
			if len(refs) > 0 && r.IntN(14) == 0 {
				params += fmt.Sprintf(`, %q: [%q]`, word, refs[r.IntN(len(refs))])
			}
		}
		made := entry(i+1, typ, title, "{"+strings.TrimPrefix(params, ", ")+"}")
		if typ == "Class" {
			made = strings.Replace(made, "compilable_type", "class", 1)
		}
		resources = append(resources, made)
		if len(classes) > 0 {
			in := refs[classes[r.IntN(len(classes))]]
			contains = append(contains, in+" > "+ref)
		}
		if typ == "Class" {
			classes = append(classes, len(refs))
		}
		refs = append(refs, ref)
	}
	return strings.Replace(source(resources, contains...), "{", `{"version": 1, "environment": "production", `, 1)
}

// cyclic reports whether relations make a cycle.
func cyclic(pairs []puppet.Pair) bool {
	g := graph.New[int]("")
	for _, p := range pairs {
		from, _ := g.Add(p.Source, 0) // there already, or new
		to, _ := g.Add(p.Target, 0)
		if from == to || g.Connect(graph.Edge{From: from, To: to}) != nil {
			return true
		}
	}
	return g.Cycle() != nil
}

// TestAgainstPuppet: in whatever catalogs, the relations are those that Puppet finds.
// In one with a cycle there are none that Puppet does not have: here an automatic one
// that closes a cycle is none.
func TestAgainstPuppet(t *testing.T) {
	needPuppet(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	var files, texts []string
	for i := range 100 {
		texts = append(texts, randomCatalog(r))
		files = append(files, filepath.Join(dir, fmt.Sprint(i)))
		must(t, os.WriteFile(files[i], []byte(texts[i]), 0o600))
	}
	cycles := 0
	for i, want := range asked(t, files...) {
		got, _, ds := puppet.Relations("c.json", []byte(texts[i]), kinds)
		if cyclic(want) {
			want = slices.DeleteFunc(want, func(p puppet.Pair) bool { return !slices.Contains(got, p) })
			cycles++
		}
		if diff := gocmp.Diff(want, append([]puppet.Pair{}, got...)); diff != "" || len(ds) > 0 {
			t.Fatalf("%s\n%v\n%s", texts[i], ds, diff)
		}
	}
	if t.Logf("%d catalogs, %d with a cycle", len(texts), cycles); cycles > len(texts)*2/3 {
		t.Error("too few of them can be compared in full")
	}
}
