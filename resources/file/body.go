package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/confined"
	"github.com/reactivegraph/mgmt/resources/internal/files"
)

// shownMax is the largest content that is shown as text in changes.
// Longer contents stand in a report as size and digest. The value is in bytes.
const shownMax = 1 << 20

// summedMax is the largest old content of which a change shows a digest.
const summedMax = 1 << 30

// chunkSize is how many bytes are read at once. Two such buffers are the memory of a comparison,
// however large the file is.
const chunkSize = 64 << 10

// body is the content that a file shall have. It can be opened as often as
// needed. size is what it had when it was looked at; it is not exact for a file,
// which may grow, or be of a kind (/proc, /sys) that does not tell.
// Each opening reads from the start and belongs to its opener, who closes it. A source may change
// between two openings; the comparison then fails, and the next run looks again.
type body struct {
	size  int64
	exact bool
	text  string                        // all of it, where it is exact
	from  func() (io.ReadCloser, error) // opens it; nil for text
}

// textBody is a content that is in memory already. It costs no system call, and its size is exact.
func textBody(s string) *body { return &body{size: int64(len(s)), exact: true, text: s} }

// open returns a reader of the whole content. Its error names the parameter, such as source.
func (b *body) open() (io.ReadCloser, error) {
	if b.from != nil {
		return b.from()
	}
	return io.NopCloser(strings.NewReader(b.text)), nil
}

// body returns the content that the parameters ask for; nil if it is not
// managed.
// A source is opened here once, so that a missing one is an error before anything is altered.
func (c *run) body() (*body, error) {
	switch {
	case c.res.Content != nil:
		c.text = *textBody(*c.res.Content)
		return &c.text, nil
	case c.res.Source != "":
		paths := c.paths()
		from := files.OwnCredential(c.res.Source)
		f, st, err := atomicfile.OpenBy(paths, from)
		if err != nil {
			return nil, fmt.Errorf("source: %w", files.NoCredential(c.res.Source, err))
		}
		return &body{size: st.Size, from: func() (io.ReadCloser, error) {
			f, _, err := atomicfile.OpenBy(paths, from)
			return f, err
		}}, f.Close()
	case len(c.res.Fragments) > 0:
		return c.fragmentsBody()
	// A file that shall only exist keeps its content.
	case c.res.State == Exists:
		return nil, nil
	}
	return nil, nil
}

// fragmentFiles returns the paths of the fragments, folders replaced by their
// files.
// Names are sorted by bytes, which is the same order on each machine. Temporary files of other
// writers in that folder are left out, for they vanish again.
func (c *run) fragmentFiles() ([]string, error) {
	var files []string
	for _, f := range c.res.Fragments {
		if !strings.HasSuffix(f, "/") {
			files = append(files, f)
			continue
		}
		dir := atomicfile.AtBy(c.paths(), f)
		names, err := dir.Names()
		if err != nil {
			return nil, fmt.Errorf("fragments: %w", err)
		}
		for _, name := range names {
			st, err := atomicfile.FollowBy(c.paths(), dir.Path(name))
			if err == nil && st.IsDir() || atomicfile.IsTemp(name) {
				continue
			}
			files = append(files, dir.Path(name))
		}
	}
	return files, nil
}

// fragmentsBody is the contents of all fragments in their order. It looks at each now, and opens
// each only when the reading comes to it: at most one descriptor is open.
func (c *run) fragmentsBody() (*body, error) {
	files, err := c.fragmentFiles()
	if err != nil {
		return nil, err
	}
	paths := c.paths()
	b := &body{from: func() (io.ReadCloser, error) { return &chain{paths: paths, files: files}, nil }}
	for _, f := range files {
		st, err := atomicfile.FollowBy(paths, f)
		if err != nil {
			return nil, fmt.Errorf("fragments: %w", err)
		}
		b.size += st.Size
	}
	return b, nil
}

// inputs looks at everything that the content is made of.
// The result is in the order of inputPaths; nil where the content depends on no other file.
func (c *run) inputs() ([]atomicfile.Stat, error) {
	paths, err := c.inputPaths()
	if err != nil || paths == nil {
		return nil, err
	}
	stats := make([]atomicfile.Stat, len(paths))
	for i, p := range paths {
		if stats[i], err = atomicfile.FollowBy(c.paths(), p); err != nil {
			return nil, fmt.Errorf("%s: %w", c.inputName(), err)
		}
	}
	return stats, nil
}

// inputPaths names the files that the content depends on. Folders among the fragments are inputs
// themselves, since a new name in one of them alters the content.
func (c *run) inputPaths() ([]string, error) {
	switch {
	case c.res.Source != "" && !c.res.Symlink && !c.res.IsFolder():
		return []string{files.OwnCredential(c.res.Source)}, nil
	case len(c.res.Fragments) > 0:
		files, err := c.fragmentFiles()
		return append(files, c.res.Fragments...), err
	}
	return nil, nil
}

