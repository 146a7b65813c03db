package input

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/reactivegraph/mgmt/daemon/setting"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/expand"
	"github.com/reactivegraph/mgmt/gapi/puppet"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/gapi/typescript"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// Default is the graph of a machine where no other is named.
const Default = "/etc/mgmt/graph.yaml"

// VarPrefix begins the names of the environment variables that set variables of the graph.
const VarPrefix = "MGMT_VAR_"

// ModulePath is where Puppet and Debian have modules. The first folder with a module counts.
var ModulePath = []string{"/etc/puppetlabs/code/environments/production/modules", "/etc/puppet/code/environments/production/modules", "/etc/puppet/code/modules", "/usr/share/puppet/modules"}

// Config says where a graph comes from, and with which variables it is made. It is plain data.
type Config struct {
	// Of these at most one is set: the path of a file or a folder, or - for standard input. Without any it is Default, where that is there.
	YAML, Catalog, TS string
	Stored            bool // the graph is empty where no other is given: objects and deploys of a store come beside it

	MaxResources int   // gapi.DefaultMaxResources when 0
	MaxBytes     int64 // of all files together; 64 MiB when 0

	Vars     []string // NAME=VALUE; a later one wins
	VarFiles []string
	Identity string // the file of an identity of age, which decrypts the secrets of the graph; empty for none

	// Of a catalog.
	Tags     []string
	Lenient  bool
	Ordering puppet.Ordering
	Modules  []string // ModulePath when nil

	// Of a program.
	Check    typescript.Check
	Compiler string // the file with tsc; empty for the one that is found
}

// Env is what surrounds an input.
type Env struct {
	From     gapi.Source // opens the files of the graph
	Programs gapi.Source // opens the programs that a graph has next to it
	Hostname string      // as the user calls the machine; empty for its own name
	Facts    func() map[string]any
	// Environ has the variables of the environment, as os.Environ returns them; CREDENTIALS_DIRECTORY and those with VarPrefix count.
	Environ []string

	Blind bool // a secret that can't be read makes an unknown value, and no program is run for one
	Typed bool // the types of a program are checked where a tsc is there, without being asked for
	// Run runs a program where there is no engine to do it, and Said takes a line that it prints; nil in a daemon.
	Run     func(context.Context, engine.Command) (*engine.Result, error)
	Said    func(string)
	Trusted func(project string) bool // whether the tsc of a project may be run; nil for none
	// Called is what the findings in a graph call a field of a Config; nil for its own name.
	Called func(setting.Field) string
}

func (e *Env) called(f setting.Field) string {
	if e.Called == nil {
		return string(f)
	}
	return e.Called(f)
}

// Input is where a graph comes from, on one machine. It does not change, and may be used by many goroutines.
type Input struct {
	config Config
	env    Env
	unseal func(text string) (string, error) // nil without an identity
}

// ErrNone is that no graph is named, and there is none at Default.
var ErrNone = errors.New("no graph is given")

// New returns an Input. Where the Config names no graph, it looks whether Default is there.
func New(c Config, e Env) *Input {
	if c.path() == "" {
		if _, err := e.From.Asking().Stat(context.Background(), Default); !errors.Is(err, fs.ErrNotExist) {
			c.YAML = Default
		}
	}
	in := &Input{config: c, env: e}
	if c.Identity != "" {
		in.unseal = trust.UnsealBy(c.Identity)
	}
	return in
}

// path returns where the graph is; empty where nothing says so.
func (c *Config) path() string { return cmp.Or(c.Catalog, c.TS, c.YAML) }

// Config returns what the Input was made of, with the graph that counts.
func (in *Input) Config() Config { return in.config }

// Unseal decrypts by the identity of the Config; nil without one.
func (in *Input) Unseal() func(text string) (string, error) { return in.unseal }

// Frontend returns the frontend. The error says that no graph is named, or several, or that a variable is none.
func (in *Input) Frontend() (gapi.Frontend, error) {
	c := &in.config
	switch {
	case c.several():
		return nil, setting.Errorf("a graph comes from %v, from %v or from %v, and not from two of them", setting.GraphYAML, setting.GraphCatalog, setting.GraphTS)
	case c.Catalog != "":
		modules := c.Modules
		if modules == nil {
			modules = ModulePath
		}
		return puppet.New(c.Catalog, puppet.Options{
			Source: in.env.From, YAML: yaml.Value, Tags: c.Tags, Lenient: c.Lenient, Ordering: c.Ordering, Modules: modules,
			MaxResources: c.MaxResources, MaxBytes: c.MaxBytes,
		}), nil
	case c.TS != "":
		return in.program()
	}
	if c.YAML == "" && c.Stored {
		return static.New(&gapi.Declared{Name: "store"}), nil
	}
	if c.YAML == "" {
		return nil, setting.Errorf("%w: name one in %v, %v or %v; the default, %s, is not there; a daemon with %v or %v takes its graph from its store, and needs no other",
			ErrNone, setting.GraphYAML, setting.GraphCatalog, setting.GraphTS, Default, setting.StorePlace, setting.TrustedKeys)
	}
	o, err := in.Options()
	if err != nil {
		return nil, err
	}
	return yaml.New(c.YAML, o), nil
}

