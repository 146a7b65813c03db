package kept

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/world"
)

// line is one line of the file. It has one of four meanings, by the field that is set.
type line struct {
	Begin string    `json:"begin,omitempty"` // a list of all keys with this prefix follows
	Put   *world.KV `json:"put,omitempty"`
	Gone  string    `json:"gone,omitempty"` // a key that was deleted
	At    int64     `json:"at,omitempty"`   // all lines before it count, and are the store at this revision
}

// content is the meaning of all lines of a file together. It belongs to its reader.
type content struct {
	keys     map[string]world.KV
	revision int64
}

// read reads a file up to its last revision. An absent file is an empty one.
func read(path string) (*content, error) {
	c := &content{keys: map[string]world.KV{}}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || path == "" {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	defer f.Close()
	var open []line
	for dec := json.NewDecoder(bufio.NewReader(f)); ; {
		var l line
		if dec.Decode(&l) != nil {
			return c, nil // the end, or where the last process has died
		}
		if l.At == 0 {
			open = append(open, l)
			continue
		}
		c.apply(open)
		c.revision, open = l.At, open[:0]
	}
}

// Met reports whether a file has an answer of the store. The file of a host that has never met the store has none.
func Met(path string) bool {
	c, err := read(path)
	return err == nil && c.revision > 0
}

// apply takes lines over.
func (c *content) apply(lines []line) {
	for _, l := range lines {
		switch {
		case l.Begin != "":
			maps.DeleteFunc(c.keys, func(key string, _ world.KV) bool { return strings.HasPrefix(key, l.Begin) })
		case l.Put != nil:
			c.keys[l.Put.Key] = *l.Put
		default:
			delete(c.keys, l.Gone)
		}
	}
}

// page answers as a store with this content would. The revision is that of the content, whatever the reader asks for: the
// content has no history.
func (c *content) page(prefix string, o world.ListOptions) world.Page {
	p := world.Page{Revision: c.revision}
	for _, key := range slices.Sorted(maps.Keys(c.keys)) {
		if !strings.HasPrefix(key, prefix) || key <= o.After && o.After != "" {
			continue
		}
		if o.Limit > 0 && len(p.KVs) == o.Limit {
			p.More = true
			break
		}
		p.KVs = append(p.KVs, c.keys[key])
	}
	return p
}

// smallest is the size in bytes below which a file is not made smaller.
const smallest = 1 << 20

// file is the file while it is written. A nil file keeps nothing.
type file struct {
	path  string
	f     *os.File
	lines []line // since the last revision
	size  int64
	most  int64 // the size at which the file is made smaller
}

// openFile begins to append to a file. Lines of a process that has died are cut off, as the whole is written anew.
func openFile(path string) (*file, error) {
	x := &file{path: path}
	return x, x.shrink()
}

// shrink writes the content anew, to another file that takes the place of this one.
func (x *file) shrink() error {
	c, err := read(x.path)
	if err != nil {
		return err
	}
	var lines []line
	for _, kv := range c.keys {
		lines = append(lines, line{Put: &kv})
	}
	fresh, err := os.OpenFile(x.path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	y := &file{path: x.path, f: fresh, lines: lines}
	if c.revision > 0 {
		err = y.write(c.revision)
	}
	if err == nil {
		err = fresh.Sync() // else a power loss may leave an empty file in the place of the whole one
	}
	if err == nil {
		err = os.Rename(fresh.Name(), x.path)
	}
	if err != nil {
		return errors.Join(err, fresh.Close())
	}
	err = x.close()
	x.f, x.size, x.most = y.f, y.size, max(smallest, 4*y.size)
	return err
}

// commit writes the lines up to a revision.
func (x *file) commit(revision int64) error {
	if err := x.write(revision); err != nil {
		return err
	}
	if x.size > x.most {
		return x.shrink()
	}
	return nil
}

// write appends the lines without a sync: after a power loss the host lists again anyway.
func (x *file) write(revision int64) error {
	w := bufio.NewWriter(x.f)
	enc := json.NewEncoder(w)
	for _, l := range append(x.lines, line{At: revision}) {
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	x.lines = nil
	if err := w.Flush(); err != nil {
		return err
	}
	st, err := x.f.Stat()
	if err == nil {
		x.size = st.Size()
	}
	return err
}

// close lets go of the file. A file that was never opened needs none.
func (x *file) close() error {
	if x.f == nil {
		return nil
	}
	return x.f.Close()
}
