package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	_ "github.com/reactivegraph/mgmt/resources/all"
	"github.com/reactivegraph/mgmt/resources/basic"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedEnv); dir != "" {
		fmt.Fprintln(os.Stderr, runKilled(dir)) // it is killed before that
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// from returns options and a frontend that read a graph, once.
func from(graph string, o mgmt.Options) (mgmt.Options, *yaml.Frontend) {
	o.Stdin = strings.NewReader(graph)
	return o, yaml.New("-", yaml.Options{})
}

const mixed = `
graph: mixed
resources:
  test:
  - {name: differs, differs: 1, notify: ["test[told]"], before: ["test[after]"]}
  - {name: fails, checkerror: no, before: ["test[held]"]}
  - name: told
    notify: ["test[told twice]"]
  - name: told twice
  - name: held
  - name: after
  - {name: lacks, recv: {str: "exec[never]" }}
`

// TestPlanSteps: a step for every resource, in the order of the graph, with what
// it waits for and what would refresh it.
func TestPlanSteps(t *testing.T) {
	graph := strings.Replace(mixed, `  - {name: lacks, recv: {str: "exec[never]" }}`, `  - {name: lacks, recv: {str: "exec[never].stdout"}, notify: ["test[perhaps]"]}
  - name: perhaps
  exec:
  - {name: never, cmd: "true"}`, 1)
	dir := t.TempDir() + "/state"
	with, f := from(graph, mgmt.Options{State: mgmt.StateIn(dir)})
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]mgmt.Step{}
	var order []string
	for _, s := range plan.Steps {
		got[s.Resource] = s
		order = append(order, s.Resource)
	}
	for id, want := range map[string]resgraph.State{
		"test[differs]": resgraph.StateWouldChange, "test[told]": resgraph.StateWouldChange,
		"test[told twice]": resgraph.StateWouldChange, "test[after]": resgraph.StateOK,
		"test[fails]": resgraph.StateFailed, "test[held]": resgraph.StateBlocked,
		"exec[never]": resgraph.StateWouldChange, "test[lacks]": resgraph.StateUnknown, "test[perhaps]": resgraph.StateUnknown,
	} {
		if s, ok := got[id]; !ok || s.State != want {
			t.Errorf("%s is %s, want %s", id, s.State, want)
		}
	}
	if len(plan.Steps) != 9 || plan.Graph != "mixed" || plan.Report.ExitCode() != 6 {
		t.Errorf("%d steps of %q, code %d", len(plan.Steps), plan.Graph, plan.Report.ExitCode())
	}
	if s := got["test[told twice]"]; !slices.Equal(s.Because, []string{"test[told]"}) {
		t.Errorf("test[told twice] would refresh because of %q", s.Because)
	}
	if s := got["test[held]"]; s.BlockedBy != "test[fails]" {
		t.Errorf("test[held] is blocked by %q", s.BlockedBy)
	}
	if s := got["test[perhaps]"]; s.Until != "exec[never]" {
		t.Errorf("test[perhaps] is unknown until %q", s.Until)
	}
	for _, pair := range [][2]string{{"test[differs]", "test[told]"}, {"test[told]", "test[told twice]"}, {"exec[never]", "test[lacks]"}} {
		if slices.Index(order, pair[0]) > slices.Index(order, pair[1]) {
			t.Errorf("%s is after %s", pair[0], pair[1])
		}
	}
}

