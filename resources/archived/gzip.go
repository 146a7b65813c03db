package archived

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/digest"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/inputs"
	"github.com/reactivegraph/mgmt/resources/internal/received"
	"github.com/reactivegraph/mgmt/resources/internal/rules"
	"github.com/reactivegraph/mgmt/resources/internal/watches"
	"github.com/reactivegraph/mgmt/traits"
)

// Importing the package registers both kinds.
func init() {
	engine.RegisterResource("gzip", func() engine.Res { return &Gzip{} })
}

var (
	_ engine.RecvableRes    = (*Gzip)(nil)
	_ engine.ClashingRes    = (*Gzip)(nil)
	_ engine.ReversibleRes  = (*Gzip)(nil)
	_ engine.Readable       = (*Gzip)(nil)
	_ engine.SharedRes      = (*Gzip)(nil)
	_ engine.RootedRes      = (*Gzip)(nil)
	_ engine.OverlappingRes = (*Gzip)(nil)
	_ engine.DescribedRes   = (*Gzip)(nil)
)

// Gzip is a file that is another one, or a text, compressed.
// The engine owns the exported fields between runs. init and seen belong to the resource: Init fills
// them, and the goroutine of a CheckApply alone uses them.
type Gzip struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Collectable
	traits.Recvable
	traits.Reversible
	files.One

	Path    string  `yaml:"path" lang:"path" mgmt:"identity" doc:"Absolute path of the compressed file; the name if absent."`
	Input   string  `yaml:"input" lang:"input" mgmt:"param" doc:"Absolute path of the file to compress."`
	Content *string `yaml:"content" lang:"content" mgmt:"param,lend" doc:"The text to compress, in place of a file."`
	Level   int     `yaml:"level" lang:"level" mgmt:"param,min=-2,max=9,lend" doc:"How hard to compress, from 1 (fast) to 9 (small); 0 for not at all, -1 for the usual, -2 for Huffman coding only."`

	Owner    string      `yaml:"owner" lang:"owner" doc:"Name or number of the user who owns it."`
	Group    string      `yaml:"group" lang:"group" doc:"Name or number of the group that it belongs to."`
	Mode     schema.Mode `yaml:"mode" lang:"mode" mgmt:"lend" doc:"Permissions, octal or symbolic, as of a file."`
	Checksum string      `yaml:"checksum" lang:"checksum" mgmt:"readonly" doc:"The SHA-256 of the compressed file."`

	Holds *schema.Secret `yaml:"holds" lang:"holds" mgmt:"readonly" doc:"The content of the file, if that is not more than 8 MiB. It is not shown."`

	// It is nil before Init.
	init *engine.Init
	seen *inputs.Seen
}

// Default returns a file of the usual compression.
func (r *Gzip) Default() engine.Res { return &Gzip{Level: gzip.DefaultCompression} }

// It is made anew for each call, so a received parameter counts at once.
func (r *Gzip) made() file.Made {
	p := r.Path
	if p == "" {
		p = r.Name()
	}
	return file.Made{Path: p, Owner: r.Owner, Group: r.Group, Mode: r.Mode}
}

// Validate checks the parameters.
// It does no I/O: whether the input exists shows in CheckApply.
func (r *Gzip) Validate() error {
	m := r.made()
	errs := m.Validate()
	content := r.Content != nil || r.Recv()["content"] != nil
	if r.Input != "" {
		errs = append(errs, files.PlainPath("input", r.Input))
	}
	return errors.Join(append(errs, rules.Broken([]rules.Rule{
		{If: r.Input != "" && content, Text: "input and content exclude each other"},
		{If: r.Input == "" && !content, Text: "input or content is missing: what to compress"},
		{If: r.Input != "" && path.Clean(r.Input) == path.Clean(m.Path), Text: "input is the path itself"},
		{If: r.Level < gzip.HuffmanOnly || r.Level > gzip.BestCompression, Text: fmt.Sprintf("level is %d, it must be from -2 to 9", r.Level)},
	})...)...)
}

// Init keeps the handle, and tells the files of the graph that this one is managed.
func (r *Gzip) Init(init *engine.Init) error {
	r.init, r.seen = init, &inputs.Seen{}
	r.Manage(init, r.made().Path)
	return nil
}

// Watch waits for changes of both files.
// It blocks until ctx ends. The input is watched too, since its change makes the
// compressed file wrong.
func (r *Gzip) Watch(ctx context.Context) error {
	paths := []string{r.made().Path}
	if r.Input != "" {
		paths = append(paths, r.Input)
	}
	return watches.Paths(ctx, r.init, paths, events.Options{})
}

// CheckApply compresses, and compares that with the present file.
// The key has everything but the files that decides the bytes: the level and a content of
// the graph.
func (r *Gzip) CheckApply(ctx context.Context, apply bool) (bool, error) {
	m := r.made()
	m.Secret = received.Tainted(r.init, "content", "Content")
	key := fmt.Sprint(r.Level)
	if r.Input != "" {
		m.Secret = m.Secret || files.Of(r.init).HoldsSecret([]string{r.Input}) || files.IsCredential([]string{r.Input})
	} else {
		key += " " + *r.Content
	}
	return m.Derive(ctx, r.init, apply, r.seen, key, r.look, func(w io.Writer) error { return r.compress(ctx, w) })
}

