package idl_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema/generate"
	"github.com/reactivegraph/mgmt/engine/schema/idl"
	"github.com/reactivegraph/mgmt/internal/tsctest"
)

// cumulus compiles the package of a whole cloud: 40 files in 12 modules and the root, in the style of the design document, which use every
// feature of the language.
func cumulus(t *testing.T) *idl.Package {
	t.Helper()
	p, found := idl.Compile(t.Context(), os.DirFS("testdata/cumulus/idl"), idl.Options{Package: "cumulus", Root: idl.Marker + "/testdata/cumulus/idl"})
	if p == nil || len(found) > 0 {
		t.Fatal(found)
	}
	if files := len(p.Files()); files != 40 || len(p.Modules) != 13 {
		t.Fatalf("%d files in %d modules", files, len(p.Modules))
	}
	return p
}

// TestFindingN8WholePackage: the pack of a whole cloud has no fault for the strictest tsc, and a program uses its modules and the files by hand from
// one import.
func TestFindingN8WholePackage(t *testing.T) {
	target, err := generate.Find("typescript")
	if err != nil {
		t.Fatal(err)
	}
	pack, err := target.Files(cumulus(t), generate.Options{ByHand: []string{"compute/newest.ts", "helpers.ts"}})
	if err != nil {
		t.Fatal(err)
	}
	files := module(t)
	for name, text := range pack {
		files["pack/"+name] = string(text)
	}
	files["pack/compute/newest.ts"] = "import { Image } from \"./image.ts\";\nexport function newest(family: string): Image {\n  return new Image(family, { source: { uri: \"https://images.example.org/\" + family } });\n}\n"
	files["pack/helpers.ts"] = "import type { Tag } from \"./tags.ts\";\nexport const tag = (key: string, value: string): Tag => ({ key, value });\n"
	files["right/main.ts"] = `import * as cumulus from "../pack/index.ts";

const net = new cumulus.network.VPC("office", { cidrBlock: "10.0.0.0/16", region: "eu-south", tags: [cumulus.tag("for", "work")] });
const inner = new cumulus.network.Subnet("inner", { vpc: net, cidrBlock: "10.0.1.0/24", hall: "a" });
const groups = [new cumulus.network.SecurityGroup("web", { groupDescription: "web", vpc: net, securityGroupIngress: [{ ipProtocol: "tcp", fromPort: 443, toPort: 443 }] })];
const machine = new cumulus.compute.Instance("www", { image: cumulus.compute.newest("debian"), subnet: inner, securityGroups: groups, userData: "#!/bin/sh" });
new cumulus.dns.Record({ zone: new cumulus.dns.Zone("example", { domain: "example.org" }), host: "www", type: "A", values: ["192.0.2.1"] });
const bucket = new cumulus.storage.Bucket("pages", {});
new cumulus.storage.Object({ key: "index.html", bucket, source: { text: "<p>" }, attachments: { style: { path: "style.css" } } });
new cumulus.edge.cache.Distribution("pages", { enabled: true, origins: { main: { bucket, ports: "443" } } });
new cumulus.metrics.Alarm("slow", { of: { name: "time", unit: "Seconds", of: machine }, above: cumulus.metrics.Precise, periods: 3 });
export const where: cumulus.Region = cumulus.North;
`
	wrong := map[string]string{
		"both":    `new cumulus.compute.Image("a", { source: { uri: "https://example.org", path: "/a" } });`,
		"neither": `new cumulus.compute.Image("a", { source: {} });`,
		"text":    `new cumulus.compute.Image("a", { source: { text: "a" } });`,
		"bare":    `new cumulus.storage.Object({ key: "a", bucket: new cumulus.storage.Bucket("b"), source: "text" });`,
	}
	for name, text := range wrong {
		files["wrong/"+name+".ts"] = "import * as cumulus from \"../pack/index.ts\";\n" + text + "\n"
	}
	seen := map[string]bool{}
	for _, line := range tsctest.Check(t, t.TempDir(), files) {
		name, isWrong := strings.CutPrefix(line, "wrong/")
		if name, _, _ = strings.Cut(name, ".ts("); !isWrong || wrong[name] == "" {
			t.Error(line)
		}
		seen[name] = true
	}
	for name := range wrong {
		if !seen[name] {
			t.Errorf("tsc takes the wrong program %s", name)
		}
	}
}

// TestFindingN8WholeProvider: go vet finds nothing in the definitions of a whole cloud, nor in its stubs. They are laid over the definitions,
// so that nothing is written into the module.
func TestFindingN8WholeProvider(t *testing.T) {
	if testing.Short() {
		t.Skip("go vet compiles 26 packages")
	}
	target, err := generate.Find("go")
	if err != nil {
		t.Fatal(err)
	}
	p := cumulus(t)
	stubs, err := target.Files(p, generate.Options{Stubs: idl.Marker + "/testdata/cumulus/idl"})
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("testdata/cumulus/idl")
	if err != nil {
		t.Fatal(err)
	}
	dir, over := t.TempDir(), map[string]string{}
	for i, name := range stubs.Names() {
		if path.Ext(name) != ".go" {
			continue
		}
		at := filepath.Join(dir, fmt.Sprint(i, ".go"))
		if err := os.WriteFile(at, stubs[name], 0o600); err != nil {
			t.Fatal(err)
		}
		over[filepath.Join(root, filepath.FromSlash(name))] = at
	}
	for _, f := range p.Files() {
		over[filepath.Join(root, filepath.FromSlash(f.Path))] = "" // as if it were not there
	}
	text, err := json.Marshal(map[string]any{"Replace": over})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"-overlay", list}} {
		args := slices.Concat([]string{"vet"}, flags, []string{"./testdata/cumulus/idl/..."})
		if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}
