package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/agents"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/derive"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/scenario"
)

// graphName and testName are what findings call the texts of an agent. No file has these names: a folder below /proc can't be made.
const (
	folder    = "/proc/agent/"
	graphName = folder + "graph.yaml"
	testName  = folder + "graph_test.yaml"
)

// topKeys are the keys of a graph that an agent may have read: the others name files, programs and hosts.
var topKeys = []string{"graph", "comment", "resources", "edges", "vars", "defaults"}

// planned are the parameters that plan takes, by kind. A kind is here if looking at the machine for these runs no command, opens no path but the name, and tells nothing of
// a file but whether it is equal to a text that the agent has.
var planned = map[string][]string{
	"file":     {"path", "state", "content", "owner", "group", "mode"},
	"group":    {"state", "gid", "members"},
	"hostname": {"hostname", "static_hostname"},
	"noop":     {"comment"},
	"print":    {"msg"},
	"svc":      {"state", "startup"},
}

// bench has the tools that need no daemon.
type bench struct{ app *cli.App }

// graphIn is what tools take that read a graph.
type graphIn struct {
	Graph string `json:"graph" jsonschema:"the whole text of a graph in YAML"`
}

// add adds the tools.
func (b *bench) add(s *agents.Server) {
	agents.Add(s, "kinds", "The kinds of resources that a graph may have, with a sentence about each.", b.kinds)
	agents.Add(s, "docs", "The page of a kind: its parameters, what it sends, and how it behaves. The page meta is about the metaparameters of all kinds, and tests about files of tests.", b.docs)
	agents.Add(s, "facts", "The facts of this machine that a graph may use, as facts.NAME.", b.facts)
	agents.Add(s, "validate", "Say what is wrong with a graph, with the place of each fault. The text may not name other files.", b.validate)
	agents.Add(s, "test", "Run tests of a graph on a simulated machine. Nothing of this machine is touched. The page tests of docs has their form.", b.test)
	agents.Add(s, "plan", "Say which resources of a graph this machine does not have as declared. Nothing is altered or run, and present contents are not shown. It takes the kinds "+
		strings.Join(slices.Sorted(maps.Keys(planned)), ", ")+", and of a file its "+strings.Join(planned["file"], ", ")+".", b.plan)
}

type kindsOut struct {
	Kinds []kindOut `json:"kinds"`
}

type kindOut struct {
	Kind    string `json:"kind"`
	Summary string `json:"summary"`
}

func (b *bench) kinds(_ context.Context, in struct {
	Query string `json:"query,omitempty" jsonschema:"only kinds whose page has this text"`
}) (*kindsOut, error) {
	all, err := cli.AllKinds(b.app)
	out := &kindsOut{Kinds: []kindOut{}}
	for _, k := range all {
		if in.Query == "" || strings.Contains(strings.ToLower(k.Name+derive.Markdown(k)), strings.ToLower(in.Query)) {
			out.Kinds = append(out.Kinds, kindOut{k.Name, cli.FirstSentence(cli.KindText(k))})
		}
	}
	return out, err
}

type page struct {
	Page string `json:"page"` // Markdown
}

func (b *bench) docs(_ context.Context, in struct {
	Page string `json:"page" jsonschema:"a kind, meta or tests"`
}) (*page, error) {
	k := derive.Kind{Name: in.Page}
	var err error
	switch in.Page {
	case "meta":
		k.Type, err = cli.MetaType()
	case "tests":
		k.Type, err = schema.Of(&scenario.File{})
	default:
		k, err = cli.KindNamed(b.app, in.Page)
	}
	if err != nil {
		return nil, err
	}
	return &page{derive.Markdown(k)}, nil
}

type factsOut struct {
	Facts map[string]any `json:"facts"`
}

func (b *bench) facts(context.Context, struct{}) (*factsOut, error) {
	f, err := host.ReadFacts("/", b.app.Folders.Hostname, b.app.Folders.Roles)
	return &factsOut{f.Map()}, err
}

type findings struct {
	OK       bool     `json:"ok"`
	Findings []string `json:"findings"`
}

func (b *bench) validate(ctx context.Context, in graphIn) (*findings, error) {
	r := newReader(in.Graph, "")
	_, ds := b.build(ctx, r)
	out := &findings{OK: ds.Err() == nil, Findings: []string{}}
	for _, d := range ds {
		out.Findings = append(out.Findings, plain(d.String()))
	}
	return out, r.err()
}

// plain names the texts of the agent without a folder, which they have not.
func plain(text string) string { return strings.ReplaceAll(text, folder, "") }

// build reads a graph and checks it.
func (b *bench) build(ctx context.Context, r *reader) (*gapi.Declared, schema.Diagnostics) {
	if ds := r.judge(); ds.Err() != nil {
		return nil, ds
	}
	env := gapi.Env{Registry: b.app.Kinds, NoWatch: true}
	for d, err := range yaml.New(graphName, r.options()).Graphs(ctx, env) {
		if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
			return nil, ds
		}
		if err != nil {
			return nil, schema.Diagnostics{{Message: err.Error()}}
		}
		whole := *d.Complete()
		whole.Thorough = true
		_, ds := inputs.Build(b.app, &whole)
		return &whole, ds
	}
	return nil, schema.Diagnostics{{Message: fmt.Sprint(context.Cause(ctx))}}
}

type planOut struct {
	Resources []step   `json:"resources"` // those that are not as declared
	OK        int      `json:"ok"`        // so many others are
	Findings  []string `json:"findings,omitempty"`
}

