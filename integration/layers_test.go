package integration_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/reactivegraph/mgmt"

// pkg is what the go command knows of a package. Paths inside the module are
// relative to it, "." for its root; those outside begin with an "@".
type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
}

// row is one pattern of the layer table.
type row struct {
	layer   int
	pattern string // a package, or all below one: x/*
}

// layerOf returns the layer of a package. The pattern that names it wins, then
// the longest.
func layerOf(table []row, p string) (int, bool) {
	best, found := row{}, false
	for _, r := range table {
		dir, all := strings.CutSuffix(r.pattern, "/*")
		switch {
		case r.pattern == p:
			return r.layer, true
		case all && strings.HasPrefix(p, dir+"/") && len(r.pattern) > len(best.pattern):
			best, found = r, true
		}
	}
	return best.layer, found
}

// parseTable reads the first table whose head is "layer | packages".
func parseTable(text string) ([]row, error) {
	var table []row
	inside := false
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case len(cells) == 2 && cells[0] == "layer" && cells[1] == "packages":
			inside = true
		case inside && len(cells) != 2:
			return table, nil
		case inside && strings.Trim(cells[0], "-") != "":
			layer, err := strconv.Atoi(cells[0])
			if err != nil {
				return nil, fmt.Errorf("row %q: the layer is no number", line)
			}
			for p := range strings.SplitSeq(cells[1], ",") {
				table = append(table, row{layer, strings.Trim(strings.TrimSpace(p), "`")})
			}
		}
	}
	if len(table) == 0 {
		return nil, errors.New("there is no table with the columns layer and packages")
	}
	return table, nil
}

// helpers may be imported by the external tests of every package: the suites of
// laws, the traits, without which nobody has a resource, and the SDK over gRPC, with which tests of the other side serve.
var helpers = []string{"traits", "engine/enginetest", "graph/graphtest", "engine/provider/providertest", "engine/plugin/plugintest", "provider/overgrpc", "engine/world/worldtest", "engine/model/modeltest", "engine/journal/storetest"}

// sideways are the rules that the table does not say. From must not come to depend
// on any of To.
var sideways = []struct {
	from, to []string
	why      string
}{
	{[]string{"resources", "resources/*"}, []string{"engine/reactor", "engine/reactor/*", "gapi", "gapi/*"},
		"a resource sees neither the reactor nor a frontend"},
	{[]string{"gapi", "gapi/*"}, []string{"resources", "resources/*", "traits", "engine/provider", "engine/virtual", "engine/reactor"},
		"a frontend sees kinds only through the Registry"},
	{[]string{"engine/reactor", "engine/reactor/*"}, []string{"resources", "resources/*", "traits", "gapi", "gapi/*", "engine/journal", "engine/journal/*", "engine/plugin"},
		"the reactor sees no resource, trait, frontend, journal or plugin"},
}

// components are the parts of the reactor. None of them may depend on another.
const components = "engine/reactor/internal/"

// apart are packages that serve tests alone: transcript, those of all components. No program carries them.
var apart = []string{components + "transcript", "internal/openapitest"}

// onlyIn says which package alone may import a library.
var onlyIn = []struct {
	library string // a path and all below it
	pkgs    []string
}{
	{"github.com/fsnotify/fsnotify", []string{"engine/host"}},
	{"github.com/godbus/dbus", []string{"engine/host/msgbus", "engine/host/systemdtest"}},
	{"go.etcd.io/etcd", []string{"engine/world/etcd"}},
	{"google.golang.org/grpc", []string{"engine/world/etcd", "engine/plugin", "provider/overgrpc"}},
	{"go.yaml.in/yaml", []string{"gapi/yaml", "integration/bench"}},
	{"gopkg.in/yaml", []string{"gapi/yaml"}},
	{"github.com/pelletier/go-toml", []string{"gapi/toml"}},
	{"github.com/spf13/cobra", []string{"cmd", "cmd/*"}},
	{"charm.land/bubbletea", []string{"cmd/top"}},
	{"github.com/charmbracelet/x/ansi", []string{"cmd/top"}},
	{"github.com/modelcontextprotocol/go-sdk", []string{"engine/agents", "cmd/mcp", "integration"}},
	{"github.com/Masterminds/semver", []string{"gapi/expand", "engine/provider/puppettype"}},
	{"github.com/prometheus", []string{"engine/metrics"}},
	{"github.com/getkin/kin-openapi", []string{"engine/httpd", "engine/control", "engine/control/api", "internal/openapitest"}},
}

// testOnly are libraries that only tests may import, to see whether what we write is
// right. They are heavy, so no program carries them.
var testOnly = []string{"github.com/prometheus", "github.com/getkin/kin-openapi"}

