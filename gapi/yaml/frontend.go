package yaml

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/expand"
)

// Defaults of Options.
const (
	// In bytes, for all files of a graph together.
	DefaultMaxBytes = 64 << 20
	// An editor writes a file in several steps, with pauses that are shorter than this.
	DefaultSettle = 25 * time.Millisecond
)

// Options of a Frontend. The zero value is good.
type Options struct {
	// MaxBytes bounds the sizes of all files of a graph together; 0 for
	// DefaultMaxBytes.
	MaxBytes int64

	// MaxResources bounds the resources of a graph; 0 for gapi.DefaultMaxResources.
	MaxResources int

	// Settle is how long nothing must have happened to the files before they are
	// read again; 0 for DefaultSettle.
	Settle time.Duration

	// Source opens the files; the zero value any.
	Source gapi.Source

	// Ours recognises a document of Documents, and Form is its name in findings, such as "type". Of a file that other users may not
	// read, and that Ours does not recognise, nothing is shown. It is nil where all may be shown.
	Ours func(*schema.Node) bool
	Form string

	// Overlay returns the text that takes the place of a file, such as that of an open editor; nil where the files are as they
	// are on the disk. It is called for each path that is read, and must be quick. The file need not exist.
	Overlay func(path string) (src []byte, ok bool)

	// Facts returns the facts of the machine by name, for a caller whose Env has no Host; nil for those of this machine.
	Facts func() map[string]any

	// Registry returns the kinds, whose types expressions are checked against, for a caller without an Env; nil where they are not known.
	Registry func() *engine.Registry

	// Vars and VarFiles set the variables of the graph.
	// VarFiles count before Vars, and the last setting of a variable wins.
	Vars     []expand.Setting
	VarFiles []string

	// Unseal decrypts a value of a file of secrets; nil without an identity. Program runs a program that prints secrets, in a folder. Credentials is the folder of the credentials of systemd. Secret,
	// when not nil, has all secrets instead. See expand.Options.
	Unseal      func(text string) (string, error)
	Program     func(dir string, stdin []byte, argv ...string) ([]byte, error)
	Credentials string
	Secret      func(name string) (string, bool)
	// Blind has a secret that can't be read here make an unknown value, and no error. It is for plans.
	Blind bool

	// Hosts returns the facts of all hosts of the store by name, and Scheduled the hosts that a schedule of a topic has chosen, with the lease that
	// proves that this machine is one of them; empty for no proof. They are nil for a caller without a store: then this machine is the only host, and no
	// host is chosen. Hostname is the name of this machine in the store; empty for the fact.
	Hosts     func() map[string]map[string]any
	Scheduled func(topic, name string) (hosts []string, lease string)
	Hostname  string

	// Branch is told of each outcome of a condition, with its place; nil for none. A test of a graph counts them.
	Branch func(at schema.Pos, taken bool)
}

func (o Options) maxBytes() int64 {
	if o.MaxBytes == 0 {
		return DefaultMaxBytes
	}
	return o.MaxBytes
}

func (o Options) maxResources() int { return cmp.Or(o.MaxResources, gapi.DefaultMaxResources) }

func (o Options) settle() time.Duration {
	if o.Settle == 0 {
		return DefaultSettle
	}
	return o.Settle
}

// Frontend reads the graph at one path; see the package comment.
// It holds no file and no goroutine while Graphs does not run.
type Frontend struct {
	path string
	opts Options
}

var _ gapi.Frontend = (*Frontend)(nil)

// New returns a frontend for a file, a folder, or "-" for standard input. It does
// not touch the path yet.
// A path that is not there is an error of the first graph.
func New(path string, o Options) *Frontend { return &Frontend{path, o} }

// Graphs implements gapi.Frontend, by way of gapi.Follow.
// The Env comes before Options where both have kinds or facts. A store is followed only while
// the sequence runs: when it ends, no goroutine is left (law 15).
func (f *Frontend) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	o := f.opts
	if env.Registry != nil {
		o.Registry = env.Registry
	}
	if env.Host != nil {
		o.Facts = func() map[string]any { return env.Host.Facts().Map() }
	}
	if o.Hostname == "" {
		o.Hostname = env.Hostname
	}
	return func(yield func(*gapi.Declared, error) bool) {
		in := gapi.Input{Path: f.path, Settle: f.opts.settle()}
		if env.World != nil && o.Hosts == nil {
			s := newStore(ctx, env)
			defer s.end()
			if o.Blind {
				s.lost = make(chan struct{})
			}
			o.Hosts, o.Scheduled, in.Wake = s.hosts, s.scheduled, s.wake
		}
		files := newFiles(f.path, o, env.Stdin)
		if !env.NoWatch { // else nothing follows that could be a part
			files.sequence = &sequence{}
		}
		// Only the goroutine that ranges over the sequence uses them.
		files.memory, files.items = &expand.Memory{}, map[string]*readItems{}
		in.Read = func(ctx context.Context, again bool) gapi.Reading {
			files.again = again
			return files.load(ctx).reading()
		}
		in.Asker = files.asker
		gapi.Follow(ctx, env, in)(yield)
	}
}
