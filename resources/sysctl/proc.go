package sysctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/confined"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/received"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
)

// maxValue is how much of a value is read: the kernel has no longer ones.
const maxValue = 64 << 10

// open opens the parameters of the kernel as a tree of files.
// A root bounds the reach of a name: neither a link nor ".." leads out of it.
func (r *Res) open() (*os.Root, error) { return os.OpenRoot(r.root + "/proc/sys") }

// running returns the value that the kernel has, and whether it does not show it to all users.
func (r *Res) running() (value string, closed bool, err error) {
	root, err := r.open()
	if err != nil {
		return "", false, err
	}
	defer root.Close()
	if value, err = readValue(root.FS(), r.key()); err != nil {
		return "", false, err
	}
	return value, isClosed(root.FS(), r.key()), nil
}

// shown is confined.Change for values that may be keys. Numbers are none.
func shown(c engine.Change) engine.Change {
	// A missing side of a change has no text, and shows nothing.
	from, _ := c.From.(string)
	to, _ := c.To.(string)
	if areNumbers(from) && areNumbers(to) {
		return c
	}
	return confined.Change(c)
}

// areNumbers reports whether a value has nothing but numbers, separated by blanks.
func areNumbers(s string) bool {
	for f := range strings.FieldsSeq(s) {
		if _, err := strconv.ParseInt(f, 10, 64); err != nil {
			return false
		}
	}
	return true
}

// isClosed reports whether the kernel shows a value to root alone, as it does with keys.
func isClosed(tree fs.FS, key string) bool {
	info, err := fs.Stat(tree, key)
	return err == nil && confined.Shuts(uint32(info.Mode().Perm()))
}

// readValue returns a value in one form of its blanks. A longer value is cut, and then differs
// from every wish.
func readValue(tree fs.FS, key string) (string, error) {
	f, err := tree.Open(key)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxValue))
	return oneValue(string(data)), err
}

// set gives the value to the kernel, and looks at the result.
func (r *Res) set() error {
	root, err := r.open()
	if err != nil {
		return err
	}
	defer root.Close()
	// The file is not made: the kernel has the parameter, or it has not.
	f, err := root.OpenFile(r.key(), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	want := oneValue(r.Value)
	_, err = f.WriteString(want + "\n") // in one call: each one is a value to the kernel
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("the kernel refuses the value: %w", err)
	}
	is, err := readValue(root.FS(), r.key())
	if err != nil {
		return err
	}
	r.seen.set(is)
	switch {
	case is == want:
		return nil
	// The error must not show a secret either. It names no value then.
	case received.Tainted(r.init, "value", "Value"), isClosed(root.FS(), r.key()) && !areNumbers(want):
		return errors.New("the kernel has made another value of it")
	}
	return fmt.Errorf("the kernel has made %q of it", is)
}

// Read returns the running value, and whether the file keeps the same one. A parameter
// that the kernel does not have, and the file neither, is absent.
func (r *Res) Read(ctx context.Context) (engine.Res, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// A look makes no file, so no mode is needed.
	t, err := textfile.By(safepath.Of(r.init.Host), r.filePath(), 0)
	if err != nil {
		return nil, err
	}
	text, _, err := t.Read()
	if err != nil {
		return nil, err
	}
	now, _, err := r.running()
	if err != nil && !files.IsMissing(err) {
		return nil, err
	}
	got := r.like(r.Name())
	// The parameters that only name a place are those of the resource, so that Cmp compares the values.
	got.Key, got.Path, got.IgnoreMissing = r.Key, r.Path, r.IgnoreMissing
	got.show(now, err == nil, text)
	if !r.runs() && got.State == Exists { // it is about the file alone
		got.Runtime, got.Persist, got.Value = false, true, valueOf(got.Line)
		if got.Line == "" {
			got.State = Absent
		}
	}
	return got, nil
}

// like returns an empty resource of this kind that looks at the same tree.
func (r *Res) like(name string) *Res {
	got := &Res{root: r.root, poll: r.poll}
	got.SetKind(r.Kind())
	got.SetName(name)
	return got
}