func (c *Config) several() bool {
	n := 0
	for _, path := range []string{c.YAML, c.Catalog, c.TS} {
		if path != "" {
			n++
		}
	}
	return n > 1
}

// Options returns how the graph is read where it is in YAML. The error is that of a variable that is none; faults of files come with
// the graph.
func (in *Input) Options() (yaml.Options, error) {
	o := in.Foreign()
	o.Source, o.VarFiles = in.env.From, in.config.VarFiles
	for _, entry := range in.env.Environ {
		if set, ours := strings.CutPrefix(entry, VarPrefix); ours {
			name, value, _ := strings.Cut(set, "=")
			// Other graphs of this machine have the variable, too: a graph without it goes without it.
			o.Vars = append(o.Vars, expand.Setting{Name: name, Text: value, From: VarPrefix + name, Shared: true})
		}
	}
	for _, set := range in.config.Vars {
		name, value, ok := strings.Cut(set, "=")
		if !ok {
			return o, setting.Errorf("%v %s: write %[1]v NAME=VALUE", setting.GraphVars, set)
		}
		o.Vars = append(o.Vars, expand.Setting{Name: name, Text: value, From: in.env.called(setting.GraphVars) + " " + name})
	}
	return o, nil
}

// Foreign returns how a graph from elsewhere is read on this machine, such as that of a deploy: the bounds and the facts are those of the
// own graph, and so is the place of its secrets.
func (in *Input) Foreign() yaml.Options {
	o := yaml.Options{
		MaxResources: in.config.MaxResources, MaxBytes: in.config.MaxBytes, Hostname: in.env.Hostname, Facts: in.env.Facts,
		Blind: in.env.Blind, Credentials: in.variable("CREDENTIALS_DIRECTORY"), Unseal: in.unseal,
	}
	if !in.env.Blind {
		o.Program = secretsOf
	}
	return o
}

// variable returns a variable of the environment.
func (in *Input) variable(name string) (value string) {
	for _, entry := range in.env.Environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

// program returns the frontend of a program in TypeScript. The variables of the graph are its inputs.
func (in *Input) program() (gapi.Frontend, error) {
	c := &in.config
	o := in.env.Program()
	o.MaxResources, o.VarFiles, o.Check, o.Compiler = c.MaxResources, c.VarFiles, c.Check, c.Compiler
	if o.Check == typescript.CheckAuto && !in.env.Typed && c.Compiler == "" {
		o.Check = typescript.CheckOff // tsc takes longer than the program
	}
	set, err := in.Options()
	if err != nil {
		return nil, err
	}
	for _, v := range set.Vars {
		o.Inputs[v.Name] = Value(v.Text)
	}
	return typescript.New(c.TS, o), nil
}

// Program returns the options of every program.
func (e *Env) Program() typescript.Options {
	return typescript.Options{
		Source: e.From, Programs: e.Programs, Inputs: map[string]json.RawMessage{}, Parse: yaml.Document, Trusted: e.Trusted, Run: e.Run, Said: e.Said,
	}
}

// Value reads a variable as JSON, so that a program gets numbers and lists. Any other text is itself. The caller quotes a text that only
// looks like a number, such as a version: --var 'v="1.10"'.
func Value(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text has a form always
	}
	return quoted
}

// Lasting names the file or the folder of the graph, by which a later start knows it again: then a first graph that lacks resources of the
// one before may be held. It is empty for an input that is read but once, such as a pipe.
func (in *Input) Lasting() string {
	name := in.config.path()
	if name == "" {
		return "store"
	}
	path, err := filepath.Abs(name)
	if err != nil || gapi.OwnDescriptor(path) {
		return ""
	}
	if info, err := in.env.From.Asking().Stat(context.Background(), path); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return ""
	}
	return path
}

// Path returns the file of the graph, absolute, in whose place another one can be put. The error says why there is none.
func (in *Input) Path() (string, error) {
	c := &in.config
	path, err := filepath.Abs(c.YAML)
	info, missing := in.env.From.Asking().Stat(context.Background(), c.YAML)
	switch {
	case c.Catalog != "":
		return "", errors.New("the graph of this daemon is made of the catalog " + c.Catalog)
	case c.TS != "":
		return "", errors.New("the graph of this daemon is made by the program " + c.TS)
	case c.YAML == "":
		return "", errors.New("this daemon has no graph of its own: its graph is the objects and the deploys of its store")
	case c.YAML == "-":
		return "", errors.New("this daemon has read its graph from standard input")
	case err != nil:
		return "", err
	case missing == nil && info.IsDir():
		return "", errors.New("the graph of this daemon is the folder " + path + ": put the file there, and say mgmt reload")
	case missing == nil && !info.Mode().IsRegular():
		return "", errors.New("this daemon has read its graph from " + path + ", which is no file")
	}
	return path, nil
}
