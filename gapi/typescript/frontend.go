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
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/program"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
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

	// VarFiles are files with further inputs, each a map from names to values. Inputs count after them.
	VarFiles []string

	// Parse reads one file of VarFiles.
	Parse func(file string, src []byte) (*schema.Node, schema.Diagnostics)

	// Check says when tsc checks the types of the program; CheckAuto when empty.
	Check Check

	// Compiler is the path of tsc; empty to look for it in the project, next to mgmt and in PATH.
	Compiler string

	// Trusted reports whether the tsc of the project in a folder may be run, with the rights of this process: a project that
	// was cloned to be looked at brings any program under that name. Nil trusts none.
	Trusted func(root string) bool

	// Said is told of each line that the program writes, on another goroutine; nil has it logged.
	Said func(line string)

	// MaxResources bounds the resources of a graph; 0 for gapi.DefaultMaxResources.
	MaxResources int

	// Settle is how long nothing must have happened to the files before they are read again; 0 for DefaultSettle.
	Settle time.Duration

	// Source opens the files; the zero value any.
	Source gapi.Source

	// Programs opens tsc, before it is run with the rights of this process; the zero value any. It is stricter than Source where
	// a graph of another user is only read: to read such a graph must not run such a program.
	Programs gapi.Source
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
	r := &reader{path: f.path, opts: &f.opts, env: env, asker: f.opts.Source.Asking()}
	return gapi.Follow(ctx, env, gapi.Input{Path: f.path, Asker: r.asker, Settle: f.opts.Settle, Read: func(ctx context.Context, _ bool) gapi.Reading { return r.read(ctx) }})
}

// reader runs a program again and again. It keeps the last answer for as long as nothing changes.
type reader struct {
	path string
	opts *Options
	env  gapi.Env
	kept kept
	made declarations // of the last graph without a fault

	modules   map[string]string // for the kinds of modulesOf
	modulesOf *engine.Registry

	asker *gapi.Asker
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
	info, err := r.asker.Stat(ctx, main)
	switch {
	case err != nil:
		return r.refused(main, safepath.WithoutPath(err))
	case info.IsDir():
		return r.refused(main, gapi.ErrFolder)
	case !info.Mode().IsRegular():
		return r.refused(main, gapi.ErrIrregular)
	}
	kinds := r.env.Kinds()
	if k := &r.kept; k.make == nil || k.kinds != kinds || k.from != r.stateOf(k.files) {
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
	inputs, bad := r.inputs()
	var wait sync.WaitGroup
	var t types
	if unfit := r.unfit(ctx, main); unfit != nil {
		bad = append(bad, unfit...)
	} else {
		wait.Go(func() { t = r.checkTypes(ctx, main, kinds) }) // it takes as long as the run itself
	}
	var text []byte
	var err error
	if bad == nil {
		text, err = r.ask(ctx, main, kinds, inputs)
	}
	wait.Wait()
	var a *answer
	if err == nil && bad == nil {
		a, err = decode(text)
	}
	if a != nil {
		r.kept.files = union(r.kept.files, a.files())
		err = r.guarded(a)
	}
	if t.err != nil {
		bad = append(bad, schema.Diagnostic{Pos: schema.Pos{File: r.path}, Message: why(t.err).Error()})
	}
	r.kept.files = union(r.kept.files, t.files)
	r.kept.from = r.stateOf(r.kept.files)
	if err != nil {
		bad = append(bad, schema.Diagnostic{Pos: schema.Pos{File: r.path}, Message: err.Error()})
	}
	if len(bad) > 0 {
		r.kept.state = "error " + bad.Error()
		r.kept.make = func() (*gapi.Declared, error) { return nil, bad }
		return
	}
	sum := sha256.Sum256(text)
	r.kept.state = "made " + string(sum[:]) + fmt.Sprint(t.found)
	r.kept.make = func() (*gapi.Declared, error) {
		d, made, err := a.declared(r.path, main, r.opts.MaxResources, t.found, r.made)
		if made != nil {
			r.made = made
		}
		return d, err
	}
}

// settingsFiles are the files around a program that tsc and the helper read by themselves. maxSettings bounds their bytes.
var settingsFiles = []string{"package.json", "tsconfig.json"}

const maxSettings = 4 << 20

// unfit returns the settings of the project that no program should read, such as a link to a device, which has no end.
func (r *reader) unfit(ctx context.Context, main string) (bad schema.Diagnostics) {
	root := RootOf(main)
	for dir := filepath.Dir(main); ; dir = filepath.Dir(dir) {
		for _, name := range settingsFiles {
			path := filepath.Join(dir, name)
			_, err := gapi.Source{Asker: r.asker}.ReadRegular(ctx, path, maxSettings, "too big: the settings of a project")
			if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, gapi.ErrFolder) {
				continue
			}
			bad = append(bad, schema.Diagnostic{Pos: schema.Pos{File: asNamed(r.path, main, path)}, Message: safepath.WithoutPath(err).Error()})
			r.kept.files = union(r.kept.files, []string{path})
		}
		if dir == root || dir == filepath.Dir(dir) {
			return bad
		}
	}
}