// TestFindingL1UntilDecides: a plan names the resource that decides, however far it is, and not one that waits for it, too.
func TestFindingL1UntilDecides(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"first", "second", "third", "fourth", "fifth"} {
		if err := os.WriteFile(root+"/"+name, []byte("y"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with, f := from(strings.ReplaceAll(`
graph: chain
resources:
  exec:
  - {name: answers, cmd: "echo x"}
  - {name: ROOT/made, cmd: "touch ROOT/made", creates: ROOT/made}
  - {name: asks, cmd: "true", ifcmd: "test -e ROOT/second", depend: ["file[ROOT/second]"]}
  file:
  - {name: ROOT/first, recv: {content: "exec[answers].output"}}
  - {name: ROOT/beside, content: x}
  - {name: ROOT/second, source: ROOT/first, depend: ["file[ROOT/beside]"]}
  - {name: ROOT/third, source: ROOT/made, depend: ["file[ROOT/beside]"]}
  - {name: ROOT/fourth, source: ROOT/third}
  gzip:
  - {name: ROOT/fifth, input: ROOT/fourth, depend: ["file[ROOT/beside]"]}
`, "ROOT", root), mgmt.Options{})
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Steps {
		want := ""
		switch strings.ReplaceAll(s.Resource, root+"/", "") {
		case "file[first]", "file[second]", "exec[asks]":
			want = "exec[answers]"
		case "file[third]", "file[fourth]", "gzip[fifth]":
			want = "exec[" + root + "/made]"
		}
		if s.Until != want {
			t.Errorf("%s is %s, until %q", s.Resource, s.State, s.Until)
		}
	}
}

// TestFindingL1LooksAgain: what leaves is undone after the resources that came after it, and alters what they look at. A plan says so, as a
// run does, and says of each change why.
func TestFindingL1LooksAgain(t *testing.T) {
	root := t.TempDir()
	state := mgmt.StateIn(t.TempDir())
	const stays = "  line:\n  - {name: added, file: ROOT/file, content: y}\n  exec:\n  - {name: told, cmd: \"true\", refreshonly: true, listen: [\"line[added]\"]}\n"
	const leaves = "  file:\n  - {name: ROOT/file, keep: true, content: \"x\\n\", meta: {leaving: undo}}\n"
	graph := func(parts string) string {
		return strings.ReplaceAll("graph: leaves\nresources:\n"+parts, "ROOT", root)
	}
	with, f := from(graph(stays+leaves), mgmt.Options{State: state, ConvergedExit: true})
	if _, err := mgmt.Run(t.Context(), with, f); err != nil {
		t.Fatal(err)
	}
	with, f = from(graph(stays), mgmt.Options{State: state})
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]string{}
	for _, s := range plan.Steps {
		if s.State != resgraph.StateWouldChange {
			t.Errorf("%s is %s", s.Resource, s.State)
		}
		classes[s.Resource] = s.Class.String()
	}
	want := map[string]string{"line[added]": "cascade", "exec[told]": "cascade", "file[" + root + "/file]": "intended"}
	if !maps.Equal(classes, want) {
		t.Errorf("the steps are %v, want %v", classes, want)
	}
}

// TestFindingL1FoldersAndFiles: a plan knows its own effects. It touches nothing, and leaves nothing behind.
func TestFindingL1FoldersAndFiles(t *testing.T) {
	root, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	graph := strings.ReplaceAll(`
resources:
  password: [{name: p}]
  file:
  - name: ROOT/a/
  - name: ROOT/a/b/
    mode: "0700"
  - {name: ROOT/a/x, content: "one\n", keep: true}
  - {name: ROOT/a/b/copy, source: ROOT/a/x, notify: ["exec[told]"]}
  - {name: ROOT/secret, recv: {content: "password[p].password"}}
  line: [{name: two, file: ROOT/a/x, content: two}]
  exec:
  - {name: told, cmd: "true", refreshonly: true}
  - {name: asks, cmd: "true", ifcmd: "test -e ROOT/a/x", depend: ["file[ROOT/a/x]"]}
  - {name: makes, cmd: "touch ROOT/a/made", creates: ROOT/a/made}
  - {name: knows, cmd: "touch ROOT/a/x", creates: ROOT/a/x, depend: ["file[ROOT/a/x]"]}
`, "ROOT", root)
	with, f := from(graph, mgmt.Options{State: mgmt.StateIn(root + "/state")})
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	others := map[string]resgraph.State{"exec[asks]": resgraph.StateUnknown, "exec[knows]": resgraph.StateOK}
	for _, s := range plan.Steps {
		want, other := others[s.Resource]
		if !other {
			want = resgraph.StateWouldChange
		}
		if s.State != want {
			t.Errorf("%s is %s until %q, want %s: %v", s.Resource, s.State, s.Until, want, s.Err)
		}
	}
	if len(plan.Steps) != 11 {
		t.Errorf("%d steps", len(plan.Steps))
	}
	for _, dir := range []string{root, temp} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("the plan has left %v, %v", left, err)
		}
	}
}

