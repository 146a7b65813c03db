package puppet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// Ordering says in what order resources run that nothing puts into one.
type Ordering string

// The orderings.
const (
	None     Ordering = "none"     // in any, many at once; so does the zero value
	Manifest Ordering = "manifest" // one after the other, as in the manifest
)

// Defaults of Options.
const (
	// In bytes.
	DefaultMaxBytes = 64 << 20
	// A program that writes the catalog in steps has shorter pauses.
	DefaultSettle = 25 * time.Millisecond
)

// Options of a Frontend. The zero value is good.
type Options struct {
	// Lenient leaves out what can't be expressed, with a warning for each. A fault
	// of the catalog itself is an error all the same.
	// The neighbours of a resource that is left out keep their order.
	Lenient bool

	// Tags limits the run to the resources that have one of them; none for all.
	// The other resources are in the graph for its order only, and their attributes are not
	// judged.
	Tags []string

	// Ordering is for manifests that rely on the order in which they are written.
	// With Manifest, a failed resource holds back all that follow.
	Ordering Ordering

	// YAML reads one document of YAML, for fragments of a concat_file of that format;
	// nil refuses them. It must not keep the text.
	YAML func([]byte) (*schema.Node, error)

	// Modules are folders with modules of Puppet, in the order of their weight. A source such as puppet:///modules/NAME/FILE is
	// the file NAME/files/FILE of the first folder that has the module. Without folders such a source is refused.
	Modules []string

	// MaxBytes bounds the size of a catalog; 0 for DefaultMaxBytes.
	MaxBytes int64

	// MaxResources bounds the resources of a catalog; 0 for gapi.DefaultMaxResources.
	MaxResources int

	// Settle is how long nothing must have happened to the file before it is read
	// again; 0 for DefaultSettle.
	Settle time.Duration

	// Source opens the file; the zero value any.
	Source gapi.Source
}

// Frontend reads the catalog at one path; see the package comment.
// It holds no file and no goroutine while Graphs does not run.
type Frontend struct {
	path  string
	opts  Options
	asker *gapi.Asker
}

var _ gapi.Frontend = (*Frontend)(nil)

// New returns a frontend for a file, or "-" for standard input. It does not touch
// the path yet.
func New(path string, o Options) *Frontend {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	o.MaxResources = cmp.Or(o.MaxResources, gapi.DefaultMaxResources)
	if o.Settle == 0 {
		o.Settle = DefaultSettle
	}
	return &Frontend{path, o, o.Source.Asking()}
}

// Graphs implements gapi.Frontend, by way of gapi.Follow.
// A catalog is always yielded as a whole. A bad one yields its error, and the graph before goes
// on.
func (f *Frontend) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return gapi.Follow(ctx, env, gapi.Input{
		Path: f.path, Asker: f.asker, Settle: f.opts.Settle,
		Read: func(ctx context.Context, again bool) gapi.Reading { return f.read(ctx, env, again) },
	})
}

// read reads the catalog once.
// The result is made only when it is asked for: the same text as before costs a sum, and no
// translation.
func (f *Frontend) read(ctx context.Context, env gapi.Env, again bool) gapi.Reading {
	name, src, err := f.source(ctx, env.Stdin, again)
	r := gapi.Reading{Missing: errors.Is(err, fs.ErrNotExist) || err == nil && len(src) == 0}
	if abs, bad := filepath.Abs(f.path); bad == nil && f.path != "-" {
		r.Paths = []string{abs}
	}
	if err != nil {
		err = safepath.WithoutPath(err)
		r.State = "error " + err.Error()
		bad := schema.Diagnostics{{Pos: schema.Pos{File: name}, Message: err.Error()}}
		if errors.Is(err, errTooBig) {
			bad = schema.Diagnostics{tooBig(name, src, f.opts)}
		}
		r.Result = func() (*gapi.Declared, error) { return nil, bad }
		return r
	}
	sum := sha256.Sum256(src)
	r.State = "read " + string(sum[:])
	r.Result = func() (*gapi.Declared, error) {
		d, err := Read(name, src, env.Kinds(), f.opts)
		if d != nil {
			d.Origin = provenance.Origin{Path: name, Digest: fmt.Sprintf("sha256:%x", sum)}
		}
		return d, err
	}
	return r
}

// source returns the name of the catalog in messages, and its text.
// A pipe can be read once, so again makes it an error. Reading it ends with ctx.
func (f *Frontend) source(ctx context.Context, stdin io.Reader, again bool) (name string, src []byte, err error) {
	if f.path == "-" {
		if stdin == nil {
			stdin = strings.NewReader("")
		}
		if file, ok := stdin.(*os.File); ok {
			stdin = gapi.Patient(ctx, file)
		}
		src, err = f.all(stdin)
		return "stdin", src, err
	}
	info, err := f.asker.Stat(ctx, f.path)
	if err != nil {
		return f.path, nil, err
	}
	if info.Mode().IsRegular() {
		src, err = f.asker.ReadFile(ctx, f.opts.Source, f.path, func(file *os.File, _ int64) ([]byte, error) { return f.all(file) })
		return f.path, src, err
	}
	file, err := gapi.Ask(ctx, f.asker, f.path, func() (*os.File, error) { return f.opts.Source.Open(f.path) })
	if err != nil {
		return f.path, nil, err
	}
	defer file.Close()
	switch {
	case info.IsDir():
		err = errors.New("it is a folder, and a catalog is one file")
	case again:
		err = errors.New("it is no file")
	default:
		src, err = f.all(gapi.Patient(ctx, file))
	}
	return f.path, src, err
}

// errTooBig is the error of a catalog with more bytes than it may have.
var errTooBig = errors.New("the catalog is too big")

// all reads a catalog up to the bound of the options. A catalog comes from a program, so
// an endless one is a fault that must not fill the memory. The text of a bigger one comes with the error.
// The bound is one byte more than a catalog may have, so that too many are noticed.
func (f *Frontend) all(r io.Reader) ([]byte, error) {
	src, err := io.ReadAll(io.LimitReader(r, f.opts.MaxBytes+1))
	if err == nil && int64(len(src)) > f.opts.MaxBytes {
		err = errTooBig
	}
	return src, err
}

// tooBig is the finding about a catalog that is too big. More resources than there may be are said first, as a user counts
// resources and not bytes.
func tooBig(file string, src []byte, o Options) schema.Diagnostic {
	if ds := overfull(file, src, o); ds != nil {
		return ds[0]
	}
	return gapi.TooBig(posAt(file, src, int(o.MaxBytes)), "a catalog", o.MaxBytes)
}

// overfull returns the finding about a catalog with more resources than it may have, before anything is made of its text.
// It costs one pass over the text. A text without a catalog gives none here: the parser has
// better words.
func overfull(file string, src []byte, o Options) schema.Diagnostics {
	start, err := catalogBegin(src)
	if err != nil {
		return nil
	}
	tally := gapi.Tally{Left: o.MaxResources}
	_, at := tally.Count(src, start, false)
	if at < 0 {
		return nil
	}
	return schema.Diagnostics{gapi.TooMany(posAt(file, src, at), o.MaxResources)}
}

// nameOf is what a graph without a name is called.
func nameOf(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
