package archived

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/archive"
	"github.com/reactivegraph/mgmt/resources/internal/digest"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/inputs"
	"github.com/reactivegraph/mgmt/resources/internal/received"
	"github.com/reactivegraph/mgmt/resources/internal/watches"
	"github.com/reactivegraph/mgmt/traits"
)

// Importing the package registers both kinds.
func init() {
	engine.RegisterResource("tar", func() engine.Res { return &Tar{} })
}

var (
	_ engine.RecvableRes    = (*Tar)(nil)
	_ engine.ClashingRes    = (*Tar)(nil)
	_ engine.ReversibleRes  = (*Tar)(nil)
	_ engine.Readable       = (*Tar)(nil)
	_ engine.SharedRes      = (*Tar)(nil)
	_ engine.RootedRes      = (*Tar)(nil)
	_ engine.OverlappingRes = (*Tar)(nil)
	_ engine.DescribedRes   = (*Tar)(nil)
)

// Tar is an archive of files and folders, or a folder in which there is what an archive
// has.
// The two uses share owner and path, and exclude each other's other parameters.
type Tar struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Recvable
	traits.Reversible
	files.One

	Path   string   `yaml:"path" lang:"path" mgmt:"identity" doc:"Absolute path of the archive, or, ending in a slash, of the folder to unpack into; the name if absent."`
	Inputs []string `yaml:"inputs" lang:"inputs" mgmt:"param" doc:"Absolute paths of files and folders. If the path of a folder ends in a slash, its content is packed; else the folder itself, with its name."`
	Format string   `yaml:"format" lang:"format" mgmt:"param,enum=auto|ustar|pax|gnu|0|2|4|8" doc:"Notation of the headers; auto, or 0, for ustar where that is enough and else pax. In mgmt the numbers mean ustar (2), pax (4) and gnu (8)."`

	Extract string      `yaml:"extract" lang:"extract" mgmt:"param" doc:"Absolute path of an archive to unpack into the folder of path; it may be compressed by gzip or bzip2."`
	MaxSize schema.Size `yaml:"max_size" lang:"max_size" mgmt:"param" doc:"The most that is unpacked; 0 for any."`

	Owner string      `yaml:"owner" lang:"owner" doc:"Name or number of the user who owns the archive, or everything that is unpacked."`
	Group string      `yaml:"group" lang:"group" doc:"Name or number of the group that the archive belongs to, or everything that is unpacked."`
	Mode  schema.Mode `yaml:"mode" lang:"mode" doc:"Permissions of the archive, octal or symbolic, as of a file."`

	Checksum string `yaml:"checksum" lang:"checksum" mgmt:"readonly" doc:"The SHA-256 of the archive."`
	Entries  int    `yaml:"entries" lang:"entries" mgmt:"readonly" doc:"How many things are in the folder as they are in the archive that is unpacked."`

	Holds *schema.Secret `yaml:"holds" lang:"holds" mgmt:"readonly" doc:"The content of the file, if that is not more than 8 MiB. It is not shown."`

	init     *engine.Init
	seen     *inputs.Seen
	unpacked *[]string // the names of the entries that were found right; for seen
}

// Default returns an archive whose headers are as simple as they can be.
// At most 1 GiB is unpacked.
func (r *Tar) Default() engine.Res { return &Tar{Format: "auto", MaxSize: 1 << 30} }

// With extract the path is that of the folder.
func (r *Tar) made() file.Made {
	p := r.Path
	if p == "" {
		p = r.Name()
	}
	return file.Made{Path: p, Owner: r.Owner, Group: r.Group, Mode: r.Mode}
}

