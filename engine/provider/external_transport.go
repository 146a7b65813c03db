package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/program"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
	"github.com/reactivegraph/mgmt/engine/schema/strictjson"
)

// ExternalTransport is a transport of commands on this machine, so that it needs no Go. The first line of their standard input
// is an object that says how to reach the target, with the secrets in clear:
//
//	{"target": "sw1", "transport": "switch", "connection": {"host": "192.0.2.7", "password": "..."}}
//
// The verify command ends with code 0 if the target can be used. The facts command writes one line, an object. The command command
// is a Commander: its second line is {"argv": ["get", "x"], "env": ["PATH=..."]}, and all else of its standard input, its output and its code are
// those of that program on the target. Without it, the commands of a type run on this machine, and get the first line too, before
// their own lines.
type ExternalTransport struct {
	Verify  []string // nil if every target counts as usable
	Facts   []string // nil for no facts
	Command []string // nil for types whose commands connect by themselves

	Env     map[string]string // variables of their environment, in addition to PATH
	Timeout time.Duration     // of verify and facts; 0 for DefaultTimeout
}

const connectionKey = "connection_info"

// DecodeTransport reads the definition of a transport from a file, as DecodeDefinition does that of a type.
//
//	name: switch
//	docs: Switches of one vendor.
//	connection_info:
//	  host: {type: String, docs: Its address.}
//	  password: {type: String, docs: Of the user admin., sensitive: true}
//	verify: [/usr/local/lib/mgmt/switch, verify]
func DecodeTransport(n *schema.Node) (*TransportDefinition, *ExternalTransport, schema.Diagnostics) {
	d := &decoder{def: &Definition{}, src: &Source{}, at: places{}}
	x := &ExternalTransport{}
	if n == nil || n.Kind != schema.NodeMap {
		d.errorf(n, "", "a transport is a map with the keys name, docs and %s, not %s", connectionKey, shape(n))
		return &TransportDefinition{}, x, d.found.All()
	}
	d.def.Pos = n.Pos
	d.fields(n, "", "a transport", []key{
		{[]string{"name"}, func(d *decoder, n *schema.Node, path string) { d.def.Name = d.text(n, path) }},
		{[]string{"docs", "desc"}, func(d *decoder, n *schema.Node, path string) { d.def.Doc = strings.TrimSpace(d.text(n, path)) }},
		{[]string{connectionKey}, (*decoder).attributes},
		{[]string{"verify"}, func(d *decoder, n *schema.Node, path string) { x.Verify = d.argv(n, path) }},
		{[]string{"facts"}, func(d *decoder, n *schema.Node, path string) { x.Facts = d.argv(n, path) }},
		{[]string{"command"}, func(d *decoder, n *schema.Node, path string) { x.Command = d.argv(n, path) }},
		{[]string{"env"}, func(d *decoder, n *schema.Node, path string) { x.Env = d.env(n, path) }},
		{[]string{"timeout"}, func(d *decoder, n *schema.Node, path string) { x.Timeout = d.timeout(n, path) }},
	})
	def := &TransportDefinition{Name: d.def.Name, Doc: d.def.Doc, ConnectionInfo: d.def.Attributes, Pos: n.Pos}
	for _, f := range def.check(d.at) {
		if !d.known(f.Path) {
			d.found.Add(f)
		}
	}
	return def, x, d.found.All()
}

// externalLink is a target of an ExternalTransport. There is no connection: each command makes its own.
type externalLink struct {
	by   *ExternalTransport
	line *Line
	head []byte // the first line of each command

	secrets secrets.Texts // of the connection info
}

// externalCommander is a transport with a command named command.
type externalCommander struct{ *externalLink }

// named returns the function that connects for the transport of a name.
func (x *ExternalTransport) named(name string) Connect {
	return func(ctx context.Context, l *Line, info Record) (Transport, error) {
		return x.connect(ctx, name, l, info)
	}
}

// connect verifies the target.
func (x *ExternalTransport) connect(ctx context.Context, name string, l *Line, info Record) (Transport, error) {
	connection := make(map[string]any, len(info))
	for name, v := range info {
		connection[name] = wire(v)
	}
	head := map[string]any{"target": l.Target, transportKey: name, "connection": connection}
	if !strictjson.IsText(head) {
		return nil, errors.New("its connection info is no UTF-8, which JSON has no form for")
	}
	link := &externalLink{by: x, line: l, head: program.Line(head)}
	for _, v := range info {
		link.secrets.Learn(v, false)
	}
	if err := link.Verify(ctx); err != nil {
		return nil, err
	}
	if x.Command != nil {
		return externalCommander{link}, nil
	}
	return link, nil
}

// Verify runs the verify command.
func (t *externalLink) Verify(ctx context.Context) error {
	if t.by.Verify == nil {
		return nil
	}
	_, err := t.ask(ctx, "verify", t.by.Verify)
	return err
}

// Facts runs the facts command.
func (t *externalLink) Facts(ctx context.Context) (map[string]any, error) {
	if t.by.Facts == nil {
		return map[string]any{}, nil
	}
	out, err := t.ask(ctx, "facts", t.by.Facts)
	if err != nil {
		return nil, err
	}
	v, err := strictjson.Parse([]byte(strings.TrimSpace(string(out))))
	if err != nil {
		return nil, fmt.Errorf("the facts command (%s): its output: %w", t.by.Facts[0], err)
	}
	facts, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the facts command (%s): its output is no object", t.by.Facts[0])
	}
	return facts, nil
}

// Close has nothing to end.
func (t *externalLink) Close() error { return nil }

func (t *externalLink) ask(ctx context.Context, what string, argv []string) ([]byte, error) {
	limit := t.by.Timeout
	if limit <= 0 {
		limit = DefaultTimeout
	}
	call := program.Call{
		Name: fmt.Sprintf("the %s command (%s)", what, argv[0]), Timeout: limit, Clock: engine.ClockOf(t.line.Host), Hidden: &t.secrets,
		Command: engine.Command{Argv: slices.Clone(argv), Env: program.Environment(t.by.Env), MaxOutput: maxLine},
	}
	out, err := call.Do(ctx, t.run)
	if _, failed := errors.AsType[*program.Failure](err); err != nil && !failed {
		err = fmt.Errorf("%s: %w", call.Name, err)
	}
	return out, err
}

// run runs a command of this machine with the first line.
func (t *externalLink) run(ctx context.Context, cmd engine.Command) (*engine.Result, error) {
	cmd.Stdin = slices.Concat(t.head, cmd.Stdin)
	return t.line.Host.Command(ctx, cmd)
}

// Command runs the command command.
func (t externalCommander) Command(ctx context.Context, cmd engine.Command) (*engine.Result, error) {
	order := map[string]any{"argv": cmd.Argv, "env": cmd.Env, "dir": cmd.Dir}
	cmd.Stdin = slices.Concat(program.Line(order), cmd.Stdin)
	cmd.Argv, cmd.Env, cmd.Dir = slices.Clone(t.by.Command), program.Environment(t.by.Env), ""
	return t.run(ctx, cmd)
}
