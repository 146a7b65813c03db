package hosting_test

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosting"
)

// machineHost is a host that tells its programs.
type machineHost struct {
	factHost
	programs []string
}

func (h machineHost) Machine() engine.Machine {
	return engine.Machine{Facts: h.Facts().Map(), Has: func(p string) bool { return strings.Contains(strings.Join(h.programs, " "), p) }}
}

// factHost tells facts and nothing else.
type factHost struct{ engine.Host }

func (factHost) Facts() engine.Facts { return engine.Facts{Hostname: "one", Memory: 1 << 30} }

// TestMachineOf: a host that tells no programs has none; any other one is asked.
func TestMachineOf(t *testing.T) {
	m := hosting.MachineOf(factHost{})
	if m.HasProgram("apt-get") || m.Unknown || m.Facts["hostname"] != "one" {
		t.Errorf("a host with facts only: %+v", m)
	}
	m = hosting.MachineOf(machineHost{programs: []string{"apt-get"}})
	if !m.HasProgram("apt-get") || m.HasProgram("dnf") || m.Facts["hostname"] != "one" {
		t.Errorf("a host that tells its programs: %+v", m)
	}
	if (engine.Machine{}).HasProgram("sh") {
		t.Error("an unknown machine has a program")
	}
}
