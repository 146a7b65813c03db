package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// graphInput has the graph of a daemon read again, or another one put in its place, for requests of the API. Its methods may be called from
// any goroutine, and wait for each other.
type graphInput struct {
	input  func() *input.Input // that is in effect
	turn   chan struct{}       // capacity one: a value in it is held by the request whose turn it is
	engine *mgmt.Engine
	told   func(by string) // that the graph is read again, and who has asked for it
	warned func() []string // the warnings of the last reading
}

func newGraphInput(in func() *input.Input, e *mgmt.Engine, told func(by string), warned func() []string) *graphInput {
	return &graphInput{input: in, turn: make(chan struct{}, 1), engine: e, told: told, warned: warned}
}

// take waits for the turn, which the caller gives back by receiving from the channel.
func (g *graphInput) take(ctx context.Context) error {
	select {
	case g.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Reload implements control.Graphs.
func (g *graphInput) Reload(ctx context.Context) (*control.Verdict, error) {
	if err := g.take(ctx); err != nil {
		return nil, err
	}
	defer func() { <-g.turn }()
	left, done := g.engine.AskedBy(control.CallerOf(ctx))
	defer done()
	return g.reload(ctx, left)
}

// reload has the engine read the graph, and collects the warnings of exactly that reading. What has left since the request is in left:
// a daemon that follows the file may have read it first.
// The caller holds the turn.
func (g *graphInput) reload(ctx context.Context, left func() []reactor.Leaving) (*control.Verdict, error) {
	// The log tells of the request before the lines of the reading.
	g.told(control.CallerOf(ctx))
	v, err := g.engine.Reload(ctx)
	if err != nil {
		return nil, err
	}
	out := &control.Verdict{Generation: v.Generation, Findings: g.warned()}
	out.Leaving, out.More = control.LeavingOf(left())
	if v.Refused != nil {
		out.Refuse(v.Refused)
	}
	return out, nil
}

// Apply implements control.Graphs. The caller may go: the work is brought to its end.
// The document is checked in the place where it would be read, since relative paths count
// from there. A refusal after that check can only come from the reading itself, and then
// the file before is put back and read again.
func (g *graphInput) Apply(ctx context.Context, name string, document []byte, on func([]byte) error) (*control.Verdict, error) {
	if err := g.take(ctx); err != nil {
		return nil, err
	}
	defer func() { <-g.turn }()
	left, done := g.engine.AskedBy(control.CallerOf(ctx))
	defer done()
	path, err := g.path()
	if err != nil {
		return nil, err
	}
	if on != nil {
		_, current, err := g.Current(ctx)
		if err == nil {
			err = on(current)
		}
		if err != nil {
			return nil, err
		}
	}
	// From here on files are altered. A client that goes, or a signal, must not leave them half done.
	ctx = context.WithoutCancel(ctx)
	// A full disk fails here, and the graph file has not been touched.
	c, err := newCandidate(path, document)
	if err != nil {
		return nil, err
	}
	defer c.close()
	found := renamed(g.engine.Check(ctx, yaml.New(c.at(c.temp), yaml.Options{})), c.at(c.temp), name)
	if found.Err() != nil {
		v := &control.Verdict{Path: path}
		v.Refuse(found)
		return v, nil
	}
	if err := c.install(); err != nil {
		return nil, err
	}
	v, err := g.reload(ctx, left)
	if err != nil {
		return nil, err
	}
	v.Path = path
	if v.Refused == "" {
		// The findings of the check are warnings now. The others are settings that wait for a restart.
		v.Findings = append(findingTexts(found), v.Findings...)
		return v, nil
	}
	if err := c.restore(); err != nil {
		return nil, fmt.Errorf("the graph was refused (%s), and the file before it could not be put back: %w", v.Refused, err)
	}
	_, err = g.reload(ctx, left) // the one before is the newest again
	return v, err
}

// Current implements control.Graphs.
func (g *graphInput) Current(ctx context.Context) (path string, document []byte, err error) {
	if path, err = g.path(); err != nil {
		return "", nil, err
	}
	document, err = gapi.Source{}.ReadRegular(ctx, path, control.MaxDocument, "a graph file")
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return path, document, err
}

// path returns that of the graph file.
func (g *graphInput) path() (string, error) {
	path, err := g.input().Path()
	if err != nil {
		err = &control.Error{Status: 409, Text: err.Error(), Hint: "there is no file in whose place another one could be put"}
	}
	return path, err
}

// findingTexts returns each finding as text.
func findingTexts(ds schema.Diagnostics) (list []string) {
	for _, d := range ds {
		list = append(list, d.String())
	}
	return list
}

// renamed returns findings that name a file as its user does.
func renamed(ds schema.Diagnostics, from, to string) schema.Diagnostics {
	out := make(schema.Diagnostics, len(ds))
	for i, d := range ds {
		if d.Pos.File == from {
			d.Pos.File = to
		}
		out[i] = d
	}
	return out
}

// candidate is a document next to the graph file, whose place it may take.
type candidate struct {
	// The open folder of the graph file: all steps go by its descriptor, so no renamed folder
	// misleads them.
	safepath.Place
	temp, before string // names of the document, and of the file before it
}

// newCandidate writes a document next to the graph file, with its owner and its mode. A file
// of an earlier daemon there is replaced.
// The caller closes it in any case. Its name begins with a point, so no reader of a folder takes it, and ends as that of the
// graph file, which says the notation.
func newCandidate(path string, document []byte) (c *candidate, err error) {
	place, err := safepath.System().Place(path)
	if err != nil {
		return nil, err
	}
	c = &candidate{Place: place, temp: ".new." + place.Name, before: place.Name + ".previous"}
	if !place.Missing && place.Stat.Mode&unix.S_IFMT != unix.S_IFREG {
		place.Close()
		return nil, fmt.Errorf("%s is no plain file", path)
	}
	if err := c.write(document); err != nil {
		c.close()
		return nil, fmt.Errorf("the graph can't be written next to %s, which is as it was; fix that and apply it again: %w", path, err)
	}
	return c, nil
}

func (c *candidate) at(name string) string { return c.Folder.Path(name) }

// write puts the document next to the graph file, with a name that no reader takes. It
// follows no link.
// It syncs the content, so that a crash after the rename does not leave an empty graph.
func (c *candidate) write(document []byte) (err error) {
	// A file of that name is left by a daemon that was killed. Without one, Remove does nothing.
	if err := c.Remove(c.temp); err != nil {
		return err
	}
	fd, err := c.Openat(c.temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), c.at(c.temp))
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(document); err != nil {
		return err
	}
	if !c.Missing {
		// Owner and mode come before the rename, so the file never has wrong ones under its own name.
		if err := f.Chown(int(c.Stat.Uid), int(c.Stat.Gid)); err != nil {
			return err
		}
		if err := f.Chmod(os.FileMode(c.Stat.Mode & 0o777)); err != nil {
			return err
		}
	}
	// fsync comes before rename: a file system may otherwise write the name first, see fsync(2).
	return f.Sync()
}

// install puts the document in the place of the graph file, which is kept next to it.
// The old content stays under a second name by a hard link: a graph file is there at every moment.
func (c *candidate) install() error {
	if !c.Missing {
		if err := c.Remove(c.before); err != nil {
			return err
		}
		if err := c.Do(func() error { return unix.Linkat(c.FD(), c.Name, c.FD(), c.before, 0) }); err != nil {
			return fmt.Errorf("keeping %s: %w", c.at(c.Name), err)
		}
	}
	return c.rename(c.temp, c.Name)
}

// restore brings the file back that was there before install.
// FILE.previous is gone after it, since its content is the graph again.
func (c *candidate) restore() error {
	if c.Missing {
		return c.Remove(c.Name)
	}
	return c.rename(c.before, c.Name)
}

// rename puts one file in the place of another in one step, and syncs the folder. So a crash
// leaves one of the two whole.
func (c *candidate) rename(from, to string) error {
	return c.Do(func() error {
		if err := unix.Renameat(c.FD(), from, c.FD(), to); err != nil {
			return &os.LinkError{Op: "rename", Old: c.at(from), New: c.at(to), Err: err}
		}
		return c.sync()
	})
}

// sync makes the names of the folder durable.
func (c *candidate) sync() error {
	fd, err := unix.Openat(c.FD(), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Fsync(fd), unix.Close(fd))
}

// close removes the document where it was not installed.
func (c *candidate) close() {
	_ = c.Remove(c.temp) // the next one replaces it
	c.Close()
}
