package fleet

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// bundler makes the content of a deploy from graphs and programs, and checks it as a host reads it.
type bundler struct {
	app *cli.App
	// Its flags are those of a program. The bounds are the defaults, and each host computes the variables of a graph in YAML.
	input  inputs.Flags
	policy inputs.PolicyFlag
}

// fill reads the graphs with all that they include, and checks what the hosts will get.
// The check reads the bundle as a host decodes it, and no file, so a lack of a host is found here.
func (f *bundler) fill(ctx context.Context, w world.World, o *deploy.Order, args []string) error {
	b, err := f.collect(ctx, args)
	if err != nil {
		return f.told(err)
	}
	o.Graphs = b.Graphs
	// Encode bounds the files at deploy.MaxBundle, and refuses names that lead out of the bundle.
	if o.Content, o.Digest, err = b.Encode(); err != nil {
		return err
	}
	if b, err = deploy.Decode(o.Content); err != nil {
		return err
	}
	return f.validate(ctx, w, b)
}

// validate builds the graph of a bundle as a host does. Secrets are unknown here, and each host reads them with its own identity.
// Its expressions see the other hosts and the schedules of the store. Whether a backend can do it is for each host to say.
// The kinds are those of this program: a host with another version may still refuse the graph.
func (f *bundler) validate(ctx context.Context, w world.World, b *deploy.Bundle) error {
	o := f.bounds()
	view := daemon.View(ctx, w, o, gapi.Env{})
	defer view.Close()
	d, err := view.Load(b).Result()
	if err != nil {
		return f.told(err)
	}
	g, ds := gapi.Build(f.app.Kinds(), d)
	if g, ds = f.policy.Judge(ctx, f.app, g, ds); g == nil {
		return f.told(ds)
	}
	return nil
}

// bounds returns how the graphs of a bundle are read here: the hosts have identities for the secrets, and the operator may have none.
func (f *bundler) bounds() yaml.Options {
	in := f.input
	in.Blind = true
	return in.Unchecked(f.app).Foreign()
}

// collect reads files by absolute paths, and names them below the folder that all of them share.
// A file outside of it would have no name on a host: an absolute path in an include is found by validate.
// The files of a folder are graphs, as they are for mgmt run.
func (f *bundler) collect(ctx context.Context, args []string) (*deploy.Bundle, error) {
	read := map[string][]byte{}
	var graphs []string
	o := f.bounds()
	o.Source = f.app.Source()
	for _, arg := range args {
		path, err := filepath.Abs(arg)
		if err != nil {
			return nil, err
		}
		if inputs.IsProgram(path) {
			name, text, err := f.made(ctx, arg, read)
			if err != nil {
				return nil, err
			}
			read[name] = text
			graphs = append(graphs, name)
			continue
		}
		first := true
		folder := false
		if info, err := f.app.Asking().Stat(context.Background(), path); err == nil {
			folder = info.IsDir()
		}
		_, err = yaml.Files(path, o, nil, func(name string, src []byte) {
			// The reader calls back with each file that it has opened, the named graph first.
			// A template or data next to the graphs of a folder is no graph.
			if first && !folder || folder && filepath.Dir(name) == path && yaml.IsGraphName(filepath.Base(name)) {
				graphs = append(graphs, name)
			}
			first = false
			read[name] = src
		})
		if err != nil {
			return nil, err
		}
	}
	b := &deploy.Bundle{}
	base := commonFolder(read)
	for name, src := range read {
		// The order of a map is random here. Encode sorts the files, so equal files have one digest.
		b.Files = append(b.Files, deploy.File{Name: under(base, name), Data: src})
	}
	for _, name := range graphs {
		if !slices.Contains(b.Graphs, under(base, name)) {
			b.Graphs = append(b.Graphs, under(base, name))
		}
	}
	return b, nil
}

// made runs a program, and returns its graph in YAML with a name next to the program. Its faults are told here, where the
// program is. A comment of each resource has its place in the program, relative to that, so that equal programs make equal
// deploys from any folder.
func (f *bundler) made(ctx context.Context, path string, taken map[string][]byte) (name string, text []byte, err error) {
	in := f.input
	in.TS, in.Typed = path, true
	d, err := in.Declared(ctx, f.app)
	if err != nil {
		return "", nil, err
	}
	_, ds := gapi.Build(f.app.Kinds(), d)
	if ds.Err() != nil {
		return "", nil, ds
	}
	render.PrintDiagnostics(f.app.Err, f.app.Program(), ds)
	set, err := in.Options(f.app)
	if err != nil {
		return "", nil, err
	}
	bare := &readable{a: f.app}
	for _, v := range set.Vars {
		if n, _ := jsonnode.Parse(input.Value(v.Text), jsonnode.Options{Nowhere: true}); n != nil {
			bare.input(n)
		}
	}
	for i := range d.Resources {
		bare.resource(&d.Resources[i])
	}
	if ds := bare.found.All(); ds.Err() != nil {
		return "", nil, ds
	}
	if name, err = filepath.Abs(path); err != nil {
		return "", nil, err
	}
	here := *d
	here.Resources = slices.Clone(d.Resources)
	for i := range here.Resources {
		at := &here.Resources[i].Pos
		if rel, err := filepath.Rel(filepath.Dir(path), at.File); err == nil {
			at.File = filepath.ToSlash(rel)
		}
	}
	for name += ".yaml"; taken[name] != nil; {
		name += "_.yaml"
	}
	var b bytes.Buffer
	err = yaml.Render(&b, &here, yaml.Rendering{Positions: true, Whole: true})
	return name, b.Bytes(), err
}

// told writes findings, each with its place.
// Another error passes as it is.
func (f *bundler) told(err error) error {
	if ds, ok := errors.AsType[schema.Diagnostics](err); ok {
		render.PrintDiagnostics(f.app.Err, f.app.Program(), ds)
		return cli.WithCode(cli.ExitUsage, errors.New(ds.Summary()))
	}
	return err
}

// under returns the name of a file in a bundle: its path below the base, with slashes on every
// system. The result never begins with a slash.
func under(base, path string) string {
	return filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(path, base), string(filepath.Separator)))
}

// commonFolder returns the folder that has all files.
// Names below it keep the relative paths by which the files include each other.
func commonFolder(files map[string][]byte) (base string) {
	for name := range files {
		dir := filepath.Dir(name)
		if base == "" {
			base = dir
		}
		for base != dir && !strings.HasPrefix(dir, strings.TrimSuffix(base, "/")+"/") && filepath.Dir(base) != base {
			base = filepath.Dir(base)
		}
	}
	return base
}
