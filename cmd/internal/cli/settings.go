package cli

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
)

// NoopPolicies are the words of --noop.
// The empty word is a run without the flag. The words true and false are there for the
// configuration file, where a person writes noop: true.
var NoopPolicies = map[string]reactor.Noop{
	"": reactor.NoopOff, "false": reactor.NoopOff, "all": reactor.NoopAll, "true": reactor.NoopAll, "default": reactor.NoopDefault,
}

// The service reads these two files where neither a flag nor the environment names others. Both
// may be absent.
const (
	DefaultConfig = "/etc/mgmt/mgmt.yaml"

	// DefaultGraphSize is the default of both frontends, which a test compares.
	DefaultGraphSize = "64MiB"
)

// The types of settings.
// Numbers have 32 bits, so they fit an int on every machine. Durations are written with a unit, as
// 5s, or as a number of seconds.
var (
	switchType   = &schema.Type{Kind: schema.KindBool}
	textType     = &schema.Type{Kind: schema.KindString}
	numberType   = &schema.Type{Kind: schema.KindInt, Bits: 32, Min: new(int64(0))}
	manyType     = &schema.Type{Kind: schema.KindInt, Bits: 32, Min: new(int64(1))}
	durationType = &schema.Type{Kind: schema.KindDuration, Unit: "s", Min: new(int64(0))}
	listType     = &schema.Type{Kind: schema.KindList, Elem: textType}
)

// words is the type of a setting that takes one of a few words.
// The order is that of the help.
// The first word is not the default by itself: the setting says which one is.
func words(list ...string) *schema.Type { return &schema.Type{Kind: schema.KindString, Enum: list} }

