//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/plugin/plugintest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// TestRules: the provider keeps the rules of the protocol.
func TestRules(t *testing.T) {
	program := filepath.Join(t.TempDir(), "aws")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	at, err := filepath.Abs("schema.json")
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
}
