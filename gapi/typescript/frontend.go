package typescript

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/program"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// DefaultSettle is how long nothing must have happened to the files, where Options do not say it.
const DefaultSettle = 25 * time.Millisecond

// The limits of a program. The helper ends by itself at these, and is ended soon after that.
const (
	maxTime   = 35 * time.Second
	maxAnswer = 256 << 20
)

// Options of a Frontend.
type Options struct {
	// Helper is the path of mgmt-ts; empty to look for it, see Find.
	Helper string

	// Run runs the helper where the engine offers no host, as when a graph is only checked. Nil refuses that.
	Run program.Runner

	// Inputs are the values that the program gets as inputs, as JSON; nil for none.
	Inputs map[string]json.RawMessage

	// Said is told of each line that the program writes, on another goroutine; nil has it logged.
	Said func(line string)

	// MaxResources bounds the resources of a graph; 0 for gapi.DefaultMaxResources.
	MaxResources int

	// Settle is how long nothing must have happened to the files before they are read again; 0 for DefaultSettle.
	Settle time.Duration

	// Source opens the files; the zero value any.
	Source gapi.Source
}

// Frontend runs the program at one path; see the package comment.
type Frontend struct {
	path string
	opts Options
}

var _ gapi.Frontend = (*Frontend)(nil)

// New returns a frontend for a program. It does not touch the path yet.
func New(path string, o Options) *Frontend {
	o.Settle = cmp.Or(o.Settle, DefaultSettle)
	o.MaxResources = cmp.Or(o.MaxResources, gapi.DefaultMaxResources)
	return &Frontend{path, o}
}

// Graphs implements gapi.Frontend, by way of gapi.Follow.
func (f *Frontend) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	r := &reader{path: f.path, opts: &f.opts, env: env}
	return gapi.Follow(ctx, env, gapi.Input{Path: f.path, Settle: f.opts.Settle, Read: func(ctx context.Context, _ bool) gapi.Reading { return r.read(ctx) }})
}

// reader runs a program again and again. It keeps the last answer for as long as nothing changes.
type reader struct {
	path string
	opts *Options
	env  gapi.Env
	kept kept

	dying bool // the helper has run out of memory
}

// kept is an answer with the state of its sources.
type kept struct {
	from  string // the state of the files
	kinds *engine.Registry
	files []string
	state string
	make  func() (*gapi.Declared, error)
}

// read returns the graph of this moment.
func (r *reader) read(ctx context.Context) gapi.Reading {
	main, err := filepath.Abs(r.path)
	if err != nil {
		return r.refused(r.path, err)
	}
	info, err := os.Stat(main)
	switch {
	case err != nil:
		return r.refused(main, gapi.WithoutPath(err))
	case info.IsDir():
		return r.refused(main, gapi.ErrFolder)
	case !info.Mode().IsRegular():
		return r.refused(main, gapi.ErrIrregular)
	}
	kinds := r.env.Kinds()
	if k := &r.kept; k.make == nil || k.kinds != kinds || k.from != stateOf(k.files) {
		r.run(ctx, main, kinds)
	}
	return gapi.Reading{Result: r.kept.make, State: r.kept.state, Paths: watched(r.kept.files), Missing: info.Size() == 0}
}

// refused is the reading of a program that there is not.
func (r *reader) refused(main string, err error) gapi.Reading {
	r.kept = kept{}
	bad := schema.Diagnostics{{Pos: schema.Pos{File: r.path}, Message: err.Error()}}
	return gapi.Reading{
		Result: func() (*gapi.Declared, error) { return nil, bad },
		State:  "error " + err.Error(), Paths: []string{main}, Missing: errors.Is(err, fs.ErrNotExist),
	}
}

// run has the helper make the graph anew.
func (r *reader) run(ctx context.Context, main string, kinds *engine.Registry) {
	r.kept = kept{kinds: kinds, files: []string{main}}
	text, err := r.ask(ctx, main, kinds)
	var a *answer
	if err == nil {
		a, err = decode(text)
	}
	if err == nil {
		r.kept.files = union(r.kept.files, a.files())
		err = r.guarded(a)
	}
	r.kept.from = stateOf(r.kept.files)
	if err != nil {
		bad := schema.Diagnostics{{Pos: schema.Pos{File: r.path}, Message: err.Error()}}
		r.kept.state = "error " + err.Error()
		r.kept.make = func() (*gapi.Declared, error) { return nil, bad }
		return
	}
	sum := sha256.Sum256(text)
	r.kept.state = "made " + string(sum[:])
	r.kept.make = func() (*gapi.Declared, error) { return a.declared(r.path, main, r.opts.MaxResources) }
}

