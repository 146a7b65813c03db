package engine

import (
	"context"
	"time"

	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Host is one resource's handle on what the machine gives to all of them: the
// shared file watches, buses, the command runner, facts. A wait in Command or on
// a bus gives the resource's place among the parallel runs back meanwhile.
type Host interface {
	// Watch subscribes to changes of the paths. It is armed when it returns: a
	// change made after that is seen. Paths are absolute; a missing path, or a
	// missing parent, is watched for from its nearest ancestor.
	Watch(ctx context.Context, paths []string, o events.Options) (events.Subscription, error)
	// Bus returns the one shared connection to a message bus.
	Bus(ctx context.Context, which bus.Kind) (bus.Bus, error)
	// Command runs a command to its end. A command that could be started gives a
	// Result and no error, whatever its exit code. When the context ends, it is
	// killed with all its descendants, and the context's cause is the error.
	Command(ctx context.Context, c Command) (*Result, error)
	Facts() Facts
	// WatchFacts subscribes to changes of facts. It is armed when it returns: once
	// it has woken, Facts says what is true now. It lasts until it is closed, also
	// beyond ctx: many have one for as long as they live.
	WatchFacts(ctx context.Context) (events.Subscription, error)
}

// ClockOf returns the clock of a host, which is that of its method Clock: a simulated machine has one. A host without the method,
// and nil, go by the clock of the machine.
func ClockOf(h Host) clock.Clock {
	if c, ok := h.(interface{ Clock() clock.Clock }); ok {
		return clock.Or(c.Clock())
	}
	return clock.Or(nil)
}

// Command is a program to run. It runs in a session of its own, without a terminal.
type Command struct {
	Argv []string // the program, looked up in PATH of Env if it has no slash, and its arguments
	Dir  string   // where to run; "/" when empty
	Env  []string // the whole environment, key=value; only PATH is set when nil

	User, Group string // names or numbers to run as; empty for our own

	Stdin          []byte
	Stdout, Stderr func(line []byte) // called for each line as it comes, without its end; line is valid during the call
	MaxOutput      int               // bytes of each captured stream to keep; 1 MiB when 0
	Newest         *Newest           // shows people the newest line while the command runs; nil where its output may hold a secret

	Alone bool // at its end, all that it has started and left is killed, in its session or in another

	Signal string        // the signal that asks it to end, by its name, when the context ends; SIGTERM when empty
	Grace  time.Duration // between that and SIGKILL; 0 for SIGKILL at once

	// Cost says in a clause the damage if the command is cut off: "the package database is left half written".
	// A command with a cost that has started is not ended when the context ends: Host.Command returns when the
	// command has ended by itself. Only an end of the engine without waiting cuts it. It runs where neither the
	// death of the engine nor the stop of its systemd unit reaches it, and its lines come when it has ended.
	// Empty for a command that may be cut.
	Cost string
}

// Result is how a command ended.
type Result struct {
	ExitCode  int    // -1 when a signal ended it
	Signal    string // the name of that signal
	Stdout    []byte // the first MaxOutput bytes
	Stderr    []byte
	Output    []byte // both, as they came
	Truncated bool   // there was more output than was kept
}

// Facts are what is known of the machine: read from its files when it is asked for,
// never from a network or by running a program. An unknown fact is empty.
type Facts struct {
	Hostname  string   `yaml:"hostname" doc:"The name of the machine, as the kernel has it, or as --hostname of the daemon says."`
	FQDN      string   `yaml:"fqdn" doc:"The name with its domain, from /etc/hosts; the hostname if that does not say."`
	Addresses []string `yaml:"addresses" doc:"The IP addresses of its links, but for link-local ones, sorted."`

	OS             string `yaml:"os" doc:"The name of the distribution: Debian, Ubuntu, Fedora, RedHat, Alpine, SUSE ..."`
	OSFamily       string `yaml:"os_family" doc:"The distribution that it comes from, whose tools it has: Debian, RedHat, Alpine, Arch, Suse ..."`
	OSRelease      string `yaml:"osrelease" doc:"The version of the distribution; rolling where there are none."`
	OSMajorRelease int    `yaml:"osmajorrelease" doc:"The first number of the version; 0 where there is none."`
	OSFinger       string `yaml:"osfinger" doc:"Name and version, as far as releases differ: Debian-12, Ubuntu-24.04, Arch."`
	OSArch         string `yaml:"osarch" doc:"The architecture, in the words of the packages: amd64 on Debian, x86_64 elsewhere."`

	Kernel        string `yaml:"kernel" doc:"The name of the kernel: Linux."`
	KernelRelease string `yaml:"kernelrelease" doc:"The version of the kernel."`
	Arch          string `yaml:"arch" doc:"The architecture, in the words of Go: amd64, arm64 ..."`
	Init          string `yaml:"init" doc:"The first process: systemd, openrc, sysv, runit, s6, busybox; unknown else."`
	SystemdBooted bool   `yaml:"systemd_booted" doc:"The machine was booted with systemd."`
	Virtual       string `yaml:"virtual" doc:"The surrounding machine: physical for none, a container (docker, podman, lxc, systemd-nspawn ...) or a machine (kvm, vmware ...)."`

	CPUs   int         `yaml:"cpus" doc:"The number of processors that can be used."`
	Memory schema.Size `yaml:"memory" doc:"How much memory there is, in bytes."`
	Roles  []string    `yaml:"roles" doc:"The purpose of the machine, as its user says."`
}

// Map returns the facts by name, as plain values.
func (f Facts) Map() map[string]any {
	v, err := schema.EncodeAll(&f)
	if err != nil {
		panic(err) // a programmer's error, which any test shows
	}
	m := v.(map[string]any)
	m["memory"] = int64(f.Memory)
	return m
}