// TestFindingL1ModeOfAFolder: a folder whose mode alone would change has all that is in it for those who look at its content.
func TestFindingL1ModeOfAFolder(t *testing.T) {
	root, state := t.TempDir(), mgmt.StateIn(t.TempDir())
	graph := strings.ReplaceAll(`
graph: modes
resources:
  file:
  - {name: ROOT/d/, mode: "0700"}
  - {name: ROOT/d/e/, mode: "0700"}
  - {name: ROOT/copy/, source: ROOT/d/, recurse: true, purge: true, depend: ["file[ROOT/d/]", "file[ROOT/d/e/]"]}
  tar:
  - {name: ROOT/t, inputs: ["ROOT/d"], depend: ["file[ROOT/d/]", "file[ROOT/d/e/]"]}
`, "ROOT", root)
	for _, err := range []error{os.MkdirAll(root+"/d/e", 0o700), os.WriteFile(root+"/d/x", []byte("x"), 0o600), os.WriteFile(root+"/d/e/y", []byte("y"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	with, f := from(graph, mgmt.Options{State: state, ConvergedExit: true})
	if _, err := mgmt.Run(t.Context(), with, f); err != nil {
		t.Fatal(err)
	}
	for _, drifted := range [][]string{{"/d"}, {"/d/e"}, {"/d", "/d/e"}} {
		for _, dir := range []string{"/d", "/d/e"} {
			mode := os.FileMode(0o700)
			if slices.Contains(drifted, dir) {
				mode = 0o755
			}
			if err := os.Chmod(root+dir, mode); err != nil {
				t.Fatal(err)
			}
		}
		with, f := from(graph, mgmt.Options{State: state})
		plan, err := mgmt.Plan(t.Context(), with, f)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range plan.Steps {
			if s.State != resgraph.StateOK {
				got = append(got, strings.TrimSuffix(strings.TrimPrefix(s.Resource, "file["+root), "/]"))
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, drifted) {
			t.Errorf("%v drifted, and %v would change", drifted, got)
		}
	}
}

// TestFindingL1FolderMadeOnTheWay: a folder that no resource has, and that one makes for what is below it, is there for those behind it.
func TestFindingL1FolderMadeOnTheWay(t *testing.T) {
	root := t.TempDir()
	with, f := from(strings.ReplaceAll(`
resources:
  password: [{name: p}]
  file:
  - {name: ROOT/a/, mode: "0750"}
  - {name: ROOT/a/b/c/, mode: "0750", recurse: true}
  - {name: ROOT/a/secret, recv: {content: "password[p].password"}}
  tar: [{name: ROOT/t, inputs: ["ROOT/a/b"], depend: ["file[ROOT/a/b/c/]"]}]
  exec:
  - {name: asks, cmd: "true", creates: "ROOT/a/b", depend: ["file[ROOT/a/b/c/]"]}
  - {name: asks above, cmd: "true", creates: "ROOT/a", depend: ["file[ROOT/a/]", "file[ROOT/a/secret]"]}
`, "ROOT", root), mgmt.Options{State: mgmt.StateIn(t.TempDir())})
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Steps {
		want := resgraph.StateWouldChange
		if strings.HasPrefix(s.Resource, "exec[") {
			want = resgraph.StateOK
		}
		if s.State != want {
			t.Errorf("%s is %s, want %s: %v", s.Resource, s.State, want, s.Err)
		}
	}
}

// TestFindingL1OldStateThatIsPurged: what would get its old state back as its resource leaves goes, where a folder above is purged.
func TestFindingL1OldStateThatIsPurged(t *testing.T) {
	root, state := t.TempDir(), mgmt.StateIn(t.TempDir())
	if err := os.MkdirAll(root+"/d/e", 0o755); err != nil {
		t.Fatal(err)
	}
	options := mgmt.Options{State: state, ConvergedExit: true}
	folder := strings.ReplaceAll(`
graph: old
resources:
  file:
  - {name: ROOT/d/, purge: true, recurse: true}
`, "ROOT", root)
	with, f := from(folder+"  - {name: "+root+`/d/e/, mode: "0700", meta: {reverse: true}}`, options)
	if _, err := mgmt.Run(t.Context(), with, f); err != nil {
		t.Fatal(err)
	}
	with, f = from(folder, options)
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Steps {
		if want := s.Resource == "file["+root+"/d/]"; want != (s.State == resgraph.StateWouldChange) {
			t.Errorf("%s is %s", s.Resource, s.State)
		}
	}
	with, f = from(folder, options)
	if _, err := mgmt.Run(t.Context(), with, f); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(root + "/d"); err != nil || len(left) > 0 {
		t.Errorf("the purged folder has %v, %v", left, err)
	}
}

// TestFindingL1OldStateBelowALook: a folder that would purge, and only looks, keeps nothing from coming back.
func TestFindingL1OldStateBelowALook(t *testing.T) {
	root, options := t.TempDir(), mgmt.Options{State: mgmt.StateIn(t.TempDir()), ConvergedExit: true}
	if err := os.WriteFile(root+"/a", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{`/a, content: ours, meta: {reverse: true}`, `/, purge: true, recurse: true, meta: {drift: report}`} {
		with, f := from("graph: g\nresources: {file: [{name: "+root+file+"}]}", options)
		if _, err := mgmt.Run(t.Context(), with, f); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(root + "/a"); err != nil || string(text) != "old" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

// TestFindingL1OldStateBehindALink: what comes back by way of a link is seen by one who has looked where the link leads.
func TestFindingL1OldStateBehindALink(t *testing.T) {
	root := t.TempDir()
	options := mgmt.Options{State: mgmt.StateIn(t.TempDir()), ConvergedExit: true}
	for _, err := range []error{os.Mkdir(root+"/dir", 0o755), os.WriteFile(root+"/dir/z", []byte("old"), 0o600), os.Symlink("dir", root+"/link")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	graph := func(rest string) string {
		return strings.ReplaceAll("graph: g\nresources:\n  file:\n  - {name: ROOT/copy, source: ROOT/dir/z}\n"+rest, "ROOT", root)
	}
	with, f := from(graph("  - {name: ROOT/link/z, content: ours, meta: {reverse: true}}\n"), options)
	if _, err := mgmt.Run(t.Context(), with, f); err != nil {
		t.Fatal(err)
	}
	with, f = from(graph(""), options)
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Steps {
		if s.State != resgraph.StateWouldChange {
			t.Errorf("%s is %s", s.Resource, s.State)
		}
	}
}

// TestFindingL1UnknownInAPlannedFolder: a copy of a folder that is to be made is unknown where something in it is.
func TestFindingL1UnknownInAPlannedFolder(t *testing.T) {
	root := t.TempDir()
	options := mgmt.Options{State: mgmt.StateIn(t.TempDir()), ConvergedExit: true}
	graph := strings.ReplaceAll(`
graph: g
resources:
  exec: [{name: says, cmd: "echo x"}]
  file:
  - {name: ROOT/one/}
  - {name: ROOT/one/b, recv: {content: "exec[says].output"}}
  - {name: ROOT/copy/, source: ROOT/one/, recurse: true}
`, "ROOT", root)
	with, f := from(graph, options)
	if _, err := mgmt.Run(t.Context(), with, f); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(root + "/one"); err != nil {
		t.Fatal(err)
	}
	with, f = from(graph, options)
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Steps {
		if strings.HasSuffix(s.Resource, "/copy/]") && s.State != resgraph.StateUnknown {
			t.Errorf("%s is %s: %v", s.Resource, s.State, s.Changes)
		}
	}
}

// TestFindingL1OldStateThatOthersEdit: what another resource edits below a purged folder does not go, so its old state comes back.
func TestFindingL1OldStateThatOthersEdit(t *testing.T) {
	root, options := t.TempDir(), mgmt.Options{State: mgmt.StateIn(t.TempDir()), ConvergedExit: true}
	for _, err := range []error{os.Mkdir(root+"/d", 0o755), os.WriteFile(root+"/d/f", []byte("old\n"), 0o640)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	graph := strings.ReplaceAll(`
graph: g
resources:
  line: [{name: z, file: ROOT/d/f, content: z}]
  file:
  - {name: ROOT/d/, purge: true, recurse: true}
`, "ROOT", root)
	for _, more := range []string{"  - {name: " + root + `/d/f, mode: "0600", meta: {reverse: true}}`, ""} {
		with, f := from(graph+more, options)
		if _, err := mgmt.Run(t.Context(), with, f); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := os.Stat(root + "/d/f"); err != nil || st.Mode() != 0o640 {
		t.Errorf("the file is %v, %v", st, err)
	}
}

// TestFindingL1NoPlace: a file whose content is not known yet makes no folder for others.
func TestFindingL1NoPlace(t *testing.T) {
	root := t.TempDir()
	with, f := from(strings.ReplaceAll(`
resources:
  exec: [{name: says, cmd: "echo x"}]
  file:
  - {name: ROOT/none/told, recv: {content: "exec[says].output"}}
  - {name: ROOT/none/beside, content: x}
  - {name: ROOT/not/copy, source: ROOT/many/it, depend: ["exec[says]"]}
  - {name: ROOT/not/beside, content: x}
  - {name: ROOT/made/, depend: ["exec[says]"]}
  - {name: ROOT/made/told, recv: {content: "exec[says].output"}}
  - {name: ROOT/many/more/, recurse: true, recv: {owner: "exec[says].output"}}
`, "ROOT", root), mgmt.Options{State: mgmt.StateIn(t.TempDir())})
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Steps {
		want := resgraph.StateWouldChange
		switch {
		case strings.HasSuffix(s.Resource, "/none/told]"), strings.HasSuffix(s.Resource, "/not/copy]"):
			want = resgraph.StateUnknown // the command may make the folder
		case strings.HasSuffix(s.Resource, "/beside]"):
			want = resgraph.StateFailed
		}
		if s.State != want {
			t.Errorf("%s is %s until %q: %v", s.Resource, s.State, s.Until, s.Err)
		}
	}
}

func TestPlanOfBadGraph(t *testing.T) {
	with, f := from(mixed, mgmt.Options{})
	_, err := mgmt.Plan(t.Context(), with, f)
	if ds, ok := errors.AsType[schema.Diagnostics](err); !ok || len(ds) != 1 || ds[0].Pos.Line == 0 {
		t.Errorf("the error is %v", err)
	}
}

func TestPlanIsCut(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	with, f := from("resources: {test: [{name: slow, sleep: 1h}]}", mgmt.Options{})
	cause := errors.New("enough")
	time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
	if _, err := mgmt.Plan(ctx, with, f); !errors.Is(err, cause) {
		t.Errorf("the error is %v", err)
	}
}

func TestEmptyPlan(t *testing.T) {
	with, f := from("resources: {}", mgmt.Options{})
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil || len(plan.Steps) != 0 || plan.Report.ExitCode() != 0 {
		t.Errorf("%+v, %v", plan, err)
	}
}

// TestLoaded: the graph that took effect is told of.
func TestLoaded(t *testing.T) {
	var ids []string
	with, f := from("resources: {noop: [{name: a}, {name: b}]}", mgmt.Options{
		ConvergedExit: true, NoAutoGroup: true,
		Observer: mgmt.Observer{Loaded: func(graph func() *resgraph.Graph) {
			for _, id := range graph().IDs() {
				ids = append(ids, id)
			}
		}},
	})
	report, err := mgmt.Run(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ids, []string{"noop[a]", "noop[b]"}) || report.Counts[resgraph.StateOK] != 2 {
		t.Errorf("loaded %q, %v", ids, report)
	}
}

// TestMaxRuntimeNamesTheRestless: what keeps changing is named. A machine that is busy gets more time
// for that.
func TestMaxRuntimeNamesTheRestless(t *testing.T) {
	for most := 100 * time.Millisecond; ; most *= 4 {
		with, f := from("resources: {test: [{name: a, differs: 1000000, watchevery: 5ms}, {name: b}]}", mgmt.Options{
			ConvergedExit: true, ConvergedTimeout: time.Hour, MaxRuntime: most,
		})
		_, err := mgmt.Run(t.Context(), with, f)
		late, ok := errors.AsType[*mgmt.MaxRuntimeError](err)
		if ok && len(late.Restless) == 1 && strings.HasPrefix(late.Restless[0], "test[a] has changed ") {
			return
		}
		if !ok || most > 10*time.Second {
			t.Fatalf("the error is %v", err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []mgmt.Options{
		{Parallel: -1}, {Sema: -1}, {MaxRuntime: -1}, {ConvergedTimeout: -1}, {HeartbeatEvery: -1},
		{MaxChanges: reactor.Budget{Most: 1}}, {Flapping: &reactor.Flapping{Times: 1}},
	} {
		if err := o.Validate(); err == nil {
			t.Errorf("%+v passes", o)
		}
	}
}

// TestStateDirIsMade: a run makes the folder that it is told to keep state in, for
// itself alone; a plan does not.
func TestStateDirIsMade(t *testing.T) {
	t.Chdir(t.TempDir())
	o := mgmt.Options{State: mgmt.StateIn("a/state"), ConvergedExit: true}
	with, f := from("resources: {noop: [{name: a}]}", o)
	if _, err := mgmt.Plan(t.Context(), with, f); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after a plan: %v", err)
	}
	with, f = from("resources: {noop: [{name: a}]}", o)
	if _, err := mgmt.Run(t.Context(), with, f); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat("a/state"); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("after a run: %v, %v", fi, err)
	}
	if _, err := os.Stat("a/state/journal.db"); err != nil {
		t.Error(err)
	}
}

// TestPlanIsOfTheFirstGraph: what comes after it is not looked at, also where
// looking at the first one takes a while.
func TestPlanIsOfTheFirstGraph(t *testing.T) {
	one := func(name string) *gapi.Declared {
		return &gapi.Declared{Name: name, Resources: []gapi.Declaration{
			static.Declare("test", name, &basic.TestRes{Sleep: 200 * time.Millisecond}),
		}}
	}
	plan, err := mgmt.Plan(t.Context(), mgmt.Options{}, static.New(one("a"), one("b")))
	if err != nil {
		t.Fatal(err)
	}
	if plan.Graph != "a" || len(plan.Steps) != 1 || plan.Steps[0].Resource != "test[a]" {
		t.Errorf("planned %+v", plan)
	}
}

// TestFindingL1TextsOfOthers: what reads and writes a part of a text sees what the resources above would write, and is seen by those
// below.
func TestFindingL1TextsOfOthers(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"app.ini": "[main]\nport = 1\n", "copy.ini": "[main]\nport = 2\n",
		"made copy": "[main]\nport = 1\n[other]\nhost = a\n", "hosts": "10.0.0.1 a\n", "hosts copy": "10.0.0.2\ta\n10.0.0.3\tb\n",
	} {
		if err := os.WriteFile(root+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	graph := strings.ReplaceAll(`
graph: texts
resources:
  file:
  - {name: ROOT/made.ini, content: "[main]\nport = 1\n", keep: true}
  - {name: ROOT/copy.ini, source: ROOT/app.ini, depend: ["ini_setting[ROOT/app.ini [main] port]"]}
  - {name: ROOT/made copy, source: ROOT/made.ini, depend: ["ini_setting[ROOT/made.ini [other] host]"]}
  - {name: ROOT/hosts copy, source: ROOT/hosts, depend: ["host[a in ROOT/hosts]", "host[b in ROOT/hosts]"]}
  ini_setting:
  - {name: "ROOT/app.ini [main] port", value: "2"}
  - {name: "ROOT/made.ini [main] port", value: "1"}
  - {name: "ROOT/made.ini [other] host", value: a}
  host:
  - {name: a in ROOT/hosts, ip: 10.0.0.2}
  - {name: b in ROOT/hosts, ip: 10.0.0.3}
  line:
  - {name: same, file: ROOT/app.ini, content: port = 2, depend: ["ini_setting[ROOT/app.ini [main] port]"]}
`, "ROOT", root)
	with, f := from(graph, mgmt.Options{State: mgmt.StateIn(t.TempDir())})
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	var change []string
	for _, s := range plan.Steps {
		if s.State == resgraph.StateWouldChange {
			change = append(change, strings.ReplaceAll(s.Resource, root+"/", ""))
		} else if s.State != resgraph.StateOK {
			t.Errorf("%s is %s until %q: %v", s.Resource, s.State, s.Until, s.Err)
		}
	}
	slices.Sort(change)
	if want := []string{"file[made.ini]", "host[a in hosts]", "host[b in hosts]", "ini_setting[app.ini [main] port]", "ini_setting[made.ini [other] host]"}; !slices.Equal(change, want) {
		t.Errorf("to change: %q, want %q", change, want)
	}
	var mu sync.Mutex
	changed := map[string]bool{}
	o := mgmt.Options{State: mgmt.StateIn(t.TempDir()), ConvergedExit: true, ConvergedTimeout: time.Millisecond}
	o.Observer.Ran = func(r reactor.Run) {
		mu.Lock()
		defer mu.Unlock()
		if r.Changed {
			changed[strings.ReplaceAll(r.Resource, root+"/", "")] = true
		}
	}
	with, f = from(graph, o)
	if _, err := mgmt.Run(t.Context(), with, f); err != nil {
		t.Fatal(err)
	}
	if did := slices.Sorted(maps.Keys(changed)); !slices.Equal(did, change) {
		t.Errorf("the run changed %q, and the plan had %q", did, change)
	}
}

// TestFindingL1Accounts: a user finds the groups that the resources above would make, whether the user is there or not.
func TestFindingL1Accounts(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(root+"/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"passwd": "root:x:0:0:root:/root:/bin/sh\nbot:x:900:900::/:/bin/false\nweb:x:901:900::/:/bin/false\n", "group": "root:x:0:\nbot:x:900:\n",
		"shadow": "root:*:19000:0:99999:7:::\nbot:!:19000::::::\nweb:!:19000::::::\n",
	} {
		if err := os.WriteFile(root+"/etc/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with, f := from(strings.ReplaceAll(`
graph: accounts
resources:
  group:
  - {name: team, root: ROOT}
  user:
  - {name: bot, root: ROOT, groups: [team], depend: ["group[team]"]}
  - {name: web, root: ROOT, group: team, depend: ["group[team]"]}
  - {name: new, root: ROOT, group: team, depend: ["group[team]"]}
  - {name: lost, root: ROOT, group: nowhere}
`, "ROOT", root), mgmt.Options{State: mgmt.StateIn(t.TempDir())})
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Steps {
		want := resgraph.StateWouldChange
		if s.Resource == "user[lost]" {
			want = resgraph.StateFailed
		}
		if s.State != want {
			t.Errorf("%s is %s until %q: %v", s.Resource, s.State, s.Until, s.Err)
		}
	}
}