// inputPath is the path of one input; empty where the fragments have become fewer since.
func (c *run) inputPath(i int) string {
	paths, _ := c.inputPaths()
	if i < len(paths) {
		return paths[i]
	}
	return ""
}

// inputName is the parameter that errors about an input name.
func (c *run) inputName() string {
	if c.res.Source != "" {
		return "source"
	}
	return "fragments"
}

// chain reads files one after the other.
// It has no lock: its reader is the one goroutine of a run.
type chain struct {
	paths safepath.Walker
	files []string
	cur   *atomicfile.File
}

// Read opens the next file only when it needs it. A file that has vanished since the look is an
// error, not an empty part.
func (c *chain) Read(p []byte) (int, error) {
	for {
		if c.cur == nil {
			if len(c.files) == 0 {
				return 0, io.EOF
			}
			f, _, err := atomicfile.OpenBy(c.paths, c.files[0])
			if err != nil {
				return 0, fmt.Errorf("fragments: %w", err)
			}
			c.cur, c.files = f, c.files[1:]
		}
		n, err := c.cur.Read(p)
		if err != io.EOF || n > 0 {
			return n, err
		}
		if err := c.Close(); err != nil {
			return 0, err
		}
	}
}

// Close closes the open file. After the last one there is none, and a nil file closes well.
func (c *chain) Close() error {
	err := c.cur.Close()
	c.cur = nil
	return err
}

// writeTo copies the content, until the context ends.
// It asks the context after each chunk, so that a long copy ends soon after its timeout.
func (b *body) writeTo(ctx context.Context, w io.Writer) error {
	if b.exact && b.size <= chunkSize {
		_, err := io.WriteString(w, b.text)
		return err
	}
	in, err := b.open()
	if err != nil {
		return err
	}
	defer in.Close()
	buf := make([]byte, b.chunk())
	for {
		n, err := in.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// chunk is the size of a buffer for the content. For a small content it is one byte more, to see
// the end in the same read. For a file whose size is not told it is chunkSize.
func (b *body) chunk() int64 {
	if !b.exact && b.size == 0 {
		return chunkSize
	}
	return min(b.size+1, chunkSize)
}

// equal reports whether a file has the content. It reads both only as far as it
// must.
// Sizes are compared first where they are exact: most different files are told apart without a
// read. Of sources and fragments the size is a hint, so both are read.
func (b *body) equal(ctx context.Context, f *atomicfile.File, st atomicfile.Stat) (bool, error) {
	if b.exact && b.size != st.Size {
		return false, nil
	}
	in, err := b.open()
	if err != nil {
		return false, err
	}
	defer in.Close()
	x, y := make([]byte, b.chunk()), make([]byte, b.chunk())
	for {
		n, errX := io.ReadFull(in, x)
		m, errY := io.ReadFull(f, y)
		if !bytes.Equal(x[:n], y[:m]) {
			return false, nil
		}
		endX, endY := isEnd(errX), isEnd(errY)
		switch {
		case errX != nil && !endX:
			return false, errX
		case errY != nil && !endY:
			return false, errY
		case endX || endY:
			return endX == endY, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		}
	}
}

// isEnd reports whether a full read found the end of its file, within a chunk or before it.
func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// show returns a content for a Change: the text, or for a long or binary content its size and hash.
// It reads a long content to its end for the digest, and keeps one megabyte of it at most.
func show(ctx context.Context, in io.Reader) (any, error) {
	head, err := io.ReadAll(io.LimitReader(in, shownMax+1))
	if err != nil {
		return nil, err
	}
	if len(head) <= shownMax && utf8.Valid(head) && bytes.IndexByte(head, 0) < 0 {
		return string(head), nil
	}
	h := sha256.New()
	h.Write(head)
	size, buf := int64(len(head)), make([]byte, chunkSize)
	for {
		n, err := in.Read(buf)
		h.Write(buf[:n])
		size += int64(n)
		if err == io.EOF {
			return confined.SumText(size, h.Sum(nil)), nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
	}
}

// showOld is show for what is to be replaced; a size of 0 may be untold (/proc). The replacement does not wait for the digest of
// a very long file, which any user can make at no cost.
func showOld(ctx context.Context, f io.Reader, size int64) (any, error) {
	switch {
	case size > summedMax:
		return fmt.Sprintf("(%d bytes)", size), nil
	case size > 0:
		f = io.LimitReader(f, size)
	}
	return show(ctx, f)
}

// show returns the content for a Change, as the function of the same name does.
func (b *body) show(ctx context.Context) (any, error) {
	if b.exact && b.size <= shownMax && utf8.ValidString(b.text) && strings.IndexByte(b.text, 0) < 0 {
		return b.text, nil
	}
	in, err := b.open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return show(ctx, in)
}