// Settings are all settings of the program. Each flag of run is one of them. It is not altered.
// Live says that a reload takes the setting over. Own says that it concerns one daemon alone. Was
// has an earlier name. The texts in backquotes name the value in the help, as pflag reads them.
// The order is that of the reference and of the example file.
var Settings = &config.Table{
	Folder: "prefix", Scratch: "tmp_prefix",
	Settings: []*config.Setting{
		{Key: "graph", Live: true, Flag: "yaml", Type: textType, Path: true, Group: "graph", Default: input.Default, Example: input.Default,
			Doc: "the graph: a YAML `file`, a folder of them, or - for standard input"},
		{Key: "puppet_catalog", Live: true, Type: textType, Path: true, Group: "graph", Example: "/etc/mgmt/catalog.json",
			Doc: "the graph: a `file` with what puppet catalog compile prints, or - for standard input"},
		{Key: "ts", Live: true, Type: textType, Path: true, Group: "graph", Example: "/etc/mgmt/main.ts",
			Doc: "the graph: a `file` with a program in TypeScript that makes it"},
		{Key: "ts_check", Flag: "check", Live: true, Type: words("auto", "require", "off"), Default: "auto", Example: "require",
			Doc: "of a program: when tsc checks its types; auto does in validate and deploy, where a tsc is present that may be run, require always does, and refuses the program without a tsc"},
		{Key: "tsc", Live: true, Type: textType, Path: true, Example: "/usr/local/bin/tsc", Doc: "of a program: the `file` with tsc (default that of a project that mgmt ts trust knows, that next to mgmt, or that in PATH)"},
		{Key: "tags", Live: true, Type: listType, Example: "[base, web]", Doc: "of a catalog: run only resources with one of these `tags`, separated by commas"},
		{Key: "lenient", Live: true, Type: switchType, Example: "true", Doc: "of a catalog: leave out what mgmt can't do, with a warning each"},
		{Key: "ordering", Live: true, Type: words(string(puppet.None), string(puppet.Manifest)), Default: string(puppet.None), Example: "manifest", Doc: "of a catalog: the order of resources that nothing else orders"},

		{Key: "puppet_modules", Live: true, Type: listType, Example: "[/etc/puppet/code/modules]", Doc: "of a catalog: `folders` with modules, for sources such as puppet:///modules/NAME/FILE (default " + strings.Join(input.ModulePath, ", ") + ")"},
		{Key: "max_resources", Live: true, Type: manyType, Default: strconv.Itoa(gapi.DefaultMaxResources), Example: "1000000", Doc: "how many resources a graph may have; a graph with more is refused before it takes memory"},
		{Key: "max_graph_size", Live: true, Type: textType, Default: DefaultGraphSize, Example: "256MiB", Check: checkGraphSize, Doc: "how large the files of a graph may be together; 1GiB is the most"},

		{Key: "var", Live: true, Type: listType, Example: "[domain=example.org]", Doc: "set a variable of the graph: `NAME=VALUE`; may be repeated"},
		{Key: "vars", Live: true, Type: listType, Path: true, Example: "[/etc/mgmt/vars.yaml]", Doc: "set variables of the graph: YAML `files`, each a map from names to values; --var counts after them"},

		{Key: "identity", Live: true, Type: textType, Path: true, Example: "/etc/mgmt/age.key", Doc: "a `file` with an identity of age, which decrypts the secrets of the graph; its owner alone may read it"},

		{Key: "types", Live: true, Type: textType, Path: true, Example: "/etc/mgmt/types", Doc: "a `folder` of types that are written as data: they are kinds too"},
		{Key: "models", Type: textType, Path: true, Example: "/etc/mgmt/models", Doc: "a `folder` of models that are written as data: they are tables of the store"},
		{Key: "plugins", Live: true, Type: textType, Path: true, Example: "/etc/mgmt/plugins", Doc: "a `folder` of descriptors of providers: the types of these programs are kinds too"},
		{Key: "targets", Live: true, Type: textType, Path: true, Example: "/etc/mgmt/targets", Doc: "a `folder` of files with targets: the machines and devices that resources of remote types may name"},
		{Key: "backends", Live: true, Type: textType, Path: true, Example: "/etc/mgmt/backends", Doc: "a `folder` of descriptions of programs: they are backends too"},
		{Key: "role", Type: listType, Example: "[web]", Doc: "the purpose of the machine: a `word` of the fact roles; may be repeated"},
		{Key: "hostname", Type: textType, Example: "web1.example.org", Doc: "the `name` of this machine (default the hostname)"},
		{Key: "trust_others", Type: switchType, Example: "true", Doc: "as root: take graphs, types, backends and a state folder also where other users can write them"},

		{Key: "noop", Type: textType, Alone: "all", Example: "all", Check: checkNoop,
			Doc: "alter nothing, only report; the `policy` is all (without a value), or default: then a resource's own noop: false wins"},
		{Key: "max_changes", Type: textType, Example: "20/5m", Live: true, Check: parses(reactor.ParseBudget),
			Doc: "how much may change: a number or a share of the graph, in a time, as in 20/5m or 10%/1h; a further change is held until mgmt resume"},
		{Key: "max_removals", Type: textType, Default: reactor.DefaultRemovals.String(), Example: "10,33%", Live: true, Check: parses(reactor.ParseRemovals),
			Doc: "how many resources a new graph may remove: a number, a share as 20%, both, of which it must pass both to be held until mgmt resume, or off"},
		{Key: "leaving", Type: textType, Example: "ask", Check: checkLeaving,
			Doc: "what becomes of the work of a resource that leaves the graph and does not say it by meta.leaving: keep (the default), undo, or ask: the graph is held until mgmt resume"},
		{Key: "flapping", Was: "fight", Type: textType, Default: reactor.DefaultFlapping().String(), Example: "5/10m", Live: true, Check: parses(reactor.ParseFlapping),
			Doc: "how often, in which time, a resource must be corrected against the same other value to be left alone for a while; off for never"},
		{Key: "parallel", Type: numberType, Example: "4", Doc: "how many resources to run at once (default 8 for each core, and 128 of kinds whose runs take a few microseconds)"},
		{Key: "sema", Type: numberType, Example: "2", Doc: "a semaphore over all resources: at most this many run at once, whatever they wait for"},
		{Key: "no_autoedges", Type: switchType, Example: "true", Doc: "without automatic edges: only declared edges give an order"},
		{Key: "no_autogroup", Type: switchType, Example: "true", Doc: "without groups: every resource runs by itself"},
		{Key: "no_watch", Type: switchType, Example: "true", Doc: "do not follow edits of the graph"},

		{Key: "log_format", Type: words("text", "json"), Default: "text", Example: "json", Doc: "how to log to standard error"},
		{Key: "debug", Type: switchType, Group: "level", Live: true, Example: "true", Doc: "log much more"},
		{Key: "verbose", Short: "v", Type: switchType, Group: "level", Live: true, Example: "true", Doc: "log each change and each try, on a terminal too, where many that are alike are one line otherwise"},
		{Key: "quiet", Type: switchType, Group: "level", Live: true, Example: "true", Doc: "log only warnings and errors"},
		{Key: "color", Type: words("auto", "always", "never"), Default: "auto", Example: "never", Doc: "whether to write in colour (--no-color: never); auto does on a terminal, unless NO_COLOR is set"},

		{Key: "prefix", Type: textType, Path: true, Group: "state", Example: "/var/lib/mgmt",
			Doc: "the `folder` with the state (default $MGMT_PREFIX, $STATE_DIRECTORY, /var/lib/mgmt for root, else $XDG_STATE_HOME/mgmt)"},
		{Key: "tmp_prefix", Type: switchType, Group: "state", Example: "true", Doc: "keep state in a temporary folder and remove it at the end"},
		{Key: "world", Type: textType, Own: true, Default: store.DefaultPlace, Example: "bolt", Check: store.CheckPlace,
			Doc: "the `store` that resources and hosts share: bolt[:FILE], by default a file in the state folder that is made at the first use, memory, or etcd://HOST:PORT[,HOST:PORT...][/PREFIX]"},
		{Key: "cert", Type: textType, Path: true, Own: true, Example: "/etc/mgmt/host.pem",
			Doc: "of a store in etcd: the `file` with the certificate that shows who this host is"},
		{Key: "key", Type: textType, Path: true, Own: true, Example: "/etc/mgmt/host.key",
			Doc: "of a store in etcd: the `file` with the key of --cert"},
		{Key: "ca", Type: textType, Path: true, Own: true, Example: "/etc/mgmt/ca.pem",
			Doc: "of a store in etcd: the `file` with the certificate that signs those of the servers (default those that the machine trusts)"},
		{Key: "user", Type: textType, Own: true, Example: "web1.example.org",
			Doc: "of a store in etcd: the `name` of the user, where no certificate shows it"},
		{Key: "password_file", Type: textType, Path: true, Own: true, Example: "/run/credentials/mgmt.service/store",
			Doc: "of a store in etcd: the `file` with the password of --user"},
		{Key: "lease", Type: durationType, Default: store.DefaultLease.String(), Example: "15s", Check: checkLease,
			Doc: "how long the store keeps the record, the schedules and the semaphores of this host after it has died"},
		{Key: "accept", Type: listType, Example: "[host, file=/etc/motd.d/]", Check: checkAccept,
			Doc: "the `kinds` of the resources that may come from other hosts, by collect, as objects of a store in etcd, and by api_writers: KIND for any place, KIND=PATTERN for those whose identity fits, KIND.FIELD for a parameter that the kind does not lend, KIND.* for all (default " + strings.Join(lend.Default, ", ") + ")"},
		{Key: "trusted_keys", Type: listType, Path: true, Own: true, Example: "[/etc/mgmt/deploy.key.pub]",
			Doc: "`files` with public keys, as mgmt deploy keygen makes them: this host takes the deploys that one of them has signed; a reload reads the files again (default none)"},
		{Key: "socket", Type: textType, Path: true, Own: true, Example: "/run/mgmt/mgmt.sock",
			Doc: "the `path` of the daemon's socket (default " + daemon.SocketName + " in the folder of --prefix, $RUNTIME_DIRECTORY, /run/mgmt for root, $XDG_RUNTIME_DIR/mgmt, or the state folder)"},
		{Key: "api_write_group", Type: textType, Own: true, Example: "adm",
			Doc: "the `group` whose members may change objects over the API, besides root (default none)"},
		{Key: "api_listen", Type: textType, Own: true, Example: "192.0.2.7:8442", Check: checkAddress,
			Doc: "serve the objects of the store to other machines at this `address`, over TLS with certificates of the clients only (default none)"},
		{Key: "api_cert", Type: textType, Path: true, Own: true, Example: "/etc/mgmt/api.pem", Doc: "the `file` with the certificate for api_listen"},
		{Key: "api_key", Type: textType, Path: true, Own: true, Example: "/etc/mgmt/api.key", Doc: "the `file` with the key of api_cert"},
		{Key: "api_ca", Type: textType, Path: true, Own: true, Example: "/etc/mgmt/clients.pem", Doc: "the `file` with the certificate that signs those of the clients of api_listen"},
		{Key: "api_writers", Type: listType, Own: true, Example: "[deployer]",
			Doc: "the `names` in the certificates of the clients that may change objects, within the setting accept; all others read"},
		{Key: "prometheus", Type: textType, Own: true, Alone: daemon.DefaultMetrics, Example: daemon.DefaultMetrics, Check: checkAddress,
			Doc: "serve metrics for Prometheus at this `address`; without one at " + daemon.DefaultMetrics},
		{Key: "prometheus_remote", Type: switchType, Own: true, Example: "true", Doc: "let --prometheus take an address that other machines can reach"},
		{Key: "metrics_textfile", Type: textType, Path: true, Own: true, Example: "/var/lib/prometheus/node-exporter/mgmt.prom",
			Doc: "write metrics to this `file` every 15 s and at the end, for the textfile collector of node_exporter"},
		{Key: "graphviz", Type: textType, Path: true, Own: true, Example: "/run/mgmt/graph.dot", Doc: "draw each graph that takes effect to this `file`, in the language of Graphviz"},

		{Key: "converged_timeout", Type: durationType, Example: "5s", Doc: "how long nothing must have happened for the graph to be called converged"},
		{Key: "converged_exit", Type: switchType, Own: true, Example: "true", Doc: "exit when the graph has converged"},
		{Key: "converged_status_file", Type: textType, Path: true, Own: true, Example: "/run/mgmt/converged",
			Doc: "append true or false to this `file` whenever the graph has converged, or no longer is"},
		{Key: "max_runtime", Type: durationType, Own: true, Example: "1h", Doc: "exit after this time, with code 5"},
	},
	Instead: map[string]string{
		"log":       "write log_format, debug or quiet",
		"level":     "write debug: true, verbose: true or quiet: true",
		"log_level": "write debug: true, verbose: true or quiet: true",
		"limits":    "write max_changes, max_removals, flapping, parallel or sema",
		"metrics":   "write prometheus or metrics_textfile",
		"state_dir": "write prefix",
		"catalog":   "write puppet_catalog",
	},
	Later: map[string]string{
		"modules": "this version has no modules; a graph includes other files with include",
		"data":    "files of data are named by the key data of a graph; leave the key out",
		"secrets": "a secret never stands in this file; docs/systemd.md shows how a credential reaches a resource",
	},
}

