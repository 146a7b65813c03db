package integration_test

import (
	"path"
	"strings"
	"testing"
)

// serving are the names by which a program serves HTTP, or listens for it.
var serving = map[string][]string{
	"http": {"Server", "Serve", "ServeTLS", "ListenAndServe", "ListenAndServeTLS", "NewServeMux", "HandleFunc", "Handle"},
	"net":  {"Listen", "ListenTCP", "ListenUnix", "ListenConfig", "FileListener"},
	"tls":  {"Listen", "NewListener", "Server"},
}

// TestOneFrameServes: no package but engine/httpd serves HTTP or listens for it.
func TestOneFrameServes(t *testing.T) {
	found := 0
	for where, names := range callsOf(t, "..", serving) {
		if strings.HasPrefix(where, "engine/httpd/") {
			found++
		} else if !ofTests(where) {
			t.Errorf("%s uses %s: engine/httpd is the one frame for that", where, strings.Join(names, ", "))
		}
	}
	if found < 4 {
		t.Errorf("only %d functions of engine/httpd were found", found)
	}
}

// clockNames are the names by which code reads the clock of the machine, or makes a timer.
var clockNames = map[string][]string{"time": {"Now", "Since", "Until", "After", "NewTimer", "NewTicker", "AfterFunc", "Tick", "Sleep"}}

// clockExceptions are the functions that ask the clock of the machine for good, with the reason.
var clockExceptions = map[string]string{
	"engine/clock.go Now":          "it is the clock of the machine",
	"engine/clock.go AfterFunc":    "it is the clock of the machine",
	"engine/clock.go Since":        "it is the clock of the machine",
	"engine/clock.go NewTimer":     "it is the clock of the machine",
	"engine/clock.go NewTicker":    "it is the clock of the machine",
	"engine/host/command.go drain": "the kernel takes a deadline of a pipe by its own clock",
	"engine/host/output.go copy":   "the kernel takes a deadline of a pipe by its own clock",
}

// clockAllowed says how many functions of an area still ask the clock of the machine and no
// engine.Clock. It is a ratchet: a change may lower a number, and an area without an entry
// has none.
var clockAllowed = map[string]int{"resources": 22}

// TestClocksAreValues: below the root package, time comes by a value, but for what is
// left.
func TestClocksAreValues(t *testing.T) {
	found, excepted := map[string]int{}, 0
	for _, root := range []string{"../engine", "../gapi", "../graph", "../resources", "../traits"} {
		for where := range callsOf(t, root, clockNames) {
			switch {
			case clockExceptions[where] != "":
				excepted++
			case !ofTests(where):
				found[areaOf(where)]++
			}
		}
	}
	if excepted != len(clockExceptions) {
		t.Errorf("%d of %d exceptions are needed: take out the others", excepted, len(clockExceptions))
	}
	for area, n := range found {
		switch most := clockAllowed[area]; {
		case n > most:
			t.Errorf("%s asks the clock of the machine in %d functions, %d are allowed: take an engine.Clock", area, n, most)
		case n < most:
			t.Logf("%s asks it in %d functions, %d are allowed: lower that", area, n, most)
		}
	}
}

// ofTests reports whether a file is of a package for tests: they play the world, in the
// time of the machine.
func ofTests(where string) bool {
	return strings.HasPrefix(where, "integration/") || strings.HasSuffix(path.Dir(strings.Fields(where)[0]), "test")
}

// areaOf returns the part of the program that a file belongs to: the first folder, and
// of engine the second one too. Packages below it may move without a change here.
func areaOf(where string) string {
	parts := strings.SplitN(where, "/", 3)
	if parts[0] == "engine" && len(parts) == 3 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}
