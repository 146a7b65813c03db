package integration_test

import (
	"go/ast"
	"maps"
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

// below are the folders of the packages below the root package.
var below = []string{"../engine", "../gapi", "../graph", "../idl", "../internal", "../provider", "../resources", "../traits"}

// clockNames are the names by which code reads the clock of the machine, makes a timer, or takes that clock outright.
var clockNames = map[string][]string{
	"time":    {"Now", "Since", "Until", "After", "NewTimer", "NewTicker", "AfterFunc", "Tick", "Sleep"},
	"context": {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
	"clock":   {"System"},
}

// clockExceptions are the functions that ask the clock of the machine for good, with the reason.
var clockExceptions = map[string]string{
	"engine/clock/clock.go Now":             "it is the clock of the machine",
	"engine/clock/clock.go AfterFunc":       "it is the clock of the machine",
	"engine/clock/clock.go Since":           "it is the clock of the machine",
	"engine/clock/clock.go NewTimer":        "it is the clock of the machine",
	"engine/clock/clock.go NewTicker":       "it is the clock of the machine",
	"engine/clock/clock.go WithTimeout":     "it is the clock of the machine",
	"engine/host/command.go drain":          "the kernel takes a deadline of a pipe by its own clock",
	"engine/host/output.go copy":            "the kernel takes a deadline of a pipe by its own clock",
	"engine/control/client.go NewClient":    "a client talks to a daemon, and has no Host",
	"engine/world/etcd/options.go uptimeBy": "only the clock of the machine stops in a suspend",
	"engine/hosts/member.go Members":        "a verb asks a store, and has no Host",
	"engine/hosts/seen.go LastSeen":         "a verb asks a store, and has no Host",
}

// defaultClocks are the functions that take the clock of the machine where an option gives none.
var defaultClocks = []string{
	"engine/control/recorder.go NewRecorder", "engine/provider/log.go NewLogger",
	"engine/world/bolt/bolt.go withDefaults", "engine/world/memory/memory.go New",
}

// TestClocksAreValues: below the root package, time comes by a value.
func TestClocksAreValues(t *testing.T) {
	excepted := 0
	for _, root := range below {
		for where, names := range callsOf(t, root, clockNames) {
			switch {
			case clockExceptions[where] != "":
				excepted++
			case slices.Contains(defaultClocks, where) && slices.Equal(names, []string{"clock.System"}):
				excepted++
			case !ofTests(where):
				t.Errorf("%s uses %s: take a clock.Clock, such as engine.ClockOf(host)", where, strings.Join(names, ", "))
			}
		}
	}
	if all := len(clockExceptions) + len(defaultClocks); excepted != all {
		t.Errorf("%d of %d exceptions are needed: take out the others", excepted, all)
	}
}

// environmentNames are the names by which code reads the environment of the process, or what follows from it: its user, its folders.
var environmentNames = map[string][]string{
	"os":   {"Getenv", "LookupEnv", "Environ", "ExpandEnv", "UserHomeDir", "UserConfigDir", "UserCacheDir", "TempDir", "Getwd", "Hostname", "Executable"},
	"user": {"Current"},
	"exec": {"LookPath"},
}

// environmentReaders are the functions that may read it, with the reason.
var environmentReaders = map[string]string{
	"engine/control/tell.go speaker":                        "who has asked, for the history",
	"resources/internal/atomicfile/check.go newCopy":        "asked from CheckApply on",
	"engine/host/facts.go ReadFacts":                        "the facts of the machine",
	"engine/host/facts_cache.go read":                       "the facts of the machine",
	"engine/host/host.go New":                               "the facts of the machine",
	"engine/host/msgbus/bus.go sessionAddress":              "the bus of the Host",
	"engine/host/msgbus/bus.go systemAddress":               "the bus of the Host",
	"engine/plugin/listening.go listening":                  "where the socket of a provider is; no graph has the path",
	"gapi/fetch/source.go git":                              "runs git for a verb that fetches modules, with the settings of the user",
	"gapi/source.go open":                                   "makes the path of a file whole, as the user has named it",
	"gapi/typescript/find.go Find":                          "where the second program is",
	"gapi/typescript/find.go folders":                       "where the second program is",
	"gapi/typescript/types.go compiler":                     "where the compiler is that checks a program",
	"provider/overgrpc/serve.go Serve":                      "a provider is a program of its own, and the engine tells it the socket",
	"provider/serve.go Serve":                               "a provider is a program of its own, and the engine tells it the socket",
	"provider/server.go newServer":                          "a provider is a program of its own, and the engine tells it the token",
	"resources/cron/cron.go dir":                            "asked from Init on",
	"resources/entries/accounts.go whoami":                  "asked by a provider that reads or sets",
	"resources/internal/files/credentials.go IsCredential":  "asked from CheckApply on",
	"resources/internal/files/credentials.go OwnCredential": "asked from Init on",
}

// TestTheEnvironmentIsNoInput: what a graph is, and whether it is valid, does not follow from the environment of the process that
// asks. No look at it is a call to the kernel, so TestBuildLooksAtNothing does not see it.
func TestTheEnvironmentIsNoInput(t *testing.T) {
	found := map[string][]string{}
	for _, root := range below {
		maps.Copy(found, callsOf(t, root, environmentNames))
	}
	for where, names := range found {
		if environmentReaders[where] == "" && !ofTests(where) {
			t.Errorf("%s uses %s: take it from a parameter, from the Host in Init or CheckApply, or say in environmentReaders why no graph follows from it", where, strings.Join(names, ", "))
		}
	}
	for where := range environmentReaders {
		if found[where] == nil {
			t.Errorf("%s may read the environment and does not: remove it", where)
		}
	}
}

// runnerNames are the names by which code starts a process.
var runnerNames = map[string][]string{
	"exec":    {"Command", "CommandContext", "Cmd"},
	"os":      {"StartProcess"},
	"syscall": {"ForkExec", "StartProcess", "Exec"},
	"unix":    {"Exec"},
}

// runners are the functions that start a process, with the reason.
var runners = map[string]string{
	"engine/host/command.go startProcess": "the one runner: kinds, providers and transports reach it by Host.Command, and by package program",
	"gapi/fetch/source.go git":            "a verb fetches a module before there is an engine",
	"service/credentials.go output":       "asks systemd for credentials before there is an engine",
	"cmd/plan/graph.go svgOf":             "the verb graph has a drawing made",
	"cmd/secret/edit.go edited":           "an editor needs the terminal of the verb",
	"daemon/input/secrets.go secretsOf":   "reads secrets before there is an engine, with the environment of mgmt",
}

// TestOneRunner: no package starts a process but by the Host.
func TestOneRunner(t *testing.T) {
	found := map[string][]string{}
	for _, root := range []string{"../cmd", "../daemon", "../engine", "../gapi", "../graph", "../idl", "../provider", "../resources", "../scenario", "../service", "../traits"} {
		maps.Copy(found, callsOf(t, root, runnerNames))
	}
	for where, names := range found {
		if runners[where] == "" && !ofTests(where) {
			t.Errorf("%s uses %s: take Host.Command, or engine/program for a program that answers a question", where, strings.Join(names, ", "))
		}
	}
	for where := range runners {
		if found[where] == nil {
			t.Errorf("%s may start a process and does not: remove it", where)
		}
	}
}

// TestOneReaderOfMounts: a package that opens a table of mounts reads its lines by internal/mountinfo.
func TestOneReaderOfMounts(t *testing.T) {
	reads, opens := map[string]bool{}, map[string]string{}
	for file, src := range sources(t) {
		ast.Inspect(src.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				if strings.HasSuffix(n.Path.Value, `/internal/mountinfo"`) {
					reads[path.Dir(file)] = true
				}
				return false
			case *ast.BasicLit:
				if text := strings.Trim(n.Value, "`\""); text == "mountinfo" || strings.HasSuffix(text, "/mountinfo") || strings.HasSuffix(text, "/self/mounts") {
					opens[path.Dir(file)] = src.set.Position(n.Pos()).String()
				}
			}
			return true
		})
	}
	if len(opens) < 3 {
		t.Errorf("only %v were found", opens)
	}
	for dir, where := range opens {
		if !reads[dir] {
			t.Errorf("%s: a table of mounts is read by other code than internal/mountinfo", where)
		}
	}
}

// ofTests reports whether a file is of a package for tests: they play the world, in the
// time of the machine.
func ofTests(where string) bool {
	return strings.HasPrefix(where, "integration/") || strings.HasPrefix(where, "internal/await/") || strings.HasSuffix(path.Dir(strings.Fields(where)[0]), "test")
}