// borders are libraries that only the named packages take into programs, so that the others compile on every system.
// Tests may import them anywhere.
var borders = []struct {
	library string
	pkgs    []string
}{
	{"golang.org/x/sys/unix", []string{"internal/unix", "internal/nstest", "integration/*", "service/servicetest", "resources/internal/kindtest"}},
	{"github.com/vishvananda/netlink", []string{"resources/internal/rtnet", "integration/*"}},
}

func matches(p string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		dir, all := strings.CutSuffix(pattern, "/*")
		return p == pattern || all && strings.HasPrefix(p, dir+"/")
	})
}

// within reports whether a package is a library, or of it.
func within(pkg, library string) bool { return pkg == library || strings.HasPrefix(pkg, library+"/") }

// violations returns a line for each import that breaks a rule.
func violations(table []row, pkgs []pkg) []string {
	var found []string
	for _, p := range pkgs {
		layer, ok := layerOf(table, p.ImportPath)
		if !ok {
			found = append(found, p.ImportPath+" is in no row of the layer table")
			continue
		}
		own := slices.Concat(p.Imports, p.TestImports)
		for _, imp := range own {
			found = append(found, breaks(table, p.ImportPath, layer, imp)...)
		}
		for _, imp := range p.XTestImports {
			if imp != p.ImportPath && !slices.Contains(helpers, imp) {
				found = append(found, breaks(table, p.ImportPath, layer, imp)...)
			}
		}
		found = append(found, breaksSideways(p)...)
		found = append(found, carries(p)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// breaks judges one import.
func breaks(table []row, from string, layer int, imp string) []string {
	if library, outside := strings.CutPrefix(imp, "@"); outside {
		for _, o := range onlyIn {
			if within(library, o.library) && !matches(from, o.pkgs) {
				return []string{fmt.Sprintf("%s imports %s: only %s may", from, library, strings.Join(o.pkgs, ", "))}
			}
		}
		return nil
	}
	below, ok := layerOf(table, imp)
	switch {
	case !ok:
		return []string{fmt.Sprintf("%s imports %s, which is in no row of the layer table", from, imp)}
	case below < layer, below == layer && from != "." && strings.HasPrefix(imp, from+"/"):
		return nil
	case below == layer:
		return []string{fmt.Sprintf("%s imports %s: both are in layer %d, and inside a layer only a parent imports its own subpackage", from, imp, layer)}
	default:
		return []string{fmt.Sprintf("%s (layer %d) imports %s (layer %d): imports only go down", from, layer, imp, below)}
	}
}

func breaksSideways(p pkg) []string {
	var found []string
	for _, rule := range sideways {
		if !matches(p.ImportPath, rule.from) {
			continue
		}
		for _, imp := range slices.Concat(p.Imports, p.Deps) {
			if matches(imp, rule.to) && !matches(imp, rule.from) {
				found = append(found, fmt.Sprintf("%s depends on %s: %s", p.ImportPath, imp, rule.why))
			}
		}
	}
	if !strings.HasPrefix(p.ImportPath, components) {
		return found
	}
	for _, imp := range slices.Concat(p.Imports, p.TestImports, p.XTestImports, p.Deps) {
		brother := strings.HasPrefix(imp, components) && imp != p.ImportPath && !slices.Contains(apart, imp)
		if brother || imp == "engine/reactor" {
			found = append(found, fmt.Sprintf("%s depends on %s: a component knows neither the reactor nor another component", p.ImportPath, imp))
		}
	}
	return found
}

// carries tells of what a package takes into programs and must not.
func carries(p pkg) []string {
	var found []string
	for _, imp := range slices.Concat(p.Imports, p.Deps) {
		library, outside := strings.CutPrefix(imp, "@")
		if outside && !slices.Contains(apart, p.ImportPath) && slices.ContainsFunc(testOnly, func(l string) bool { return within(library, l) }) || slices.Contains(apart, imp) {
			found = append(found, fmt.Sprintf("%s depends on %s: only tests may", p.ImportPath, library))
		}
	}
	for _, b := range borders {
		if slices.ContainsFunc(p.Imports, func(imp string) bool { return within(imp, "@"+b.library) }) && !matches(p.ImportPath, b.pkgs) {
			found = append(found, fmt.Sprintf("%s imports %s: in a program only %s may, so that the verbs compile on every system",
				p.ImportPath, b.library, strings.Join(b.pkgs, ", ")))
		}
	}
	return found
}

// goList runs go list over the module.
func goList(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-test=false",
		"-json=ImportPath,Imports,TestImports,XTestImports,Deps"}, args...)...)
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = relative(p.ImportPath)
		for _, list := range [][]string{p.Imports, p.TestImports, p.XTestImports, p.Deps} {
			for i := range list {
				list[i] = relative(list[i])
			}
		}
		pkgs = append(pkgs, p)
	}
}

