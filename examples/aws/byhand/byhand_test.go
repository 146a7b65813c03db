//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/plugin/plugintest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// code returns the number of lines with code in files.
func code(t *testing.T, patterns ...string) (n int) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^[ \t]*[^/ \t\n].*$|^[ \t]*/[^/].*$`)
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			n += len(line.FindAll(text, -1))
		}
	}
	return n
}

// TestThird: with the IDL, an author writes a third of the lines that the same provider needs without it, at the most.
func TestThird(t *testing.T) {
	byHand := code(t, "main.go", "types.go", "file.go", "schema.json")
	byIDL := code(t, "../provider/main.go", "../provider/table.go", "../idl/ec2/*.go")
	t.Logf("%d lines with the IDL, %d by hand: %d %%", byIDL, byHand, 100*byIDL/byHand)
	if byIDL < 100 || 3*byIDL > byHand {
		t.Errorf("%d lines with the IDL, %d by hand", byIDL, byHand)
	}
}

// TestBoth: both providers keep all rules, so the lines are compared of programs that do the same.
func TestBoth(t *testing.T) {
	for _, of := range []string{".", "../provider"} {
		t.Run(filepath.Base(of), func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "aws")
			if out, err := exec.Command("go", "build", "-o", program, of).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			at, err := filepath.Abs(filepath.Join(of, "schema.json"))
			if err != nil {
				t.Fatal(err)
			}
			n, err := schema.NodeOf(map[string]any{"name": "aws", "command": []any{program, "-folder", t.TempDir()}, "schema": at, "dir": t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			set, ds := plugin.Load([]*schema.Node{n}, plugin.Options{ReadFile: os.ReadFile, Program: "mgmt", Version: "test"})
			if err := ds.Err(); err != nil {
				t.Fatal(err)
			}
			h, err := host.New(t.Context(), host.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			rules := []any{map[string]any{"ipProtocol": "tcp", "fromPort": 80.0}}
			found, err := plugintest.Run(t.Context(), set.Plugins()[0], h, plugintest.Options{Inputs: map[string]protocol.Bag{
				"aws:ec2:SecurityGroup": {"groupDescription": "web", "vpc": "aws:ec2:vpc[office]", "securityGroupIngress": rules},
				"aws:ec2:VPC":           {"cidrBlock": "10.0.0.0/16"},
			}})
			if err != nil || len(found) > 0 {
				t.Errorf("%v, %v", found, err)
			}
		})
	}
}
