package pkg

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/graph"
	"github.com/reactivegraph/mgmt/resources/exec"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
)

// comingBench is graphs on a machine that has the toy, and lists of what packages bring.
type comingBench struct {
	tool  *toyTool
	host  *enginetest.FakeHost
	kind  *virtual.Kind
	lists string // the stamp of the lists
	base  string // that of the database
}

func newComingBench(t *testing.T) *comingBench {
	_, kind := toyPkg(t)
	b := &comingBench{tool: newToyTool(t.TempDir()), host: enginetest.NewHost(), kind: kind, lists: "one", base: "one"}
	b.tool.files = map[string][]string{"odd-server": {"/etc/odd-x/odd.conf", "/usr/sbin/oddd", "/usr/lib/systemd/system/oddd.service"}}
	b.host.SetCommand(b.tool.command)
	return b
}

// edges returns the automatic edges of a graph of packages, as newPkgBench names them, and others.
func (b *comingBench) edges(t *testing.T, words string, others ...engine.Res) (list []string) {
	t.Helper()
	g := graph.New[*resgraph.Vertex]("g")
	add := func(r engine.Res, kind, name string) {
		r.SetKind(kind)
		r.SetName(name)
		if _, err := g.Add(r.String(), &resgraph.Vertex{Res: r}); err != nil {
			t.Fatal(err)
		}
	}
	for w := range strings.FieldsSeq(words) {
		name, state, _ := strings.Cut(w, "=")
		r := &Res{State: state, Backed: virtualkind.OfHost(b.kind, b.host)}
		r.stamps = &databaseStamps{func(string) string { return b.lists }, func(string) string { return b.base }}
		add(r, "pkg", name)
	}
	for i, r := range others {
		switch r := r.(type) {
		case *file.Res:
			add(r, "file", r.Path)
		default:
			add(r, "exec", fmt.Sprint(i))
		}
	}
	notes := &transform.Notes{All: true}
	if _, err := transform.Run(t.Context(), g, []transform.Step{transform.AutoEdge(b.host)}, notes); err != nil {
		t.Fatal(err)
	}
	for _, n := range notes.List {
		list = append(list, strings.Join(n.Vertices, " -> ")+": "+n.Reason)
	}
	return list
}

func (b *comingBench) asked(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(b.tool.asked, want) {
		t.Errorf("it was asked %q, want %q", b.tool.asked, want)
	}
	b.tool.asked = nil
}

// TestFindingB5Edges: who needs a file, a folder of /etc, a program or a unit that a package will bring comes after the package, and
// is told how that is known.
func TestFindingB5Edges(t *testing.T) {
	b := newComingBench(t)
	got := b.edges(t, "odd-server git",
		&file.Res{Path: "/etc/odd-x/conf.d/mine.conf"}, &file.Res{Path: "/etc/odd-x/odd.conf"}, &file.Res{Path: "/etc/elsewhere/x"},
		&exec.Res{Cmd: "/sbin/oddd --check"}, &file.Res{Path: "/usr/lib/systemd/system/oddd.service"})
	const why = ", which it will bring, as the lists of toy tell"
	want := []string{
		"pkg[odd-server] -> file[/etc/odd-x/conf.d/mine.conf]: file[/etc/odd-x/conf.d/mine.conf] wants pkg with /etc/odd-x" + why,
		"pkg[odd-server] -> file[/etc/odd-x/odd.conf]: file[/etc/odd-x/odd.conf] wants pkg with /etc/odd-x/odd.conf" + why,
		"pkg[odd-server] -> exec[3]: exec[3] wants pkg with /sbin/oddd" + why,
		"pkg[odd-server] -> file[/usr/lib/systemd/system/oddd.service]: file[/usr/lib/systemd/system/oddd.service] wants pkg with /usr/lib/systemd/system/oddd.service" + why,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the edges are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	b.asked(t, "git odd-server")
}

// TestFindingB5AskedOnce: the package manager is asked once for all, not again while its lists and its database are the same, and then only
// for what is new; not for what is installed or is to go; and where there are no lists not at all.
func TestFindingB5AskedOnce(t *testing.T) {
	b := newComingBench(t)
	file := func() engine.Res { return &file.Res{Path: "/etc/odd-x/odd.conf"} }
	edges := func(words string, want int) {
		t.Helper()
		if got := b.edges(t, words, file()); len(got) != want {
			t.Errorf("%s: %q, want %d", words, got, want)
		}
	}
	edges("odd-server git", 1)
	b.asked(t, "git odd-server")
	edges("odd-server git", 1)
	b.asked(t)
	edges("odd-server git more", 1)
	b.asked(t, "more")

	b.lists = "two"
	b.tool.files["git"], b.tool.files["odd-server"] = []string{"/etc/odd-x/odd.conf"}, nil
	edges("odd-server git", 1)
	b.asked(t, "git odd-server")

	(&bench{tool: b.tool}).put(t, "git", "1")
	b.base = "two"
	edges("odd-server git old=uninstalled", 0)
	b.asked(t)

	calls := len(b.host.Commands())
	b.lists = ""
	edges("odd-server git", 0)
	if n := len(b.host.Commands()) - calls; n > 0 {
		t.Errorf("%d commands are run though there are no lists", n)
	}
}

// TestFindingB5ToolFails: what the package manager cannot tell is noted, and the graph is as without it.
func TestFindingB5ToolFails(t *testing.T) {
	b := newComingBench(t)
	b.host.SetCommand(nil)
	got := b.edges(t, "odd-server", &file.Res{Path: "/etc/odd-x/odd.conf"})
	if len(got) != 1 || !strings.Contains(got[0], "pkg[odd-server]: ") {
		t.Errorf("the notes are %q", got)
	}
}
