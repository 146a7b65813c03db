package cli

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/daemon/notices"
	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/engine/journal/images"
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
	expiryType   = &schema.Type{Kind: schema.KindDuration, Unit: "s", Min: new(int64(time.Second))}
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
			Doc: "read the graph from this YAML `file` or folder, or - for standard input"},
		{Key: "puppet_catalog", Live: true, Type: textType, Path: true, Group: "graph", Example: "/etc/mgmt/catalog.json",
			Doc: "read the graph from this `file`, the output of puppet catalog compile, or - for standard input"},
		{Key: "ts", Live: true, Type: textType, Path: true, Group: "graph", Example: "/etc/mgmt/main.ts",
			Doc: "read the graph from the TypeScript program in this `file`"},
		{Key: "ts_check", Flag: "check", Live: true, Type: words("auto", "require", "off"), Default: "auto", Example: "require",
			Doc: "when tsc checks the types of a program; auto checks in validate and deploy, if there is a tsc that may be run; require always checks, and refuses the program without a tsc"},
		{Key: "tsc", Live: true, Type: textType, Path: true, Example: "/usr/local/bin/tsc", Doc: "the tsc `file` that checks programs (default that of a project known to mgmt ts trust, that next to mgmt, or that in PATH)"},
		{Key: "tags", Live: true, Type: listType, Example: "[base, web]", Doc: "run only the catalog resources with one of these `tags`, separated by commas"},
		{Key: "lenient", Live: true, Type: switchType, Example: "true", Doc: "skip whatever mgmt does not support in a catalog, with a warning each"},
		{Key: "ordering", Live: true, Type: words(string(puppet.None), string(puppet.Manifest)), Default: string(puppet.None), Example: "manifest", Doc: "order of catalog resources that nothing else orders"},

		{Key: "puppet_modules", Live: true, Type: listType, Example: "[/etc/puppet/code/modules]", Doc: "module `folders` for catalog sources such as puppet:///modules/NAME/FILE (default " + strings.Join(input.ModulePath, ", ") + ")"},
		{Key: "max_resources", Live: true, Type: manyType, Default: strconv.Itoa(gapi.DefaultMaxResources), Example: "1000000", Doc: "maximum number of resources in a graph; a larger graph is refused before it takes memory"},
		{Key: "max_graph_size", Live: true, Type: textType, Default: DefaultGraphSize, Example: "256MiB", Check: checkGraphSize, Doc: "maximum total size of the files of a graph, at most 1GiB"},

		{Key: "var", Live: true, Type: listType, Example: "[domain=example.org]", Doc: "set a graph variable, `NAME=VALUE`; may be repeated"},
		{Key: "vars", Live: true, Type: listType, Path: true, Example: "[/etc/mgmt/vars.yaml]", Doc: "set graph variables from these YAML `files`, each a map from names to values; --var overrides them"},

		{Key: "identity", Live: true, Type: textType, Path: true, Example: "/etc/mgmt/age.key", Doc: "decrypt the secrets of the graph with the age identity in this `file`, which only its owner may read"},

		{Key: "types", Live: true, Type: textType, Path: true, Example: "/etc/mgmt/types", Doc: "load types written as data from this `folder`; each is a kind"},
		{Key: "models", Type: textType, Path: true, Example: "/etc/mgmt/models", Doc: "load models written as data from this `folder`; each is a table of the store"},
		{Key: "plugins", Live: true, Type: textType, Path: true, Example: "/etc/mgmt/plugins", Doc: "load the descriptors of providers from this `folder`; the types of each provider are kinds"},
		{Key: "targets", Live: true, Type: textType, Path: true, Example: "/etc/mgmt/targets", Doc: "load targets from the files in this `folder`: the machines and devices that resources of remote types may name"},
		{Key: "backends", Live: true, Type: textType, Path: true, Example: "/etc/mgmt/backends", Doc: "load descriptions of programs from this `folder`; each is a backend"},
		{Key: "role", Type: listType, Example: "[web]", Doc: "role of this machine, a `word` in the fact roles; may be repeated"},
		{Key: "hostname", Type: textType, Example: "web1.example.org", Doc: "`name` of this machine (default the hostname)"},
		{Key: "trust_others", Type: switchType, Example: "true", Doc: "as root, accept graphs, types, backends and a state folder that other users can write"},

		{Key: "noop", Type: textType, Alone: "all", Example: "all", Check: checkNoop,
			Doc: "report changes without making them; the `policy` is all (also without a value), or default, which a resource overrides with noop: false"},
		{Key: "max_changes", Type: textType, Example: "20/5m", Live: true, Check: parses(reactor.ParseBudget),
			Doc: "limit on changes: a number or a share of the graph, within a time, such as 20/5m or 10%/1h; further changes are held until mgmt resume"},
		{Key: "max_removals", Type: textType, Default: reactor.DefaultRemovals.String(), Example: "10,33%", Live: true, Check: parses(reactor.ParseRemovals),
			Doc: "limit on the resources that a new graph may remove: a number, a share such as 20%, both, or off; a graph over the limit (with both, over both) is held until mgmt resume"},
		{Key: "approve", Type: textType, Example: "removals,svc", Live: true, Check: parses(reactor.ParseApproval),
			Doc: "hold changes until mgmt approve: all `changes`, removals (those that delete something), those of a kind, several of them separated by commas, or off; drift of resources with drift: ask is held besides"},
		{Key: "approve_expiry", Type: expiryType, Default: reactor.DefaultApproveExpiry.String(), Example: "8h", Live: true,
			Doc: "how long an approval counts that was not used; then the change is asked about again"},
		{Key: "policy", Type: listType, Path: true, Live: true, Example: "[/etc/mgmt/policy.yaml]",
			Doc: "judge graphs and changes by the rules in these `files`, see docs/policy.md"},
		{Key: "window", Type: textType, Example: "mon-fri 08:00-17:00 Europe/Berlin", Live: true, Check: parses(reactor.ParseWindows),
			Doc: "change something only in these `times`, separated by semicolons, such as 'mon-fri 08:00-17:00 Europe/Berlin; sat 10:00-12:00'; other changes are held until then, or until mgmt resume"},
		{Key: "undo_size", Type: textType, Default: "512MiB", Example: "2GiB", Check: parses(images.ParseSize),
			Doc: "keep the states before changes, for mgmt undo, up to this `size`; 0 keeps none"},
		{Key: "undo_age", Type: textType, Default: "30d", Example: "7d", Check: parses(images.ParseAge),
			Doc: "keep the states before changes for this `time`"},
		{Key: "leaving", Type: textType, Example: "ask", Check: checkLeaving,
			Doc: "what happens to a resource that leaves the graph without meta.leaving: keep (the default) leaves its work, undo reverts it, ask holds the graph until mgmt resume"},
		{Key: "flapping", Was: "fight", Type: textType, Default: reactor.DefaultFlapping().String(), Example: "5/10m", Live: true, Check: parses(reactor.ParseFlapping),
			Doc: "leave a resource alone for a while once it was corrected this often, from the same other value, within this time; off disables this"},
		{Key: "parallel", Type: numberType, Example: "4", Doc: "maximum number of resources to run at once (default 8 for each core, at least 128 for kinds whose runs take a few microseconds)"},
		{Key: "sema", Type: numberType, Example: "2", Doc: "run at most this many resources at once, whatever they wait for"},
		{Key: "no_autoedges", Type: switchType, Example: "true", Doc: "order resources only by declared edges, not by automatic ones"},
		{Key: "no_autogroup", Type: switchType, Example: "true", Doc: "run every resource by itself, not in groups"},
		{Key: "no_watch", Type: switchType, Example: "true", Doc: "do not follow edits of the graph"},

		{Key: "log_format", Type: words("text", "json"), Default: "text", Example: "json", Doc: "format of the log on standard error"},
		{Key: "debug", Type: switchType, Group: "level", Live: true, Example: "true", Doc: "log much more"},
		{Key: "verbose", Short: "v", Type: switchType, Group: "level", Live: true, Example: "true", Doc: "log each change and each try, even on a terminal, which otherwise shows many similar ones as one line"},
		{Key: "quiet", Type: switchType, Group: "level", Live: true, Example: "true", Doc: "log only warnings and errors"},
		{Key: "color", Type: words("auto", "always", "never"), Default: "auto", Example: "never", Doc: "when to use colour (--no-color: never); auto uses it on a terminal, unless NO_COLOR is set"},

		{Key: "prefix", Type: textType, Path: true, Group: "state", Example: "/var/lib/mgmt",
			Doc: "state `folder` (default $MGMT_PREFIX, $STATE_DIRECTORY, /var/lib/mgmt for root, else $XDG_STATE_HOME/mgmt)"},
		{Key: "tmp_prefix", Type: switchType, Group: "state", Example: "true", Doc: "keep state in a temporary folder, and remove it at exit"},
		{Key: "world", Type: textType, Own: true, Default: store.DefaultPlace, Example: "bolt", Check: store.CheckPlace,
			Doc: "the `store` that resources and hosts share: bolt[:FILE] (by default a file in the state folder, created at first use), memory, or etcd://HOST:PORT[,HOST:PORT...][/PREFIX]"},
		{Key: "cert", Type: textType, Path: true, Own: true, Example: "/etc/mgmt/host.pem",
			Doc: "client certificate `file` of this host, for a store in etcd"},
		{Key: "key", Type: textType, Path: true, Own: true, Example: "/etc/mgmt/host.key",
			Doc: "key `file` for --cert"},
		{Key: "ca", Type: textType, Path: true, Own: true, Example: "/etc/mgmt/ca.pem",
			Doc: "CA certificate `file` that verifies the servers of a store in etcd (default the CAs that the machine trusts)"},
		{Key: "user", Type: textType, Own: true, Example: "web1.example.org",
			Doc: "user `name` for a store in etcd, unless a certificate gives it"},
		{Key: "password_file", Type: textType, Path: true, Own: true, Example: "/run/credentials/mgmt.service/store",
			Doc: "`file` with the password of --user"},
		{Key: "lease", Type: durationType, Default: store.DefaultLease.String(), Example: "15s", Check: checkLease,
			Doc: "how long the store keeps the record, schedules and semaphores of this host after it dies"},
		{Key: "accept", Type: listType, Example: "[host, file=/etc/motd.d/]", Check: checkAccept,
			Doc: "`kinds` of resources to accept from other hosts, by collect, as objects of a store in etcd, and by api_writers: KIND for any identity, KIND=PATTERN for identities that match, KIND.FIELD for a parameter that the kind does not lend, KIND.* for all of them (default " + strings.Join(lend.Default, ", ") + ")"},
		{Key: "trusted_keys", Type: listType, Path: true, Own: true, Example: "[/etc/mgmt/deploy.key.pub]",
			Doc: "accept deploys signed by a key in these public key `files`, which mgmt deploy keygen makes; a reload reads them again (default none)"},
		{Key: "socket", Type: textType, Path: true, Own: true, Example: "/run/mgmt/mgmt.sock",
			Doc: "`path` of the daemon's socket (default " + daemon.SocketName + " in the folder of --prefix, $RUNTIME_DIRECTORY, /run/mgmt for root, $XDG_RUNTIME_DIR/mgmt, or the state folder)"},
		{Key: "api_write_group", Type: textType, Own: true, Example: "adm",
			Doc: "`group` whose members may change objects over the API, besides root (default none)"},
		{Key: "api_listen", Type: textType, Own: true, Example: "192.0.2.7:8442", Check: checkAddress,
			Doc: "serve the objects of the store to other machines at this `address`, over TLS and only to clients with a certificate (default none)"},
		{Key: "api_cert", Type: textType, Path: true, Own: true, Example: "/etc/mgmt/api.pem", Doc: "server certificate `file` for api_listen"},
		{Key: "api_key", Type: textType, Path: true, Own: true, Example: "/etc/mgmt/api.key", Doc: "key `file` for api_cert"},
		{Key: "api_ca", Type: textType, Path: true, Own: true, Example: "/etc/mgmt/clients.pem", Doc: "CA certificate `file` that verifies the clients of api_listen"},
		{Key: "api_writers", Type: listType, Own: true, Example: "[deployer]",
			Doc: "certificate `names` of the clients that may change objects, within the setting accept; all others only read"},
		{Key: "prometheus", Type: textType, Own: true, Alone: daemon.DefaultMetrics, Example: daemon.DefaultMetrics, Check: checkAddress,
			Doc: "serve metrics for Prometheus at this `address`, or without a value at " + daemon.DefaultMetrics},
		{Key: "prometheus_remote", Type: switchType, Own: true, Example: "true", Doc: "let --prometheus listen on an address that other machines can reach"},
		{Key: "metrics_textfile", Type: textType, Path: true, Own: true, Example: "/var/lib/prometheus/node-exporter/mgmt.prom",
			Doc: "write metrics to this `file` every 15 s and at exit, for the textfile collector of node_exporter"},
		{Key: "web", Type: textType, Own: true, Alone: daemon.DefaultWeb, Example: daemon.DefaultWeb, Check: checkAddress,
			Doc: "serve the page that mgmt web opens at this `address`, or without a value at " + daemon.DefaultWeb + "; beyond loopback over TLS alone"},
		{Key: "web_cert", Type: textType, Path: true, Own: true, Example: "/etc/mgmt/web.pem", Doc: "server certificate `file` for --web"},
		{Key: "web_key", Type: textType, Path: true, Own: true, Example: "/etc/mgmt/web.key", Doc: "key `file` for --web-cert"},
		{Key: "web_ca", Type: textType, Path: true, Own: true, Example: "/etc/mgmt/people.pem", Doc: "CA certificate `file` that verifies the certificates of people and of a proxy, who need no link then"},
		{Key: "web_hosts", Type: listType, Own: true, Example: "[mgmt.example.org]", Doc: "`names` under which browsers ask for the page, besides addresses and localhost"},
		{Key: "web_operators", Type: listType, Own: true, Example: "[ada]", Doc: "`names` in certificates, or given by the proxy, of people who may steer; the others only read"},
		{Key: "web_proxy", Type: textType, Own: true, Example: "proxy.example.org", Doc: "certificate `name` of a proxy that says in --web-header who is logged in"},
		{Key: "web_header", Type: textType, Own: true, Example: "X-Remote-User", Doc: "`header` in which --web-proxy names the person"},
		{Key: "notify", Type: listType, Own: true, Live: true, Read: readReceivers, Whole: receiversType, Example: "[{name: ops, filter: 'outcome == \"failed\"', mail: {to: [root]}}]",
			Doc: "tell receivers of events: a `list`, see docs/notices.md"},
		{Key: "traces", Type: textType, Own: true, Example: "http://127.0.0.1:4318",
			Doc: "send a span for each run to the OpenTelemetry collector at this `URL`, see docs/traces.md (default $OTEL_EXPORTER_OTLP_ENDPOINT)"},
		{Key: "graphviz", Type: textType, Path: true, Own: true, Example: "/run/mgmt/graph.dot", Doc: "draw each graph that takes effect to this `file`, as Graphviz DOT"},

		{Key: "converged_timeout", Type: durationType, Example: "5s", Doc: "how long the graph must be idle to count as converged"},
		{Key: "converged_exit", Type: switchType, Own: true, Example: "true", Doc: "exit once the graph has converged"},
		{Key: "converged_status_file", Type: textType, Path: true, Own: true, Example: "/run/mgmt/converged",
			Doc: "append true to this `file` when the graph converges, and false when it no longer is converged"},
		{Key: "max_runtime", Type: durationType, Own: true, Example: "1h", Doc: "exit with code 5 after this time"},
	},
	Instead: map[string]string{
		"log":       "write log_format, debug or quiet",
		"level":     "write debug: true, verbose: true or quiet: true",
		"log_level": "write debug: true, verbose: true or quiet: true",
		"limits":    "write max_changes, max_removals, flapping, parallel or sema",
		"metrics":   "write prometheus or metrics_textfile",
		"state_dir": "write prefix",
		"catalog":   "write puppet_catalog",
		"modules":   "a graph names its modules itself, with the key use",
		"data":      "a graph names its data files itself, with the key data",
		"secrets":   "this file never holds secrets; docs/systemd.md shows how to pass a credential to a resource",
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

// receiversType is the type of the setting notify.
func receiversType() *schema.Type {
	t, err := schema.TypeOf([]notices.Receiver{})
	if err != nil {
		panic(err) // a defect of the struct, which the reference shows
	}
	return t
}

// readReceivers reads the setting notify.
func readReceivers(n *schema.Node) (string, schema.Diagnostics) {
	list, ds := notices.Read(n)
	if ds.Err() != nil {
		return "", ds
	}
	return notices.Text(list), ds
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
		return fmt.Errorf("%q is not an address, write one such as %s", text, daemon.DefaultMetrics)
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