// parses makes a check of a parser.
// The value itself is dropped: it is parsed again where it is used.
// So a wrong value is found before the verb runs, with the place of the setting.
func parses[T any](parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		_, err := parse(text)
		return err
	}
}

// checkNoop checks the value of the setting noop.
// The error is completed with the name of the setting and its place.
// The value false switches a noop of the configuration file off.
func checkNoop(text string) error {
	if _, ok := NoopPolicies[text]; !ok {
		return errors.New("write all, default or false" + Meant(text, []string{"all", "default", "false"}))
	}
	return nil
}

// checkAddress checks an address to listen on.
// The host may be empty, and may be a name. The port is not looked up here.
// An address that is taken, or that other machines reach, is an error of the start.
func checkAddress(text string) error {
	if _, _, err := net.SplitHostPort(text); err != nil {
		return fmt.Errorf("%q is no address, write as in %s", text, daemon.DefaultMetrics)
	}
	return nil
}

// checkGraphSize checks the value of the setting max_graph_size.
// It has the same bounds as the parser, so a wrong value is found before the graph is read.
func checkGraphSize(text string) error {
	_, err := ParseGraphSize(text)
	return err
}

// ParseGraphSize reads a size that a graph can have.
// The result is in bytes. Units are those of schema.ParseSize, such as 64MiB.
func ParseGraphSize(text string) (int64, error) {
	size, err := schema.ParseSize(text)
	if err == nil && (size < 1 || size > 1<<30) {
		err = errors.New("write a size from 1 to 1GiB")
	}
	return int64(size), err
}