// show fills in the present values: the running one, if there is one, and that in a text of the
// file.
func (r *Res) show(now string, running bool, text string) {
	// The line is shown as it stands, with its blanks, so that an undoing can write the same one.
	r.Line = r.saved(text)
	saved := valueOf(r.Line)
	r.State, r.Runtime, r.Persist = Exists, running, r.Line != "" && (!running || saved == now)
	switch {
	case running:
		r.Value = now
	case r.Line != "":
		r.Value = saved
	default:
		r.State, r.Persist = Absent, true // not in the file
	}
}

// reversal says what the file had before.
type reversal struct{ line string } // empty for none

// Reversed returns the resource that gives the kernel and the file their old values, as far as this
// one has managed them.
func (r *Res) Reversed(before engine.Res) (engine.Res, error) {
	was, ok := before.(*Res)
	if !ok || was.key() != r.key() || was.Path != r.Path {
		return nil, fmt.Errorf("%s: what it was before is not known", r)
	}
	undo := r.like(r.Name())
	// The module may have gone meanwhile, and its parameter with it. Then there is nothing to
	// bring back, and no failure.
	undo.Key, undo.Path, undo.IgnoreMissing = r.Key, r.Path, true
	undo.State, undo.Value, undo.undo = Exists, was.Value, &reversal{was.Line}
	undo.Runtime, undo.Persist = r.runs() && was.Runtime, r.Persist
	return undo, nil
}

// List yields all parameters of the running kernel that have a value which can be
// read.
func (r *Res) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		if err := r.list(ctx, func(got *Res) bool { return yield(got, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// counter can be set, and the kernel goes on counting from there: it can't be kept as it is.
// It would change with each process that starts, so a declared value would be repaired for ever.
const counter = "kernel/ns_last_pid"

// list calls yield for each parameter, until that returns false. It reads the file once for all of
// them.
func (r *Res) list(ctx context.Context, yield func(*Res) bool) error {
	t, err := textfile.By(safepath.Of(r.init.Host), r.filePath(), 0)
	if err != nil {
		return err
	}
	text, _, err := t.Read()
	if err != nil {
		return err
	}
	root, err := r.open()
	if err != nil {
		return err
	}
	defer root.Close()
	tree := root.FS()
	// The tree has some thousand files and no loops. A parameter that goes during the walk, as
	// that of a network interface, is left out.
	return fs.WalkDir(tree, ".", func(key string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || d.IsDir() || checkKey(key) != nil || key == counter {
			return ignoreGone(err)
		}
		if info, err := d.Info(); err != nil || info.Mode()&0o200 == 0 {
			return ignoreGone(err) // no user can set it
		}
		value, err := readValue(tree, key)
		if err != nil || value == "" {
			return nil // only to be written, or it has none
		}
		got := r.like(swapSeparators(key))
		got.show(value, true, text)
		if !yield(got) {
			return fs.SkipAll
		}
		return nil
	})
}

// ignoreGone leaves out what has gone while the tree was walked, or is not for us.
func ignoreGone(err error) error {
	if files.IsMissing(err) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// Doc describes the kind.
func (*Res) Doc() string {
	return `A parameter of the kernel: its present value, and its value after the next boot.

The name is ` + "`net.ipv4.ip_forward` or `net/ipv4/ip_forward`" + `. The first dot or slash tells which of the two parts it; in a name with dots a slash stands for a
dot within a part, as in ` + "`net.ipv4.conf.eth0/1.forwarding`" + `.

    sysctl:
    - name: net.ipv4.ip_forward
      value: 1
    - name: net.ipv4.ip_local_port_range
      value: 20000 40000
      persist: false

With ` + "`runtime`" + ` the running kernel gets the value. A value that it refuses, or alters, is an error. The kernel does not tell when a value changes: mgmt looks every ten seconds.

With ` + "`persist`" + ` the value stands in a file, ` + "`/etc/sysctl.d/99-mgmt.conf`" + ` if no other one is given, which is watched. Other
lines of that file stay as they are. A file that is read later at the boot, such as /etc/sysctl.conf, may say something else; it is not
looked at. ` + "`state: absent`" + ` takes the parameter out of the file; the kernel goes on with the value that it has.

With the metaparameter ` + "`reverse: true`" + ` the kernel gets back the value that it had when the resource leaves the graph, and the file the line that it had, or
none; each as far as the resource managed it.

Without any parameter but the name, ` + "`mgmt resource sysctl`" + ` lists the parameters that can be set.`
}
