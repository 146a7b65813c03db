package file

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/digest"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/inputs"
)

// Made is a whole file that a kind besides file makes, as the kind file would: compared,
// replaced at once, with its owner and mode. Differences of its content are reported as
// those of the parameter checksum.
// It is a value without state of its own: each call stands alone, and the kind keeps between runs
// whatever it must remember. The kind decides the content; Made decides how it reaches the disk.
type Made struct {
	Path         string
	Owner, Group string
	Mode         schema.Mode
	Secret       bool // the content must not be shown

	Holds *schema.Secret // the content that was read, if it has not more than keptMax
}

// Validate checks what says where the file is, and whose.
// It does no I/O. The errors name the parameters path and mode, as the kinds call them.
func (m Made) Validate() []error {
	return []error{files.PlainPath("path", m.Path), m.Mode.Validate()}
}

// Rooted returns the path, and the parameters that need more of a machine than a folder; see engine.RootedRes.
func (m Made) Rooted() (writes, apart []string) {
	return []string{path.Clean(m.Path)}, []string{"owner", "group"}
}

// Derive makes the file of inputs, unless an earlier run has found it right and nothing has changed
// since. look looks at all inputs, and write writes the content; it may be called more than once. Only a look before the comparison is
// remembered, so no change is taken for a right state: after a file was written it is compared once more.
// It returns as CheckApply does. key is a text of all other parameters on which the content
// depends; another key means that the content is made again.
func (m Made) Derive(ctx context.Context, init *engine.Init, apply bool, seen *inputs.Seen, key string, look func() (inputs.Look, error), write func(io.Writer) error) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	in, err := look()
	if err != nil {
		return false, err
	}
	now := inputs.Seen{OK: true, Key: key + m.key(), In: in}
	now.Out, err = m.lookOut(init)
	if err == nil && *seen == now {
		return true, nil
	}
	*seen = inputs.Seen{}
	ok, err := m.checkApply(ctx, init, apply, piped(write))
	if ok && now.Settled() {
		*seen = now
	}
	return ok, err
}

// key has the parameters on which the file depends, its content apart.
func (m Made) key() string { return fmt.Sprintf("%q %q %q %q", m.Path, m.Owner, m.Group, m.Mode) }

// lookOut looks at the file.
// The look follows links, since the file behind a link is the managed one.
func (m Made) lookOut(init *engine.Init) (inputs.Look, error) {
	st, err := atomicfile.FollowBy(safepath.Of(init.Host), m.Path)
	if err != nil {
		return inputs.Look{}, err
	}
	l := inputs.NewRecorder(init)
	l.Add(m.Path, st)
	return l.End(), nil
}

// checkApply makes the file one with this content.
// It owns the folders that it opens, and closes them before it returns.
func (m Made) checkApply(ctx context.Context, init *engine.Init, apply bool, body *body) (bool, error) {
	k, err := m.Open(ctx, init, apply)
	if err != nil {
		return false, err
	}
	defer k.Close()
	err = k.run.file(k.node, want{body: body, mode: m.Mode})
	return !k.run.changed && err == nil, err
}

// piped is a content that a func writes, each time that it is opened. The func runs on a
// goroutine, which has ended when the content is closed.
// A panic of the func becomes an error of the reader, as in every method of a kind. A reader that
// stops early closes the pipe, whereupon the next write of the func fails and ends it.
func piped(write func(io.Writer) error) *body {
	return &body{from: func() (io.ReadCloser, error) {
		r, w := io.Pipe()
		p := &pipe{r, make(chan struct{})}
		go func() {
			defer close(p.ended)
			w.CloseWithError(callsafe.Do("CheckApply", func() error { return write(w) }))
		}()
		return p, nil
	}}
}

// pipe is the reading end, with the end of the goroutine that writes.
type pipe struct {
	*io.PipeReader
	ended chan struct{}
}

// Close waits for the goroutine. So nothing writes, or reads an input, after a run has ended.
func (p *pipe) Close() error {
	err := p.PipeReader.Close()
	<-p.ended
	return err
}

// Making is one CheckApply of a Made, for a kind that compares the content by itself. It is for one goroutine.
// Between Open and Close it holds the folder of the path open, so that all its calls are about
// one folder.
type Making struct {
	made Made
	init *engine.Init
	run  *run
	node node
}

// Open returns a Making. Its holder closes it.
// The reports of the file pass through a copy of the handle. In them the state of the file is that
// of the whole resource, and its content is the parameter checksum.
func (m Made) Open(ctx context.Context, init *engine.Init, apply bool) (*Making, error) {
	own := *init
	own.Recv = func() map[string]*engine.Send { return nil }
	own.Change = func(c engine.Change) {
		switch c.Field {
		case "state":
			c.Field, c.From, c.To = "", nil, nil
		case "content":
			c.Field = "checksum"
		}
		init.Change(c)
	}
	res := &Res{Path: m.Path, State: Exists, Owner: m.Owner, Group: m.Group, Mode: m.Mode, init: &own, sums: true}
	c := &run{res: res, ctx: ctx, apply: apply, path: m.Path, secret: m.Secret, started: engine.ClockOf(init.Host).Now()}
	if m.Secret {
		c.res.shared().KeepSecret(m.Path)
	}
	if err := c.owners(); err != nil {
		return nil, err
	}
	n, err := c.follow()
	if err != nil {
		return nil, err
	}
	if st, err := n.dir.Lstat(n.name); err == nil && !st.IsRegular() {
		c.close()
		return nil, fmt.Errorf("%s is a %s and not a file; it is not replaced: remove it, or name another path", n, st.Kind())
	}
	return &Making{m, init, c, n}, nil
}