// ask runs the helper, and returns its answer.
func (r *reader) ask(ctx context.Context, main string, kinds *engine.Registry) ([]byte, error) {
	helper, err := r.helper()
	if err != nil {
		return nil, err
	}
	modules, err := Sources(kinds, false)
	if err != nil {
		return nil, err
	}
	r.dying = false
	question := program.Line(map[string]any{"version": version, "main": main, "root": RootOf(main), "modules": modules, "inputs": r.opts.Inputs})
	c := program.Call{
		Name: "the program", Timeout: maxTime,
		Command: engine.Command{
			// The answer comes by descriptor 3, so that standard output is left to the program.
			Argv: []string{"/bin/sh", "-c", `exec "$0" 3>&1 1>&2`, helper}, Dir: filepath.Dir(main), Stdin: question, MaxOutput: maxAnswer,
			Stderr: func(line []byte) { r.said(string(line)) }, Alone: true,
		},
	}
	run := r.opts.Run
	if r.env.Host != nil {
		run = r.env.Host.Command
	}
	if run == nil {
		return nil, errors.New("a program in TypeScript can't be run here")
	}
	text, err := c.Do(ctx, run)
	return text, r.explained(err)
}

// helper returns the path of mgmt-ts.
func (r *reader) helper() (string, error) {
	if r.opts.Helper != "" {
		return r.opts.Helper, nil
	}
	return Find()
}

// said passes on what the program says. The last words of an interpreter without memory are many, and help no author.
func (r *reader) said(line string) {
	if r.dying = r.dying || strings.HasPrefix(line, "runtime: out of memory") || strings.HasPrefix(line, "fatal error: "); r.dying {
		return
	}
	if r.opts.Said != nil {
		r.opts.Said(line)
		return
	}
	r.env.Log().Info("the program says", "text", line)
}

// guarded reads each file under the guard of the source: it has to be what the helper has read.
func (r *reader) guarded(a *answer) error {
	if r.opts.Source.Guard == nil {
		return nil
	}
	for _, path := range a.files() {
		f, size, err := r.opts.Source.OpenRegular(path)
		if err != nil {
			return err
		}
		text, err := gapi.ReadBounded(f, size, "the file")
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != a.sums[path] {
			return fmt.Errorf("%s has changed while the program was read", path)
		}
	}
	return nil
}

// RootOf returns the folder of the project of a program. It is the nearest folder above the program with package.json or
// tsconfig.json. A program without such a folder has its own folder as its project.
func RootOf(main string) string {
	for dir := filepath.Dir(main); ; dir = filepath.Dir(dir) {
		for _, name := range []string{"package.json", "tsconfig.json"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return dir
			}
		}
		if dir == filepath.Dir(dir) {
			return filepath.Dir(main)
		}
	}
}

// stateOf sums up files, and the names in their folders: another name may be what an import means from now on.
func stateOf(files []string) string {
	h := sha256.New()
	for _, path := range files {
		text, err := os.ReadFile(path)
		fmt.Fprintf(h, "%q %x %v\n", path, sha256.Sum256(text), err)
	}
	for _, dir := range foldersOf(files) {
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			fmt.Fprintf(h, "%q\n", e.Name())
		}
		fmt.Fprintf(h, "%q %v\n", dir, err)
	}
	return string(h.Sum(nil))
}

// foldersOf returns the folders of files, sorted.
func foldersOf(files []string) []string {
	var dirs []string
	for _, path := range files {
		dirs = append(dirs, filepath.Dir(path))
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// watched are the paths whose changes may make another graph.
func watched(files []string) []string { return union(files, foldersOf(files)) }

// union returns the paths of both lists, sorted, each once.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// explained says what the end of the helper means to the author of a program.
func (r *reader) explained(err error) error {
	if _, ok := errors.AsType[*program.Failure](err); ok && r.dying {
		return errors.New("the program uses more than 512 MiB of memory: a loop may add to a list or a text without an end")
	}
	return err
}