// Validate checks the parameters.
// The formats are those of tar(5). The words 0, 2, 4 and 8 are the numbers of the
// formats in archive/tar.
func (r *Tar) Validate() error {
	if r.Extract != "" {
		return r.validateExtract()
	}
	m := r.made()
	errs := m.Validate()
	for i, in := range r.Inputs {
		what := fmt.Sprintf("inputs[%d]", i)
		errs = append(errs, files.PlainPath(what, strings.TrimSuffix(in, "/")))
		if p := path.Clean(m.Path); p == path.Clean(in) || strings.HasPrefix(p, path.Clean(in)+"/") {
			errs = append(errs, fmt.Errorf("%s: the archive would be in itself", what))
		}
	}
	if _, ok := archive.Formats[r.Format]; !ok {
		errs = append(errs, fmt.Errorf("format is %q, it must be auto, ustar, pax or gnu", r.Format))
	}
	if len(r.Inputs) == 0 && r.Recv()["inputs"] == nil {
		errs = append(errs, errors.New("inputs is missing: what to pack, or else extract"))
	}
	return errors.Join(errs...)
}

// Init keeps the handle, and tells the files of the graph that this one is managed.
// A new Init forgets the last comparison, since the graph may have changed.
func (r *Tar) Init(init *engine.Init) error {
	r.init, r.seen, r.unpacked = init, &inputs.Seen{}, new([]string)
	r.Manage(init, r.made().Path)
	return nil
}

// Watch waits for changes of the archive, and of everything that is packed or unpacked.
// Folders are watched with all that is below them. It blocks until ctx ends.
func (r *Tar) Watch(ctx context.Context) error {
	paths := []string{path.Clean(r.made().Path)}
	if r.Extract != "" {
		paths = append(paths, r.Extract)
	}
	for _, in := range r.Inputs {
		paths = append(paths, path.Clean(in))
	}
	return watches.Paths(ctx, r.init, paths, events.Options{Recurse: true})
}

// CheckApply packs, or unpacks, and compares that with the present state.
// The walk over the inputs serves both the look and the packing, so both see the same
// entries.
func (r *Tar) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if r.Extract != "" {
		return r.unpack(ctx, apply)
	}
	m := r.made()
	m.Secret = received.Tainted(r.init, "inputs", "Inputs") || files.Of(r.init).HoldsSecret(r.below()) || files.IsCredential(r.Inputs)
	by := safepath.Of(r.init.Host)
	var entries []archive.Entry
	look := func() (in inputs.Look, err error) {
		l := inputs.NewRecorder(r.init)
		if entries, err = archive.Walk(ctx, by, r.Inputs); err != nil {
			return in, err
		}
		for _, e := range entries {
			l.Add(e.Name+" "+e.Path, e.Stat)
		}
		return l.End(), nil
	}
	pack := func(w io.Writer) error { return archive.Pack(ctx, by, w, archive.Formats[r.Format], entries) }
	return m.Derive(ctx, r.init, apply, r.seen, r.Format, look, pack)
}

// below returns the inputs, folders as paths that end in a slash: their contents are packed.
// A secret in a file below an input makes the archive a secret too.
func (r *Tar) below() []string {
	list := slices.Clone(r.Inputs)
	for _, in := range r.Inputs {
		if !strings.HasSuffix(in, "/") {
			list = append(list, in+"/")
		}
	}
	return list
}

// Read returns the archive, or the folder, as it is; nil if there is none.
// It alters nothing. For an archive it reads the whole file.
func (r *Tar) Read(ctx context.Context) (engine.Res, error) {
	if r.Extract != "" {
		return r.readUnpacked(ctx)
	}
	m, sum, err := r.made().Read(ctx, r.init, digest.SHA256())
	if err != nil || sum == "" {
		return nil, err
	}
	got := &Tar{
		Path: r.Path, Inputs: slices.Clone(r.Inputs), Format: r.Format, MaxSize: r.MaxSize,
		Owner: m.Owner, Group: m.Group, Mode: m.Mode, Checksum: sum, Holds: m.Holds,
	}
	got.SetKind(r.Kind())
	got.SetName(r.Name())
	return got, nil
}

// Reversed returns the resource that brings back the old file, or removes ours.
// It fails for extract, since the folder does not keep the replaced files.
func (r *Tar) Reversed(before engine.Res) (engine.Res, error) {
	if r.Extract != "" {
		return nil, errors.New("what an archive has replaced in the folder is not kept, so it can't be brought back")
	}
	if before == nil {
		return r.made().Reversed(r, nil)
	}
	was, ok := before.(*Tar)
	if !ok {
		return nil, fmt.Errorf("%s can't go back to a %s", r, before.Kind())
	}
	return r.made().Reversed(r, &file.Made{Path: was.made().Path, Owner: was.Owner, Group: was.Group, Mode: was.Mode, Holds: was.Holds})
}