func relative(p string) string {
	switch rest, inside := strings.CutPrefix(p, module+"/"); {
	case inside:
		return rest
	case p == module:
		return "."
	default:
		return "@" + p
	}
}

func readTable(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	table, err := parseTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestLayers: imports keep to the layer table of docs/ARCHITECTURE.md.
func TestLayers(t *testing.T) {
	pkgs := goList(t, "./...")
	if len(pkgs) < 10 {
		t.Fatalf("only %d packages were found", len(pkgs))
	}
	for _, v := range violations(readTable(t), pkgs) {
		t.Error(v)
	}
}

// engineDeps are the packages that the contract may depend on, those of the
// standard library apart.
var engineDeps = []string{
	"graph", "engine/schema", "engine/autoedge", "engine/bus", "engine/callsafe", "engine/clock", "engine/events", "engine/internal/filename", "engine/internal/semaphore", "engine/provenance",
	"engine/world", "@gonum.org/v1/gonum/graph", "@gonum.org/v1/gonum/graph/encoding",
	"@gonum.org/v1/gonum/graph/formats/cytoscapejs",
}

// heavy are parts of the standard library that the contract has no use for.
var heavy = []string{"@net", "@net/http", "@os/exec", "@os/user", "@os/signal", "@crypto/tls", "@database/sql", "@encoding/gob", "@go/ast", "@html/template", "@testing", "@text/template"}

// TestContractIsSmall: package engine depends on almost nothing.
func TestContractIsSmall(t *testing.T) {
	pkgs := goList(t, "./engine")
	if len(pkgs) != 1 {
		t.Fatalf("go list ./engine: %v", pkgs)
	}
	for _, d := range pkgs[0].Deps {
		standard := strings.HasPrefix(d, "@") && !strings.Contains(strings.SplitN(d, "/", 2)[0], ".")
		if standard && slices.Contains(heavy, d) || !standard && !slices.Contains(engineDeps, d) {
			t.Errorf("engine depends on %s: the contract stays small", strings.TrimPrefix(d, "@"))
		}
	}
	if n := len(pkgs[0].Deps); n > 160 {
		t.Errorf("engine depends on %d packages", n)
	}
}

// TestRulesAreReported: each rule, broken, is reported with its reason; kept, it
// is not.
func TestRulesAreReported(t *testing.T) {
	table, err := parseTable("text\n\n| layer | packages |\n| --- | --- |\n| 0 | graph, engine/schema |\n" +
		"| 1 | engine, graph/graphtest, engine/reactor/internal/transcript |\n| 2 | traits, engine/host, engine/world/*, engine/journal, engine/reactor/internal/* |\n" +
		"| 3 | engine/reactor, engine/enginetest, gapi |\n| 4 | resources, resources/*, gapi/*, engine/metrics |\n| 5 | . |\n| 6 | `cmd` |\n\n| 9 | x |\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		pkg  pkg
		want string
	}{
		{"down", pkg{ImportPath: "engine", Imports: []string{"graph", "@fmt"}}, ""},
		{"down by far", pkg{ImportPath: "cmd", Imports: []string{".", "graph", "@github.com/spf13/cobra"}}, ""},
		{"up", pkg{ImportPath: "engine", Imports: []string{"traits"}}, "engine (layer 1) imports traits (layer 2): imports only go down"},
		{"up in a test", pkg{ImportPath: "engine/host", TestImports: []string{"engine/enginetest"}}, "imports only go down"},
		{"a helper in an external test", pkg{ImportPath: "graph", XTestImports: []string{"graph", "graph/graphtest", "engine/enginetest"}}, ""},
		{"up in an external test", pkg{ImportPath: "graph", XTestImports: []string{"engine"}}, "imports only go down"},
		{"sideways", pkg{ImportPath: "engine/host", Imports: []string{"traits"}}, "both are in layer 2"},
		{"child to parent", pkg{ImportPath: "resources/pkg", Imports: []string{"resources"}}, "both are in layer 4"},
		{"parent to child", pkg{ImportPath: "resources", Imports: []string{"resources/pkg"}}, ""},
		{"brothers", pkg{ImportPath: "resources/pkg", Imports: []string{"resources/user"}}, "both are in layer 4"},
		{"a deep subpackage", pkg{ImportPath: "engine/reactor", Imports: []string{"engine/reactor/internal/sched"}}, ""},
		{"no row", pkg{ImportPath: "engine/new"}, "engine/new is in no row"},
		{"imports what has no row", pkg{ImportPath: "engine", Imports: []string{"engine/new"}}, "in no row"},
		{"resource to reactor", pkg{ImportPath: "resources", Imports: []string{"engine/reactor"}}, "neither the reactor nor a frontend"},
		{"resource to frontend, far", pkg{ImportPath: "resources/pkg", Deps: []string{"gapi"}}, "neither the reactor nor a frontend"},
		{"frontend to trait", pkg{ImportPath: "gapi/yaml", Imports: []string{"traits"}}, "only through the Registry"},
		{"frontend to frontend package", pkg{ImportPath: "gapi/yaml", Imports: []string{"gapi"}}, ""},
		{"reactor to journal", pkg{ImportPath: "engine/reactor", Imports: []string{"engine/journal"}}, "the reactor sees no"},
		{"component to component", pkg{ImportPath: "engine/reactor/internal/sched", XTestImports: []string{"engine/reactor/internal/hold"}}, "a component knows neither the reactor nor another component"},
		{"component to reactor, far", pkg{ImportPath: "engine/reactor/internal/sched", Deps: []string{"engine/reactor"}}, "a component knows neither the reactor nor another component"},
		{"component to its helper", pkg{ImportPath: "engine/reactor/internal/sched", XTestImports: []string{"engine/reactor/internal/transcript"}}, ""},
		{"component to the helper of its tests", pkg{ImportPath: "engine/reactor/internal/sched", Imports: []string{"engine/reactor/internal/transcript"}}, "only tests may"},
		{"component to what is below another one", pkg{ImportPath: "engine/reactor/internal/sched", Deps: []string{"engine/reactor/internal/hold/deep"}}, "a component knows neither the reactor nor another component"},
		{"component to reactor in a test", pkg{ImportPath: "engine/reactor/internal/sched", XTestImports: []string{"engine/reactor"}}, "a component knows neither the reactor nor another component"},
		{"the helper of tests to a component", pkg{ImportPath: "engine/reactor/internal/transcript", Imports: []string{"engine/reactor/internal/hold"}}, "a component knows neither the reactor nor another component"},
		{"fsnotify", pkg{ImportPath: "resources", Imports: []string{"@github.com/fsnotify/fsnotify"}}, "only engine/host may"},
		{"fsnotify where it belongs", pkg{ImportPath: "engine/host", Imports: []string{"@github.com/fsnotify/fsnotify"}}, ""},
		{"godbus of a version", pkg{ImportPath: "resources", Imports: []string{"@github.com/godbus/dbus/v5"}}, "only engine/host/msgbus, engine/host/systemdtest may"},
		{"yaml in a part", pkg{ImportPath: "gapi", Imports: []string{"@go.yaml.in/yaml/v4/plugin"}}, "only gapi/yaml, integration/bench may"},
		{"a library of tests", pkg{ImportPath: "engine/metrics", TestImports: []string{"@github.com/prometheus/common/expfmt"}}, ""},
		{"a library of tests elsewhere", pkg{ImportPath: "gapi", XTestImports: []string{"@github.com/prometheus/common/expfmt"}}, "only engine/metrics may"},
		{"a library of tests in a program", pkg{ImportPath: "cmd", Deps: []string{"@github.com/prometheus/common/model"}}, "only tests may"},
		{"a like name", pkg{ImportPath: "gapi", Imports: []string{"@github.com/godbus/dbusx"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(violations(table, []pkg{c.pkg}), "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestTable: the table is found and read, and the more exact pattern wins.
func TestTable(t *testing.T) {
	if _, err := parseTable("no table"); err == nil {
		t.Error("a text without the table is no error")
	}
	if _, err := parseTable("| layer | packages |\n|---|---|\n| x | a |\n"); err == nil {
		t.Error("a layer that is no number is no error")
	}
	table, err := parseTable("| layer | packages |\n|---|---|\n| 0 | graph |\n| 1 | x |\n| 2 | x/*, x/deep/under |\n| 3 | x/deep/*, `.` |\n")
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]int{
		"graph": 0, "x": 1, "x/y": 2, "x/y/z": 2, "x/deep": 2, "x/deep/a": 3, "x/deep/under": 2, "x/deep/under/b": 3, ".": 3,
	} {
		if got, ok := layerOf(table, p); !ok || got != want {
			t.Errorf("%s is in layer %d (%t), want %d", p, got, ok, want)
		}
	}
	if got, ok := layerOf(table, "other"); ok {
		t.Errorf("a package of no row is in layer %d", got)
	}
	if len(readTable(t)) < 50 {
		t.Error("the table of docs/ARCHITECTURE.md is not found")
	}
}
