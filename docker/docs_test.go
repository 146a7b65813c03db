package docker_test

import (
	"flag"
	"go/build"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/reactivegraph/mgmt/docker"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	_ "github.com/reactivegraph/mgmt/resources/all"
)

var update = flag.Bool("update", false, "write the reference anew")

// TestReferenceIsFresh: the pages of the two kinds are those that follow from them.
func TestReferenceIsFresh(t *testing.T) {
	for _, name := range []string{"docker_container", "docker_image"} {
		k, err := engine.DefaultRegistry().Kind(name)
		if err != nil {
			t.Fatal(err)
		}
		want := "<!-- Made from the kind. Change what it is made from: run `make docs`. -->\n\n" + derive.Markdown(derive.Kind{
			Name: k.Name, Doc: k.Doc, Type: k.Type, Sends: k.Abilities.Sends, Abilities: k.Abilities.Names(),
		})
		path := filepath.Join("../docs/reference/docker", name+".md")
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is stale (%v), run make docs", path, err)
		}
	}
}

var graphs = regexp.MustCompile("(?ms)^```yaml\n(# .*?)^```$")

// TestGraphsOfThePage: those that docs/docker.md shows can be built.
func TestGraphsOfThePage(t *testing.T) {
	page, err := os.ReadFile("../docs/docker.md")
	if err != nil {
		t.Fatal(err)
	}
	found := graphs.FindAllStringSubmatch(string(page), -1)
	if len(found) != 2 {
		t.Errorf("%d graphs", len(found))
	}
	for _, m := range found {
		g := graphIn(t, m[1])
		if strings.HasPrefix(m[1], "# shop.yaml") {
			inOrder(t, g)
		}
	}
}

func graphIn(t *testing.T, text string) *resgraph.Graph {
	t.Helper()
	file := filepath.Join(t.TempDir(), "graph.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := gapi.Env{Registry: engine.DefaultRegistry, NoWatch: true}
	for d, err := range yaml.New(file, yaml.Options{}).Graphs(t.Context(), env) {
		if err != nil {
			t.Fatal(err)
		}
		g, diags := gapi.Build(engine.DefaultRegistry(), d)
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		return g
	}
	t.Fatal("there is no graph")
	return nil
}

// TestDependsOnTheContractOnly: the kinds see of ours what any kind of another module
// sees, and nothing else needs the client.
func TestDependsOnTheContractOnly(t *testing.T) {
	p, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	const ours = "github.com/reactivegraph/mgmt/"
	for _, imp := range p.Imports {
		if rest, ok := strings.CutPrefix(imp, ours); ok && !slices.Contains([]string{"engine", "engine/autoedge", "engine/events", "engine/schema", "traits"}, rest) {
			t.Errorf("it imports %s", imp)
		}
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mod), "moby") {
		t.Error("the client is in go.mod of the main module")
	}
}

// inOrder checks what the page says of the edges that nobody has to write.
func inOrder(t *testing.T, g *resgraph.Graph) {
	t.Helper()
	g, err := transform.AutoEdge(nil).Apply(t.Context(), g, &transform.Notes{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range [][2]string{
		{"pkg[docker.io]", "svc[docker]"}, {"svc[docker]", "docker_image[registry.example.com/shop/app:1.4]"},
		{"svc[docker]", "docker_container[cache]"}, {"docker_image[registry.example.com/shop/app:1.4]", "docker_container[shop]"},
		{"file[/srv/shop/app.conf]", "docker_container[shop]"},
	} {
		from, ok := g.Index(e[0])
		to, ok2 := g.Index(e[1])
		if !ok || !ok2 || !g.Reachable(from, to) {
			t.Errorf("%s does not come before %s", e[0], e[1])
		}
	}
}