type step struct {
	Resource string   `json:"resource"`
	State    string   `json:"state"`
	Changes  []string `json:"changes,omitempty"` // the parameters that differ
	Error    string   `json:"error,omitempty"`
}

func (b *bench) plan(ctx context.Context, in graphIn) (*planOut, error) {
	r := newReader(in.Graph, "")
	d, ds := b.build(ctx, r)
	if err := errors.Join(ds.Err(), r.err()); err != nil {
		return nil, errors.New(plain(err.Error()))
	}
	if err := plannable(d); err != nil {
		return nil, err
	}
	machine, err := host.New(ctx, host.Options{Roles: b.app.Folders.Roles, Hostname: b.app.Folders.Hostname})
	if err != nil {
		return nil, err
	}
	defer func() { _ = machine.Close() }() // it has only read
	o := inputs.Options(b.app, slog.New(slog.DiscardHandler))
	o.Host, o.Stdin, o.NoAutoGroup = quiet{machine}, nil, true
	p, err := mgmt.Plan(ctx, o, yaml.New(graphName, r.options()))
	if err = errors.Join(err, r.err()); err != nil {
		return nil, err
	}
	out := &planOut{Resources: []step{}}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.State == resgraph.StateOK {
			out.OK++
			continue
		}
		one := step{Resource: s.Resource, State: s.State.String()}
		for _, c := range s.Changes {
			one.Changes = append(one.Changes, strings.TrimSpace(c.Field+" "+string(c.Verb)))
		}
		if s.Err != nil {
			one.Error = s.Err.Error()
		}
		out.Resources = append(out.Resources, one)
	}
	return out, nil
}

// plannable refuses a graph that has more than planned says.
func plannable(d *gapi.Declared) error {
	for i := range d.Resources {
		r := &d.Resources[i]
		params, ok := planned[r.Kind]
		var keys []schema.Pair
		if r.Value != nil {
			keys = r.Value.Pairs
		}
		if !ok {
			return fmt.Errorf("%s[%s]: plan takes no %s from an agent, since looking at one may run a command or read a file; leave it out, or use validate and test", r.Kind, r.Name, r.Kind)
		}
		for _, p := range keys {
			if !slices.Contains(params, p.Key) {
				return fmt.Errorf("%s[%s]: plan takes no %s from an agent, since it may run a command or read another file; leave it out, or use validate and test", r.Kind, r.Name, p.Key)
			}
		}
	}
	return nil
}

// quiet is this machine without commands.
type quiet struct{ engine.Host }

// Command implements engine.Host.
func (quiet) Command(context.Context, engine.Command) (*engine.Result, error) {
	return nil, errors.New("a plan for an agent runs no command")
}

type testIn struct {
	graphIn
	Tests string `json:"tests" jsonschema:"the text of a file of tests, with the key tests; its key graph is graph.yaml"`
}

func (b *bench) test(ctx context.Context, in testIn) (*testOut, error) {
	r := newReader(in.Graph, in.Tests)
	if ds := r.judge(); ds.Err() != nil {
		return nil, errors.New(plain(ds.Error()))
	}
	n, ds := yaml.Document(testName, []byte(in.Tests))
	if n == nil && ds.Err() == nil {
		return nil, errors.New("there are no tests")
	}
	var file *scenario.File
	if ds.Err() == nil {
		file, ds = scenario.Read(n)
	}
	if ds.Err() != nil {
		return nil, errors.New(plain(ds.Error()))
	}
	file.Graph = graphName
	out := &testOut{Tests: []testResult{}}
	for _, t := range scenario.Run(ctx, testName, file, scenario.Options{Kinds: b.app.Kinds(), YAML: r.options()}, nil) {
		one := testResult{Name: t.Name, OK: len(t.Failures) == 0}
		for _, f := range t.Failures {
			one.Failures = append(one.Failures, plain(f.Pos.String()+": "+f.Message))
		}
		out.Tests = append(out.Tests, one)
	}
	return out, errors.Join(context.Cause(ctx), r.err())
}

type testOut struct {
	Tests []testResult `json:"tests"`
}

type testResult struct {
	Name     string   `json:"name"`
	OK       bool     `json:"ok"`
	Failures []string `json:"failures,omitempty"`
}

// reader reads the texts of an agent, and nothing else.
type reader struct {
	texts   map[string]string
	refused []string // files that a text has named
}

func newReader(graph, tests string) *reader {
	return &reader{texts: map[string]string{graphName: graph, testName: tests}}
}

// options read the texts. Another file is empty, and noted: see err. There is no key, program or credential for a secret.
func (r *reader) options() yaml.Options {
	return yaml.Options{
		Overlay: func(path string) ([]byte, bool) {
			text, ok := r.texts[path]
			if !ok {
				r.refused = append(r.refused, path)
			}
			return []byte(text), true
		},
		Blind: true,
	}
}

// judge refuses a graph with keys that lead out of its text.
func (r *reader) judge() schema.Diagnostics {
	n, ds := yaml.Document(graphName, []byte(r.texts[graphName]))
	if n == nil || ds.Err() != nil {
		return ds
	}
	for _, p := range n.Pairs {
		if !slices.Contains(topKeys, p.Key) {
			ds = append(ds, schema.Diagnostic{Pos: p.Pos, Message: fmt.Sprintf("a graph of an agent may not have the key %s here, only %s: the text must stand for itself", p.Key, strings.Join(topKeys, ", "))})
		}
	}
	return ds
}

// err says which files the texts have named.
func (r *reader) err() error {
	if len(r.refused) == 0 {
		return nil
	}
	return fmt.Errorf("the text reads %s, and no other file is read for an agent: write its content into the text", render.Visible(r.refused[0]))
}
