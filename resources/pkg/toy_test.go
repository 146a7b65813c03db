package pkg

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
	"github.com/reactivegraph/mgmt/resources/pkg/backends"
)

// toyTool is a package manager, with all that is installed in a folder: a file for each
// package, in which its version is. It is the command "toy" of a FakeHost.
type toyTool struct {
	dir    string
	repo   map[string][]string // versions of each package, the newest last
	lists  map[string][]string // what is known of it; nil before they were fetched
	fail   map[string]string   // packages that cannot be installed, and why
	mirror error               // why the repository cannot be reached
	silent bool                // nor can the packages that are in the lists be fetched from it
	locked string
	files  map[string][]string // what packages bring, as the lists tell
	asked  []string            // what it was asked about the files
	half   []string            // what an earlier transaction has left half done
	broken string              // why that cannot be repaired; empty if it can
	calls  []string            // the commands that alter something
}

func newToyTool(dir string) *toyTool {
	return &toyTool{dir: dir, repo: map[string][]string{"git": {"1", "2"}, "real": {"1"}, "old": {"1"}}}
}

func (t *toyTool) command(ctx context.Context, c engine.Command) (*engine.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	out, err := t.run(c.Argv[1], c.Argv[2:])
	if err != nil {
		return &engine.Result{ExitCode: 1, Stderr: []byte(err.Error())}, nil
	}
	return &engine.Result{Stdout: []byte(out)}, nil
}

func (t *toyTool) run(verb string, args []string) (string, error) {
	switch verb {
	case "where":
		return t.dir, nil
	case "list":
		return t.list()
	case "contents":
		t.asked = append(t.asked, strings.Join(args, " "))
		var out strings.Builder
		for _, name := range args {
			for _, file := range t.files[name] {
				fmt.Fprintln(&out, name, file)
			}
		}
		return out.String(), nil
	case "half":
		return strings.Join(t.half, "\n"), nil
	case "latest":
		var out strings.Builder
		for name, versions := range t.lists {
			fmt.Fprintln(&out, name, versions[len(versions)-1])
		}
		return out.String(), nil
	}
	t.calls = append(t.calls, strings.Join(append([]string{verb}, args...), " "))
	switch {
	case t.locked != "":
		return "", fmt.Errorf("locked %s", t.locked)
	case verb == "repair" && t.broken != "":
		return "", errors.New("failed " + t.broken)
	case verb == "repair":
		for _, name := range t.half {
			os.WriteFile(filepath.Join(t.dir, name), []byte("1"), 0o644)
		}
		t.half = nil
		return "", nil
	case verb == "refresh" && t.mirror != nil:
		return "", fmt.Errorf("unreachable %w", t.mirror)
	case verb == "refresh":
		t.lists = maps.Clone(t.repo)
		return "", nil
	case verb == "remove":
		for _, name := range args {
			os.Remove(filepath.Join(t.dir, name))
		}
		return "", nil
	}
	return "", t.install(args)
}

func (t *toyTool) list() (string, error) {
	files, err := os.ReadDir(t.dir)
	var out strings.Builder
	for _, f := range files {
		version, _ := os.ReadFile(filepath.Join(t.dir, f.Name()))
		fmt.Fprintln(&out, f.Name(), string(version))
	}
	return out.String(), err
}