// A link counts as its target, whose times change with the content.
// The error of a missing input names the parameter.
func (r *Gzip) look() (inputs.Look, error) {
	l := inputs.NewRecorder(r.init)
	if r.Input != "" {
		st, err := atomicfile.FollowBy(safepath.Of(r.init.Host), r.Input)
		if err != nil {
			return inputs.Look{}, fmt.Errorf("input: %w", err)
		}
		l.Add(r.Input, st)
	}
	return l.End(), nil
}

// compress writes the compressed content. The same content gives the same bytes.
// The header has no name and no time, which gzip(1) would write.
// It blocks until all is written, ends with ctx, and holds one buffer in memory, not the content.
func (r *Gzip) compress(ctx context.Context, w io.Writer) error {
	z, err := gzip.NewWriterLevel(w, r.Level)
	if err != nil {
		return err
	}
	in, err := r.open()
	if err != nil {
		return err
	}
	defer in.Close()
	if _, err := digest.Copy(ctx, z, in); err != nil {
		return err
	}
	return z.Close()
}

// The caller closes it.
// The error of a missing input names the parameter.
func (r *Gzip) open() (io.ReadCloser, error) {
	if r.Input == "" {
		return io.NopCloser(strings.NewReader(*r.Content)), nil
	}
	f, _, err := atomicfile.OpenBy(safepath.Of(r.init.Host), r.Input)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	return f, nil
}

// Read returns the compressed file as it is; nil if there is none.
// The checksum is that of the bytes on the disk. Input, content and level can not be seen
// in them and are those of the graph.
// It reads the whole file for the checksum and alters nothing.
func (r *Gzip) Read(ctx context.Context) (engine.Res, error) {
	m, sum, err := r.made().Read(ctx, r.init, digest.SHA256())
	if err != nil || sum == "" {
		return nil, err
	}
	got := &Gzip{
		Path: r.Path, Input: r.Input, Content: r.Content, Level: r.Level,
		Owner: m.Owner, Group: m.Group, Mode: m.Mode, Checksum: sum, Holds: m.Holds,
	}
	got.SetKind(r.Kind())
	got.SetName(r.Name())
	return got, nil
}

// Reversed returns the resource that brings back the old file, or removes ours.
// It does no I/O. before comes from Read, and may be from an earlier life of the daemon.
func (r *Gzip) Reversed(before engine.Res) (engine.Res, error) {
	if before == nil {
		return r.made().Reversed(r, nil)
	}
	was, ok := before.(*Gzip)
	if !ok {
		return nil, fmt.Errorf("%s can't go back to a %s", r, before.Kind())
	}
	return r.made().Reversed(r, &file.Made{Path: was.made().Path, Owner: was.Owner, Group: was.Group, Mode: was.Mode, Holds: was.Holds})
}

// Cmp compares the parameters.
// Findings of earlier runs survive a swap in which the resource is equal.
func (r *Gzip) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }

// UIDs names the compressed file.
// Files and folders with that path then know it.
func (r *Gzip) UIDs() []autoedge.UID {
	return []autoedge.UID{traits.FileUID(autoedge.UIDOf(r), path.Clean(r.made().Path))}
}

// Rooted says that a folder is enough for all but owners.
func (r *Gzip) Rooted() (writes, apart []string) { return r.made().Rooted() }

// AutoEdges wants the input, the owner, the group, and the edges of every file.
// An input that another resource makes comes first by that.
// It does no I/O: it only states wishes.
func (r *Gzip) AutoEdges() (autoedge.Needs, error) {
	w := edges.New(r)
	w.Written(r.made().Path)
	if r.Input != "" {
		w.Path(r.Input)
	}
	w.Account(r.Owner, r.Group)
	return w, nil
}

// Clashes says that another one writes the file, too.
// Two equal declarations may write the same file: they want the same bytes.
func (r *Gzip) Clashes(other engine.Res) error {
	o, ok := other.(*Gzip)
	if !ok {
		return files.Clash(r, other)
	}
	if engine.CmpFields(r, o) != nil {
		return errors.New("they want different contents, owners or modes")
	}
	return nil
}

// Doc describes the kind.
// The reference and mgmt doc gzip show the page, and tests run its examples.
func (*Gzip) Doc() string {
	return `A file that is another one, or a text, compressed by gzip.

    gzip:
    - name: /srv/www/app.js.gz
      input: /srv/www/app.js
      level: 9

It is made anew whenever the input, or the file itself, is altered. Nothing but the content counts. The compressed file holds no
name and no time, so the same input gives the same bytes. A file with those bytes is right. A new version of mgmt may compress
otherwise, and then makes the file anew, once.

The file is replaced at once, so a reader sees the old one or the new one. Its owner and mode are those of the file that is replaced, unless
they are given. An input that is made by another resource, such as a ` + "`tar`" + `, comes first by itself.

With the metaparameter ` + "`reverse: true`" + ` the earlier file comes back when the resource leaves the graph, and a file that was not there before is removed. A file
of more than 8 MiB is not kept, and so can't come back: that is said before it is replaced.

A content that was received from a secret, or copied from a file that holds a secret, is not shown. The file that is made of it can be read by its owner only.`
}