// Close closes the folders that are open.
// It may be called once, and no other method after it.
func (k *Making) Close() { k.run.close() }

// Changed reports whether something was to be changed.
// It counts reported differences, in a noop run too.
func (k *Making) Changed() bool { return k.run.changed }

// Stat looks at the file as it is.
// The error is that of a missing file where there is none; files.IsMissing knows it.
func (k *Making) Stat() (atomicfile.Stat, error) { return k.node.dir.Lstat(k.node.name) }

// File opens the file as it is. The caller closes it.
func (k *Making) File() (*atomicfile.File, atomicfile.Stat, error) {
	return k.node.dir.Open(k.node.name)
}

// Settled reports whether a change of the file from now on will show in its Stat.
func (k *Making) Settled(st atomicfile.Stat) bool { return k.run.settled(k.node.String(), st) }

// Keep leaves the content of the file, and makes its owner and mode right.
func (k *Making) Keep(st atomicfile.Stat) error {
	return k.run.attrs(k.node, st, want{mode: k.made.Mode}, false)
}

// Report tells that the file gets another content, and which other parameters that alters. old is the file as it is, nil if there is none.
// It alters nothing. Take then writes without a second report.
func (k *Making) Report(content engine.Change, old *atomicfile.Stat) error {
	c := k.run
	if old != nil {
		c.changed = true
		k.init.Change(content)
		_, err := c.reportAttrs(k.node, *old, k.made.Mode, true)
		return err
	}
	mode, err := c.newMode(want{mode: k.made.Mode})
	if err != nil {
		return err
	}
	c.change(k.node, "state", nil, Exists, engine.Created)
	k.init.Change(content)
	c.reportNewAttrs(k.node, mode)
	return nil
}

// Possible says, after Report and on a mere look, what making the file would say.
func (k *Making) Possible() error { return k.run.parent(k.node) }

// Take gives the file the content of another one, which has size bytes. Report has told of it; what takes the file's place meanwhile is told of, too.
// The other file stays as it is. An error leaves the old content in place.
func (k *Making) Take(dir, name string, size int64) error {
	k.run.quiet = true
	return k.run.file(k.node, want{body: bodyFrom(atomicfile.At(dir), name, size), mode: k.made.Mode})
}

// Read looks at the file as it is; the checksum is empty where there is none.
// It reads the whole file for the checksum, and asks the context as it goes. The content itself
// is kept only up to keptMax bytes.
func (m Made) Read(ctx context.Context, init *engine.Init, d *digest.Digest) (got Made, sum string, err error) {
	got = Made{Path: m.Path}
	f, st, err := atomicfile.OpenBy(safepath.Of(init.Host), m.Path)
	if files.IsMissing(err) {
		return got, "", nil
	}
	if err != nil {
		return got, "", err
	}
	defer f.Close()
	got.Owner, got.Group = files.UserName(st.UID, m.Owner), files.GroupName(st.GID, m.Group)
	got.Mode = schema.Mode(files.Octal(st.Perm()))
	if want, err := files.Perm(m.Mode, st.Perm(), false); err == nil && want == int(st.Perm()) {
		got.Mode = m.Mode // in the same notation
	}
	kept := keeper{over: st.Size > keptMax}
	if _, err := digest.Copy(ctx, io.MultiWriter(d, &kept), f); err != nil {
		return got, "", err
	}
	if !kept.over {
		got.Holds = new(schema.NewSecret(kept.text.String()))
	}
	return got, d.String(), nil
}

// keeper keeps the bytes written to it, and nothing once they are more than keptMax: a file may
// grow while it is read.
// Its writer never fails, so that the digest is always of the whole file.
type keeper struct {
	text strings.Builder
	over bool
}

// Write forgets everything at the first byte too many: half a content is worth nothing.
func (k *keeper) Write(p []byte) (int, error) {
	if k.over = k.over || k.text.Len()+len(p) > keptMax; k.over {
		k.text.Reset()
	} else {
		k.text.Write(p)
	}
	return len(p), nil
}

// Reversed returns the resource that brings back the state before a resource made the file, as the
// kind file would: was is the result of Read, nil if there was none. No change of it shows a
// content.
// It does so by the rules of the kind file, and carries kind and name of r. So the log and the
// journal name the resource that the user has declared.
func (m Made) Reversed(r engine.Res, was *Made) (engine.Res, error) {
	made := &Res{Path: m.Path, State: Exists, Content: new(""), Owner: m.Owner, Group: m.Group, Mode: m.Mode}
	var before engine.Res
	if was != nil {
		if was.Path != m.Path {
			return nil, fmt.Errorf("what was kept is of %s, and not of %s", was.Path, m.Path)
		}
		file := &Res{Path: m.Path, State: Exists, Owner: was.Owner, Group: was.Group, Mode: was.Mode}
		if was.Holds != nil {
			file.Content = new(was.Holds.Reveal())
		}
		before = file
	}
	undo, err := made.Reversed(before)
	if err != nil {
		return nil, err
	}
	undo.(*Res).sums = true
	undo.SetKind(r.Kind())
	undo.SetName(r.Name())
	return undo, nil
}
