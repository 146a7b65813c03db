package resources

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/files"
)

// madeFile is a whole file that a kind beside file makes, as the kind file would: compared,
// replaced at once, with its owner and mode. Differences of its content are reported as
// those of the parameter checksum.
type madeFile struct {
	path         string
	owner, group string
	mode         schema.Mode
	secret       bool // the content must not be shown

	holds *schema.Secret // the content that was read, if it has not more than fileKept
}

// run returns a run of the kind file that makes it, and where the file is. The caller
// closes the run.
func (m madeFile) run(ctx context.Context, init *engine.Init, apply bool) (*fileRun, fileNode, error) {
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
	res := &FileRes{Path: m.path, State: FileExists, Owner: m.owner, Group: m.group, Mode: m.mode, init: &own, sums: true}
	c := &fileRun{FileRes: res, ctx: ctx, apply: apply, path: m.path, secret: m.secret, started: time.Now()}
	if m.secret {
		c.shared().KeepSecret(m.path)
	}
	if err := c.owners(); err != nil {
		return nil, fileNode{}, err
	}
	n, err := c.follow()
	if err != nil {
		return nil, n, err
	}
	if st, err := n.dir.Lstat(n.name); err == nil && !st.IsRegular() {
		c.close()
		return nil, n, fmt.Errorf("%s is a %s and not a file; it is not replaced", n, st.Kind())
	}
	return c, n, nil
}

// checkApply makes the file one with this content.
func (m madeFile) checkApply(ctx context.Context, init *engine.Init, apply bool, body *fileBody) (bool, error) {
	c, n, err := m.run(ctx, init, apply)
	if err != nil {
		return false, err
	}
	defer c.close()
	err = c.file(n, fileWant{body: body, mode: m.mode})
	return !c.changed && err == nil, err
}

// key is what the file depends on beside its content.
func (m madeFile) key() string { return fmt.Sprintf("%q %q %q %q", m.path, m.owner, m.group, m.mode) }

// validate checks what says where the file is, and whose.
func (m madeFile) validate() []error {
	return []error{files.PlainPath("path", m.path), m.mode.Validate()}
}