// inputs returns the inputs of the program: those of files, and then those of the options. The files are watched as
// those of the program are.
func (r *reader) inputs() (map[string]json.RawMessage, schema.Diagnostics) {
	all := map[string]json.RawMessage{}
	var found schema.Findings
	for _, path := range r.opts.VarFiles {
		whole, err := filepath.Abs(path)
		var text []byte
		if err == nil {
			r.kept.files = union(r.kept.files, []string{whole})
			text, err = r.readFile(whole)
		}
		if err != nil {
			found.Errorf(schema.Pos{File: path}, "%v", safepath.WithoutPath(err))
			continue
		}
		n, ds := r.opts.Parse(path, text)
		found.Add(ds...)
		if n == nil || ds.Err() != nil {
			continue
		}
		if n.Kind != schema.NodeMap {
			found.Errorf(n.Pos, "a file of variables is a map from names to values")
			continue
		}
		for _, p := range n.Pairs {
			signs(&found, p.Key, &schema.Node{Kind: schema.NodeMap, Pos: p.Pos, Pairs: []schema.Pair{p}})
			var v any
			found.Add(schema.Decode(p.Value, &v)...)
			if all[p.Key], err = json.Marshal(v); err != nil {
				found.Errorf(p.Pos, "%s: a program can't have this value: %v", p.Key, err)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.opts.Inputs)) {
		n, _ := jsonnode.Parse([]byte(r.opts.Inputs[name]), jsonnode.Options{Nowhere: true})
		if n != nil { // the helper reads it again
			put(n, schema.Pos{File: r.path})
			signs(&found, name, n)
		}
	}
	maps.Copy(all, r.opts.Inputs)
	if ds := found.All(); ds.Err() != nil {
		return nil, ds
	}
	return all, nil
}

// signs reports the signs of outputs in the texts of an input. No text of a program can have one.
func signs(found *schema.Findings, name string, n *schema.Node) {
	has := func(text string) bool { return strings.ContainsAny(text, "\uE0F0\uE0F1") }
	if has(n.Text) || slices.ContainsFunc(n.Pairs, func(p schema.Pair) bool { return has(p.Key) }) {
		found.Errorf(n.Pos, "the input %q has U+E0F0 or U+E0F1, which stand around an output in a text of a program: take the character out", name)
	}
	for _, p := range n.Pairs {
		signs(found, name, p.Value)
	}
	for _, item := range n.Items {
		signs(found, name, item)
	}
}

// readFile reads a file under the guard of the source.
func (r *reader) readFile(path string) ([]byte, error) {
	return r.asker.ReadFile(context.Background(), r.opts.Source, path, func(f *os.File, size int64) ([]byte, error) {
		return gapi.ReadBounded(f, size, "the file")
	})
}

// ask runs the helper, and returns its answer. A helper that has no memory left dies without an answer. It is asked again then, for
// the place.
func (r *reader) ask(ctx context.Context, main string, kinds *engine.Registry, inputs map[string]json.RawMessage) ([]byte, error) {
	if r.modulesOf != kinds {
		modules, err := sources(kinds, run)
		if err != nil {
			return nil, err
		}
		r.modules, r.modulesOf = modules, kinds
	}
	question := map[string]any{"version": version, "main": main, "root": RootOf(main), "modules": r.modules, "inputs": inputs}
	d := &death{said: r.said}
	text, err := r.call(ctx, main, question, d.line)
	if _, ended := errors.AsType[*program.Failure](err); !ended || !d.dying {
		return text, err
	}
	question["traced"] = true
	d = &death{}
	if _, err := r.call(ctx, main, question, d.line); ctx.Err() != nil {
		return nil, err
	}
	return d.answer()
}

// call runs the helper once, and returns its answer.
func (r *reader) call(ctx context.Context, main string, question any, stderr func(line []byte)) ([]byte, error) {
	helper, err := r.helper()
	if err != nil {
		return nil, err
	}
	run, err := r.runner()
	if err != nil {
		return nil, err
	}
	c := program.Call{
		Name: "the program", Timeout: maxTime,
		Command: engine.Command{
			// The answer comes by descriptor 3, so that standard output is left to the program.
			Argv: []string{"/bin/sh", "-c", `exec "$0" 3>&1 1>&2`, helper}, Dir: filepath.Dir(main), Stdin: program.Line(question), MaxOutput: maxAnswer,
			Stderr: stderr, Alone: true,
		},
	}
	return c.Do(ctx, run)
}

// runner returns how programs are run: by the engine where there is one.
func (r *reader) runner() (program.Runner, error) {
	if r.env.Host != nil {
		return r.env.Host.Command, nil
	}
	if r.opts.Run == nil {
		return nil, errors.New("a program in TypeScript can't be run here")
	}
	return r.opts.Run, nil
}

// helper returns the path of mgmt-ts.
func (r *reader) helper() (string, error) {
	if r.opts.Helper != "" {
		return r.opts.Helper, nil
	}
	return Find()
}

// said passes on what the program says.
func (r *reader) said(line string) {
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
		text, err := r.readFile(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, safepath.WithoutPath(err))
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
		for _, name := range settingsFiles {
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
func (r *reader) stateOf(files []string) string {
	h := sha256.New()
	for _, path := range files {
		text, err := r.readFile(path)
		fmt.Fprintf(h, "%q %x %v\n", path, sha256.Sum256(text), err)
	}
	for _, dir := range foldersOf(files) {
		entries, err := r.opts.Source.ReadDir(dir)
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
