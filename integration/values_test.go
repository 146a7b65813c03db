package integration_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// serving are the names by which a program serves HTTP, or listens for it.
var serving = map[string][]string{
	"http": {"Server", "Serve", "ServeTLS", "ListenAndServe", "ListenAndServeTLS", "NewServeMux", "HandleFunc", "Handle"},
	"net":  {"Listen", "ListenTCP", "ListenUnix", "ListenConfig", "FileListener"},
	"tls":  {"Listen", "NewListener", "Server"},
}

// attached are the places where a provider waits for the engine: by JSON for a debugger, or by gRPC. A provider links no engine, and so not its
// frame for HTTP.
var attached = []string{"provider/serve.go listen", "provider/overgrpc/serve.go Serve"}

// TestOneFrameServes: no package but engine/httpd serves HTTP or listens for it.
func TestOneFrameServes(t *testing.T) {
	found := 0
	for where, names := range callsOf(t, "..", serving) {
		if strings.HasPrefix(where, "engine/httpd/") {
			found++
		} else if !ofTests(where) && !slices.Contains(attached, where) {
			t.Errorf("%s uses %s: engine/httpd is the one frame for that", where, strings.Join(names, ", "))
		}
	}
	if found < 4 {
		t.Errorf("only %d functions of engine/httpd were found", found)
	}
}

// clockNames are the names by which code reads the clock of the machine, makes a timer, or takes that clock outright.
var clockNames = map[string][]string{
	"time":   {"Now", "Since", "Until", "After", "NewTimer", "NewTicker", "AfterFunc", "Tick", "Sleep"},
	"engine": {"SystemClock"},
}

// clockExceptions are the functions that ask the clock of the machine for good, with the reason.
var clockExceptions = map[string]string{
	"engine/clock.go Now":                   "it is the clock of the machine",
	"engine/clock.go AfterFunc":             "it is the clock of the machine",
	"engine/clock.go Since":                 "it is the clock of the machine",
	"engine/clock.go NewTimer":              "it is the clock of the machine",
	"engine/clock.go NewTicker":             "it is the clock of the machine",
	"engine/host/command.go drain":          "the kernel takes a deadline of a pipe by its own clock",
	"engine/host/output.go copy":            "the kernel takes a deadline of a pipe by its own clock",
	"engine/control/client.go NewClient":    "a client talks to a daemon, and has no Host",
	"engine/world/etcd/options.go uptimeBy": "only the clock of the machine stops in a suspend",
	"engine/hosts/member.go Members":        "a verb asks a store, and has no Host",
}

// defaultClocks are the functions that take the clock of the machine where an option gives none.
var defaultClocks = []string{
	"engine/control/recorder.go NewRecorder", "engine/metrics/metrics.go New", "engine/provider/log.go NewLogger",
	"engine/world/bolt/bolt.go withDefaults", "engine/world/memory/memory.go New",
}

// TestClocksAreValues: below the root package, time comes by a value.
func TestClocksAreValues(t *testing.T) {
	excepted := 0
	for _, root := range []string{"../engine", "../gapi", "../graph", "../resources", "../traits"} {
		for where, names := range callsOf(t, root, clockNames) {
			switch {
			case clockExceptions[where] != "":
				excepted++
			case slices.Contains(defaultClocks, where) && slices.Equal(names, []string{"engine.SystemClock"}):
				excepted++
			case !ofTests(where):
				t.Errorf("%s uses %s: take an engine.Clock, such as engine.ClockOf(host)", where, strings.Join(names, ", "))
			}
		}
	}
	if all := len(clockExceptions) + len(defaultClocks); excepted != all {
		t.Errorf("%d of %d exceptions are needed: take out the others", excepted, all)
	}
}

// ofTests reports whether a file is of a package for tests: they play the world, in the
// time of the machine.
func ofTests(where string) bool {
	return strings.HasPrefix(where, "integration/") || strings.HasSuffix(path.Dir(strings.Fields(where)[0]), "test")
}
