package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindingN1Outputs: outputs inside each other are refused before anything is written, whether the folders are there or not, and over links.
// Outputs in one folder are one set.
func TestFindingN1Outputs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "aws")
	defs := filepath.Join(dir, "idl")
	if err := os.MkdirAll(filepath.Join(defs, "net"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := "package net\n\nimport \"github.com/reactivegraph/mgmt/idl\"\n\ntype A struct {\n\tidl.NamedResource\n\tSize float64\n}\n"
	if err := os.WriteFile(filepath.Join(defs, "net/a.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(dir, "there")
	if err := os.Mkdir(there, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(there, link); err != nil {
		t.Fatal(err)
	}
	before := idlTree(t, dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, outs := range [][]string{
		{"--out-pack=" + at("pack"), "--out-provider=" + dir},
		{"--out-pack=" + dir, "--out-provider=" + at("provider")},
		{"--out-pack=" + at("new/pack"), "--out-provider=" + at("new")},
		{"--out-pack=" + at("there/pack"), "--out-provider=" + link},
		{"--out-pack=" + link + "/new/pack", "--out-provider=" + at("there/new")},
		{"--out-pack=" + there, "--out-provider=" + link},
		{"--out-pack=" + at("pack"), "--out=markdown=" + at("pack/docs")},
		{"--out=schema=" + at("a"), "--out=markdown=" + at("b"), "--out=python=" + at("a/b/c")},
	} {
		for _, verb := range []string{"build", "check"} {
			code, out, problems := idlRun(append([]string{verb, defs}, outs...)...)
			if code != 1 || !strings.Contains(problems, "lies in the output folder") {
				t.Errorf("%s %v: %d, %s%s", verb, outs, code, out, problems)
			}
		}
	}
	if after := idlTree(t, dir); after != before {
		t.Error("a refused folder was written to")
	}
	for _, outs := range [][]string{
		{"--out-pack=" + at("one"), "--out-provider=" + at("one/")},
		{"--out-pack=" + at("two"), "--out-provider=" + at("two-more")},
	} {
		if code, out, problems := idlRun(append([]string{"build", defs}, outs...)...); code != 0 {
			t.Errorf("build %v: %d, %s%s", outs, code, out, problems)
		}
		if code, out, problems := idlRun(append([]string{"check", defs}, outs...)...); code != 0 {
			t.Errorf("check %v: %d, %s%s", outs, code, out, problems)
		}
	}
}

// TestFindingN7Pack: a file that is written by hand beside generated ones is exported from its module at the next build, and check tells
// that one is due. A list of a module that is written by hand stays.
func TestFindingN7Pack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "aws")
	defs, pack := filepath.Join(dir, "idl"), filepath.Join(dir, "pack")
	write := func(at, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(pack, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	run := func(want int, contains, verb string) {
		t.Helper()
		code, out, problems := idlRun(verb, defs, "--out-pack="+pack)
		if code != want || !strings.Contains(out+problems, contains) {
			t.Errorf("%s: %d, want %d and %q\n%s%s", verb, code, want, contains, out, problems)
		}
	}
	write(filepath.Join(defs, "ec2/vpc.go"), "package ec2\n\ntype VPC struct{ A string }\n")
	run(0, "wrote "+filepath.Join(pack, "index.ts"), "build")
	if got := read("index.ts"); !strings.Contains(got, `export * as ec2 from "./ec2/index.ts";`) {
		t.Error(got)
	}
	write(filepath.Join(pack, "ec2/linux_ami.ts"), "export function getLinuxAMI(): string {\n  return \"ami\";\n}\n")
	run(2, "changed "+filepath.Join(pack, "ec2/index.ts"), "check")
	run(0, "wrote "+filepath.Join(pack, "ec2/index.ts"), "build")
	run(0, "", "check")
	if got := read("ec2/index.ts"); !strings.Contains(got, `export * from "./linux_ami.ts";`) {
		t.Error(got)
	}
	const own = "export * from \"./vpc.ts\";\nexport const mine = 1;\n"
	write(filepath.Join(pack, "ec2/index.ts"), own)
	run(0, "", "check")
	run(0, "", "build")
	if got := read("ec2/index.ts"); got != own {
		t.Error(got)
	}
}