// Cmp compares the parameters.
// Findings of earlier runs survive a swap in which the resource is equal.
func (r *Tar) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }

// UIDs names the archive.
// With extract it is the folder, without the slash at its end.
func (r *Tar) UIDs() []autoedge.UID {
	return []autoedge.UID{traits.FileUID(autoedge.UIDOf(r), path.Clean(r.made().Path))}
}

// Rooted says that a folder is enough for all but owners.
func (r *Tar) Rooted() (writes, apart []string) { return r.made().Rooted() }

// AutoEdges wants the inputs or the archive that is unpacked, the owner, the group, and the edges
// of every file.
// It does no I/O: it only states wishes.
func (r *Tar) AutoEdges() (autoedge.Needs, error) {
	w := edges.New(r)
	w.Written(r.made().Path)
	for _, in := range r.Inputs {
		w.Path(in)
		w.Below(in)
	}
	if r.Extract != "" {
		w.Path(r.Extract)
		w.Ask = append(w.Ask, autoedge.NameUIDOf(r, "file", r.made().Path)) // the folder
	}
	w.Account(r.Owner, r.Group)
	return w, nil
}

// Clashes says that another one writes the file, too.
// It compares declared values only. Two equal declarations want the same bytes and may stand.
func (r *Tar) Clashes(other engine.Res) error {
	o, ok := other.(*Tar)
	if !ok && r.Extract != "" {
		return r.fillsFolder(other)
	}
	if !ok {
		return files.Clash(r, other)
	}
	if engine.CmpFields(r, o) != nil {
		return errors.New("they want different contents, owners or modes")
	}
	return nil
}

// Doc describes the kind.
// The reference and mgmt doc tar show the page, and tests run its examples.
func (*Tar) Doc() string {
	return `An archive of files and folders, as tar makes them; or the content of such an archive, unpacked into a folder.

    tar:
    - name: /var/backups/app.tar
      inputs:
      - /etc/app.conf     # app.conf
      - /srv/app          # app/ and all that is in it
      - /srv/more/        # its content, without a folder around

It is made anew whenever something that is packed, or the archive itself, is altered. The same files give the same bytes, and an
archive with those bytes is right. Each file is packed with its name, content, mode, time of change (in seconds), and the numbers of
its owner and group; links are packed as links. Sockets, pipes and devices are left out. Two inputs that give one name are an error.

An input that is a link stands for its target. The archive can't be in a folder that it packs. It is not compressed: a ` + "`gzip`" + ` resource
whose input it is does that, and comes after it by itself.

The file is replaced at once, so a reader sees the old one or the new one. Its owner and mode are those of the file that is replaced, unless they are given.
An archive of a file that holds a secret of the graph can be read by its owner only, unless a mode is given.

With the metaparameter ` + "`reverse: true`" + ` the earlier file comes back when the resource leaves the graph, and a file that was not there before is removed. A file
of more than 8 MiB is not kept, and so can't come back: that is said before it is replaced.

## Unpacked

    tar:
    - name: /opt/app/
      extract: /var/cache/app.tar.gz

With ` + "`extract`" + ` the path is a folder, in which everything is as it is in the archive: contents, permissions and links, and owner and group where they
are given (those of the archive are not taken). It is repaired when it is altered, and follows another archive; files that are not
in the archive are left alone. Times are not looked at. The folder is made if it is missing, but not those above it.

Archives are not trusted. One with a name or a link that leads out of the folder, with hard links, devices or pipes, with one name twice or with more than
` + "`max_size`" + ` in it is refused, and nothing is altered. Links that are in the folder already are not followed. Setuid, setgid and sticky bits are left out.

Unpacking can't be undone: the folder does not hold the replaced files any more. ` + "`reverse: true`" + ` is answered by a warning.`
}