// checksum is the notation of a SHA-256.
func checksum(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

// read looks at the file as it is; the SHA-256 is empty where there is none.
func (m madeFile) read(ctx context.Context) (got madeFile, sum string, err error) {
	return m.readWith(ctx, &digest{Hash: sha256.New(), name: "sha256"})
}

// readWith is read with another checksum.
func (m madeFile) readWith(ctx context.Context, d *digest) (got madeFile, sum string, err error) {
	got = madeFile{path: m.path}
	f, st, err := atomicfile.Open(m.path)
	if files.IsMissing(err) {
		return got, "", nil
	}
	if err != nil {
		return got, "", err
	}
	defer f.Close()
	got.owner, got.group = files.UserName(st.UID, m.owner), files.GroupName(st.GID, m.group)
	got.mode = schema.Mode(files.Octal(st.Perm()))
	if want, err := files.Perm(m.mode, st.Perm(), false); err == nil && want == int(st.Perm()) {
		got.mode = m.mode // in the same notation
	}
	kept := keeper{over: st.Size > fileKept}
	if err := copyUntil(ctx, io.MultiWriter(d, &kept), f); err != nil {
		return got, "", err
	}
	if !kept.over {
		got.holds = new(schema.NewSecret(kept.text.String()))
	}
	return got, d.String(), nil
}

// keeper keeps the bytes written to it, and nothing once they are more than fileKept: a file may
// grow while it is read.
type keeper struct {
	text strings.Builder
	over bool
}

func (k *keeper) Write(p []byte) (int, error) {
	if k.over = k.over || k.text.Len()+len(p) > fileKept; k.over {
		k.text.Reset()
	} else {
		k.text.Write(p)
	}
	return len(p), nil
}

// reversed returns the resource that brings back the state before a resource made the file, as the
// kind file would: was is the result of read, nil if there was none. No change of it shows a
// content.
func (m madeFile) reversed(r engine.Res, was *madeFile) (engine.Res, error) {
	made := &FileRes{Path: m.path, State: FileExists, Content: new(""), Owner: m.owner, Group: m.group, Mode: m.mode}
	var before engine.Res
	if was != nil {
		if was.path != m.path {
			return nil, fmt.Errorf("what was kept is of %s, and not of %s", was.path, m.path)
		}
		file := &FileRes{Path: m.path, State: FileExists, Owner: was.owner, Group: was.group, Mode: was.mode}
		if was.holds != nil {
			file.Content = new(was.holds.Reveal())
		}
		before = file
	}
	undo, err := made.Reversed(before)
	if err != nil {
		return nil, err
	}
	undo.(*FileRes).sums = true
	undo.SetKind(r.Kind())
	undo.SetName(r.Name())
	return undo, nil
}

// copyUntil copies until the end, or until the context ends.
func copyUntil(ctx context.Context, w io.Writer, r io.Reader) error {
	_, err := io.Copy(w, readerUntil{ctx, r})
	return err
}

// readerUntil reads until the context ends.
type readerUntil struct {
	ctx context.Context
	io.Reader
}

func (r readerUntil) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

// piped is a content that a func writes, each time that it is opened. The func runs on a
// goroutine, which has ended when the content is closed.
func piped(write func(io.Writer) error) *fileBody {
	return &fileBody{from: func() (io.ReadCloser, error) {
		r, w := io.Pipe()
		p := &pipe{r, make(chan struct{})}
		go func() {
			defer close(p.ended)
			w.CloseWithError(engine.Guard("CheckApply", func() error { return write(w) }))
		}()
		return p, nil
	}}
}

type pipe struct {
	*io.PipeReader
	ended chan struct{}
}

func (p *pipe) Close() error {
	err := p.PipeReader.Close()
	<-p.ended
	return err
}

// lookedAt tells whether inputs have changed since: a digest of their names and of the results of a
// look at each. The zero value is of none.
type lookedAt struct {
	sum     [sha256.Size]byte
	settled bool // a change from now on will show
}

// looker makes a lookedAt.
type looker struct {
	files   *files.Shared
	started time.Time
	text    strings.Builder
	settled bool
}

func newLooker(init *engine.Init) *looker {
	return &looker{files: files.Of(init), started: time.Now(), settled: true}
}

func (l *looker) add(p string, st atomicfile.Stat) {
	st.Links = 0
	fmt.Fprintf(&l.text, "%q %v\n", p, st)
	l.settled = l.settled && st.Settled(l.files.Clock(st.Dev, p), l.started)
}

func (l *looker) end() lookedAt {
	return lookedAt{sha256.Sum256([]byte(l.text.String())), l.settled}
}

// madeSeen is what a run has found right: its inputs, and the file that they make.
type madeSeen struct {
	ok  bool
	key string
	in  lookedAt
	out lookedAt
}

// lookOut looks at the file.
func (m madeFile) lookOut(init *engine.Init) (lookedAt, error) {
	st, err := atomicfile.Follow(m.path)
	if err != nil {
		return lookedAt{}, err
	}
	l := newLooker(init)
	l.add(m.path, st)
	return l.end(), nil
}

// derive makes the file of inputs, unless an earlier run has found it right and nothing has changed
// since. look looks at all inputs. Only a look before the comparison is remembered, so no change is
// taken for a right state: after a file was written it is compared once more.
func (m madeFile) derive(ctx context.Context, init *engine.Init, apply bool, seen *madeSeen, key string, look func() (lookedAt, error), body *fileBody) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	in, err := look()
	if err != nil {
		return false, err
	}
	now := madeSeen{ok: true, key: key + m.key(), in: in}
	now.out, err = m.lookOut(init)
	if err == nil && *seen == now {
		return true, nil
	}
	*seen = madeSeen{}
	ok, err := m.checkApply(ctx, init, apply, body)
	if ok && in.settled && now.out.settled {
		*seen = now
	}
	return ok, err
}
