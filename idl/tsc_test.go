package idl_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/internal/tsctest"
)

// module returns the module mgmt without a kind. It is read from its sources, since no package of this layer imports that
// of the frontend.
func module(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{"mgmt/index.ts": "export * from \"./core.ts\";\n"}
	names, err := filepath.Glob("../gapi/typescript/sdk/*.ts")
	if err != nil || len(names) == 0 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files["mgmt/"+filepath.Base(name)] = string(text)
	}
	return files
}

// packOf adds the pack of definitions to files, below a folder.
func packOf(t *testing.T, files map[string]string, dir string, v vector) {
	t.Helper()
	p, errs := compile(v)
	if p == nil {
		t.Fatalf("%s: %v", v.ID, errs)
	}
	pack, err := generated("typescript", p)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range pack {
		files[path.Join(dir, name)] = string(text)
	}
}

// TestPacksAreTyped: the packs of all cases that compile have no fault for the strictest tsc.
func TestPacksAreTyped(t *testing.T) {
	groups, err := load(vectorsDir())
	if err != nil {
		t.Fatal(err)
	}
	files, packs := module(t), 0
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		for _, v := range groups[group].Cases {
			if p, _ := compile(v); p != nil {
				packs++
				packOf(t, files, path.Join(strings.TrimSuffix(filepath.Base(group), ".json"), v.ID), v)
			}
		}
	}
	if packs < 50 {
		t.Fatalf("only %d cases have a pack", packs)
	}
	for _, line := range tsctest.Check(t, t.TempDir(), files) {
		t.Error(line)
	}
}

// TestWrongUses: tsc refuses each wrong use of the pack of the security group, with the code that authors know.
func TestWrongUses(t *testing.T) {
	files := module(t)
	packOf(t, files, "pack", vector{ID: "aws", Package: "aws", Files: definitions(t, "../examples/aws/idl")})
	const begin = "import { SecurityGroup, VPC } from \"../pack/ec2/index.ts\";\nconst net = new VPC(\"net\", { cidrBlock: \"10.0.0.0/16\" });\nexport const used = [SecurityGroup, VPC];\n"
	files["right/use.ts"] = begin + `new SecurityGroup("a", { groupDescription: net.vpcID, vpc: net, securityGroupEgress: [{ ipProtocol: "tcp" }] });`
	wrong := map[string]struct{ text, want string }{
		"missing":      {`new SecurityGroup("a", {});`, "(4,24): error TS2741"},
		"missing_part": {`new SecurityGroup("a", { groupDescription: "a", securityGroupEgress: [{}] });`, "(4,71): error TS2741"},
		"wrong_type":   {`new SecurityGroup("a", { groupDescription: 1 });`, "(4,26): error TS2322"},
		"wrong_output": {`new SecurityGroup("a", { groupDescription: "a", securityGroupEgress: net.vpcID });`, "(4,49): error TS2322"},
		"text_for_vpc": {`new SecurityGroup("a", { groupDescription: "a", vpc: "aws:ec2:vpc[net]" });`, "(4,49): error TS2322"},
		"other_type":   {`new SecurityGroup("a", { groupDescription: "a", vpc: new SecurityGroup("b", { groupDescription: "b" }) });`, "(4,49): error TS2322"},
		"unknown":      {`new SecurityGroup("a", { groupDescription: "a", colour: "red" });`, "(4,49): error TS2353"},
		"output_given": {`new SecurityGroup("a", { groupDescription: "a", groupID: "sg-1" });`, "(4,49): error TS2353"},
		"misspelled":   {`new SecurityGroup("a", { groupDescriptoin: "a" });`, "(4,26): error TS2561"},
		"undefined":    {`new SecurityGroup("a", { groupDescription: "a", vpc: undefined });`, "(4,24): error TS2379"},
	}
	for name, c := range wrong {
		files["wrong/"+name+".ts"] = begin + c.text + "\n"
	}
	found := tsctest.Check(t, t.TempDir(), files)
	for name, c := range wrong {
		if !slices.ContainsFunc(found, func(line string) bool { return strings.HasPrefix(line, "wrong/"+name+".ts"+c.want) }) {
			t.Errorf("%s: no finding begins with %s", name, c.want)
		}
	}
	for _, line := range found {
		if !strings.HasPrefix(line, "wrong/") {
			t.Error(line)
		}
	}
	t.Log(strings.Join(found, "\n"))
}

// definitions reads the files of a folder of definitions.
func definitions(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	names, err := filepath.Glob(filepath.Join(dir, "*", "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, %v", dir, names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.ToSlash(rel)] = string(text)
	}
	return files
}

// TestManyTypes: the pack of 500 resource types, each of the size of the security group, is checked.
func TestManyTypes(t *testing.T) {
	group := definitions(t, "../examples/aws/idl")["ec2/security_group.go"]
	group = strings.ReplaceAll(group, "*VPC", "*SecurityGroup0")
	many := map[string]string{}
	for i := range 500 {
		text := strings.ReplaceAll(group, "SecurityGroup struct", fmt.Sprintf("SecurityGroup%d struct", i))
		text = strings.ReplaceAll(text, "SecurityGroupRule", fmt.Sprintf("SecurityGroup%dRule", i))
		many[fmt.Sprintf("ec2/group%d.go", i)] = strings.ReplaceAll(text, "SecurityGroup is", fmt.Sprintf("SecurityGroup%d is", i))
	}
	files := module(t)
	packOf(t, files, "pack", vector{ID: "many", Package: "aws", Files: many})
	files["main.ts"] = "import { SecurityGroup0, SecurityGroup499 } from \"./pack/ec2/index.ts\";\n" +
		"const a = new SecurityGroup0(\"a\", { groupDescription: \"a\" });\nnew SecurityGroup499(\"b\", { groupDescription: a.groupID, vpc: a });\n"
	dir := t.TempDir()
	for _, line := range tsctest.Check(t, dir, files) {
		t.Fatal(line)
	}
}