// install brings all or nothing.
func (t *toyTool) install(args []string) error {
	if t.silent {
		return fmt.Errorf("unreachable %w", t.mirror)
	}
	versions := map[string]string{}
	for _, arg := range args {
		name, version, _ := strings.Cut(arg, "=")
		known := t.lists[name]
		if version == "" && len(known) > 0 {
			version = known[len(known)-1]
		}
		if !slices.Contains(known, version) {
			if t.mirror != nil && t.lists != nil {
				return fmt.Errorf("half %s", name)
			}
			return fmt.Errorf("unknown %s", name)
		}
		if why, bad := t.fail[name]; bad {
			return fmt.Errorf("failed %s", why)
		}
		versions[name] = version
	}
	for name, version := range versions {
		if err := os.WriteFile(filepath.Join(t.dir, name), []byte(version), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// toy is the backend that uses it.
type toy struct{ host engine.Host }

func (t *toy) run(ctx context.Context, argv ...string) (string, error) {
	r, err := t.host.Command(ctx, engine.Command{Argv: append([]string{"toy"}, argv...)})
	switch {
	case err != nil:
		return "", err
	case r.ExitCode == 0:
		return strings.TrimSpace(string(r.Stdout)), nil
	}
	switch what, text, _ := strings.Cut(string(r.Stderr), " "); what {
	case "unknown":
		return "", &backends.UnknownError{Names: []string{text}}
	case "half": // of the repositories is out of reach
		return "", errors.Join(&backends.UnknownError{Names: []string{text}}, &backends.UnreachableError{Text: "the other half"})
	case "unreachable":
		return "", &backends.UnreachableError{Text: text}
	case "locked":
		return "", &backends.LockedError{Tool: "toy", Holder: text}
	default:
		return "", &backends.ToolError{Tool: "toy", Exit: 1, Text: text}
	}
}

func (t *toy) table(ctx context.Context, verb string, names []string) (map[string]string, error) {
	out, err := t.run(ctx, verb)
	table := map[string]string{}
	for line := range strings.Lines(out) {
		name, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		if len(names) == 0 || slices.Contains(names, name) {
			table[name] = version
		}
	}
	return table, err
}

func (t *toy) listInstalled(ctx context.Context, args backends.NamesArgs) (map[string]string, error) {
	return t.table(ctx, "list", args.Names)
}

func (t *toy) latest(ctx context.Context, args backends.NamesArgs) (map[string]string, error) {
	return t.table(ctx, "latest", args.Names)
}

func (t *toy) provided(ctx context.Context, args backends.NamesArgs) (map[string][]string, error) {
	all, err := t.table(ctx, "list", nil)
	if all["real"] != "" && slices.Contains(args.Names, "virtual") {
		return map[string][]string{"virtual": {"real"}}, err
	}
	return map[string][]string{}, err
}

// origins tells by the name: what ends in -blob is not free, and what begins with the letter x the distribution does
// not look after.
func (t *toy) origins(ctx context.Context, args backends.OriginsArgs) (map[string]backends.Origin, error) {
	out := map[string]backends.Origin{}
	known, err := t.table(ctx, "latest", nil)
	for name := range args.Pkgs {
		if known[name] != "" {
			out[name] = backends.Origin{Repo: "there", Free: !strings.HasSuffix(name, "-blob"), Supported: name[0] != 'x'}
		}
	}
	return out, err
}

func (t *toy) refresh(ctx context.Context, _ virtual.Nothing) (backends.Refreshed, error) {
	_, err := t.run(ctx, "refresh")
	return backends.Refreshed{Fetched: err == nil}, err
}

func (t *toy) install(ctx context.Context, args backends.InstallArgs) (map[string]backends.Change, error) {
	argv := []string{"install"}
	for _, name := range slices.Sorted(maps.Keys(args.Pkgs)) {
		if v := args.Pkgs[name]; v != "" {
			name += "=" + v
		}
		argv = append(argv, name)
	}
	_, err := t.run(ctx, argv...)
	return map[string]backends.Change{}, err
}

func (t *toy) upgrade(ctx context.Context, args backends.UpgradeArgs) (map[string]backends.Change, error) {
	_, err := t.run(ctx, append([]string{"install"}, args.Names...)...)
	return map[string]backends.Change{}, err
}

func (t *toy) remove(ctx context.Context, args backends.RemoveArgs) (map[string]backends.Change, error) {
	_, err := t.run(ctx, append([]string{"remove"}, args.Names...)...)
	return map[string]backends.Change{}, err
}

func (t *toy) contents(ctx context.Context, args backends.ContentsArgs) (map[string][]string, error) {
	out, err := t.run(ctx, append([]string{"contents"}, args.Names...)...)
	all := map[string][]string{}
	for line := range strings.Lines(out) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[name] = append(all[name], file)
	}
	return all, err
}

func (t *toy) offered(ctx context.Context, args backends.ContentsArgs) ([]string, error) {
	known, err := t.table(ctx, "latest", nil)
	if len(known) == 0 {
		return args.Names, err
	}
	return slices.DeleteFunc(slices.Clone(args.Names), func(name string) bool { return known[name] == "" }), err
}

func (t *toy) interrupted(ctx context.Context, _ virtual.Nothing) ([]string, error) {
	out, err := t.run(ctx, "half")
	return strings.Fields(out), err
}

func (t *toy) repair(ctx context.Context, _ virtual.Nothing) (map[string]backends.Change, error) {
	_, err := t.run(ctx, "repair")
	return map[string]backends.Change{}, err
}

func (t *toy) cmp(_ context.Context, args backends.CompareArgs) (int, error) {
	return strings.Compare(args.A, args.B), nil
}

func (t *toy) Watch(ctx context.Context, _ []string) (events.Subscription, error) {
	dir, err := t.run(ctx, "where")
	if err != nil {
		return nil, err
	}
	return t.host.Watch(ctx, []string{dir}, events.Options{Contents: true})
}

// toyPkg is the kind pkg with that backend, and one that can do next to nothing.
func toyPkg(t testing.TB) (*engine.Registry, *virtual.Kind) {
	t.Helper()
	backend := virtual.Native("toy", func(_ context.Context, env virtual.Env) (*toy, error) { return &toy{env.Host}, nil },
		virtual.Func("list_installed", (*toy).listInstalled), virtual.Func("latest_version", (*toy).latest),
		virtual.Func("provided", (*toy).provided), virtual.Func("refresh_db", (*toy).refresh),
		virtual.Func("install", (*toy).install), virtual.Func("upgrade", (*toy).upgrade),
		virtual.Func("origins", (*toy).origins), virtual.Func("remove", (*toy).remove), virtual.Func("version_cmp", (*toy).cmp),
		virtual.Func("contents", (*toy).contents), virtual.Func("offered", (*toy).offered),
		virtual.Func("interrupted", (*toy).interrupted), virtual.Func("repair", (*toy).repair))
	poor := virtual.Native("poor", func(_ context.Context, env virtual.Env) (*toy, error) { return &toy{env.Host}, nil },
		virtual.Func("list_installed", (*toy).listInstalled))
	backend.Module, poor.Module, backend.Priority = "pkg", "pkg", 1
	c := virtual.NewCatalog()
	if err := c.Declare(backends.Interface()); err != nil {
		t.Fatal(err)
	}
	if err := c.Add(backend, poor); err != nil {
		t.Fatal(err)
	}
	system := func(virtual.Facts) virtual.System { return virtual.System{Facts: virtual.Facts{}} }
	r := engine.NewRegistry()
	if err := virtual.RegisterKind(r, c, "pkg", system, newPkg); err != nil {
		t.Fatal(err)
	}
	made, err := r.New("pkg")
	if err != nil {
		t.Fatal(err)
	}
	return r, made.(*Res).VirtualKind()
}

// bench is packages of one batch on a machine that has the toy.
type bench struct {
	tool  *toyTool
	res   []engine.Res
	fakes []*enginetest.Fake
	host  *enginetest.FakeHost
}

// newPkgBench makes packages "name" or "name=state".
func newPkgBench(t testing.TB, words ...string) *bench {
	t.Helper()
	_, kind := toyPkg(t)
	b := &bench{tool: newToyTool(t.TempDir()), host: enginetest.NewHost()}
	b.host.SetCommand(b.tool.command)
	for _, w := range words {
		name, state, _ := strings.Cut(w, "=")
		r := &Res{State: state, Recommends: true, Backed: virtualkind.Of(kind)}
		r.SetKind("pkg")
		r.SetName(name)
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		f := enginetest.NewInit(t, enginetest.WithHost(b.host))
		if err := r.Init(f.Init()); err != nil {
			t.Fatal(err)
		}
		b.res, b.fakes = append(b.res, r), append(b.fakes, f)
	}
	return b
}

// put has a package installed by somebody else.
func (b *bench) put(t testing.TB, name, version string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.tool.dir, name), []byte(version), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs the batch and returns a line for each: its changes, and how it ended.
func (b *bench) run(ctx context.Context, apply bool) []string {
	b.tool.calls = nil
	for _, f := range b.fakes {
		f.Reset()
	}
	var out []string
	for _, r := range b.res {
		r.(*Res).Handle().Noop = !apply // a look is that of a plan
	}
	for i, o := range b.res[0].(*Res).CheckApplyBatch(ctx, apply, b.res) {
		line := fmt.Sprint(b.res[i].Name(), " ", b.fakes[i].Changes(), " ", o.OK)
		if o.Err != nil {
			line += " " + o.Err.Error()
		}
		out = append(out, line)
	}
	return out
}

func (b *bench) want(t testing.TB, apply bool, lines ...string) {
	t.Helper()
	if got := b.run(t.Context(), apply); !slices.Equal(got, lines) {
		t.Errorf("it gave\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

func (b *bench) wantCalls(t testing.TB, calls ...string) {
	t.Helper()
	if !slices.Equal(b.tool.calls, calls) {
		t.Errorf("it ran\n%s\nwant\n%s", strings.Join(b.tool.calls, "\n"), strings.Join(calls, "\n"))
	}
}
