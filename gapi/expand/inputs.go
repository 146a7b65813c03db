package expand

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// inputs are what a computation has read from outside: files, facts, and the output of programs. A graph and its modules share one.
//
// # Laws
//
//   - A file is noted once, at its first read, also where it could not be read. So the frontend watches files that are missing.
//   - Only text, document and secret programs read. A content that was noted as text is not read again.
//   - A fact that was read is noted by name. Where they were read as a whole, each fact counts.
type inputs struct {
	reader func(path string) ([]byte, error)
	parse  func(file string, src []byte) (*schema.Node, schema.Diagnostics)

	docs    map[string]*Document // by file
	files   []File               // in the order of the first read
	outputs [][32]byte           // checksums of the outputs of programs
	facts   map[string]bool      // the names of the facts that were read
	all     bool                 // all facts were read
}

// newInputs returns empty inputs.
func newInputs(o *Options) *inputs {
	return &inputs{reader: o.Read, parse: o.Parse, docs: map[string]*Document{}, facts: map[string]bool{}}
}

// read reads a file, and notes it.
func (in *inputs) read(path string) ([]byte, error) {
	src, err := in.reader(path)
	in.note(File{path, src})
	return src, err
}

// note adds a file once to the files that were read.
func (in *inputs) note(f File) {
	// There are few files, so a loop is quick enough.
	for _, known := range in.files {
		if known.Path == f.Path {
			return
		}
	}
	in.files = append(in.files, f)
}

// known returns the content of a file that was read.
func (in *inputs) known(path string) (src []byte, ok bool) {
	for _, f := range in.files {
		if f.Path == path && f.Src != nil {
			return f.Src, true
		}
	}
	return nil, false
}

// document reads a document of values, nil where there is none. optional says that a missing file is as good as an empty one. ok is false
// for a file that can't be read, which was reported at from. Findings in the file have places in it.
func (in *inputs) document(path string, from schema.Pos, optional bool, found *findings) (root *schema.Node, ok bool) {
	src, err := in.read(path)
	if err != nil {
		if optional && errors.Is(err, fs.ErrNotExist) {
			return nil, true
		}
		found.once(schema.Diagnostic{Pos: from, Message: fmt.Sprintf("can't read %s: %v", path, safepath.WithoutPath(err))})
		return nil, false
	}
	in.docs[path] = &Document{File: path, Src: src}
	root, ds := in.parse(path, src)
	found.Add(ds...)
	return root, true
}

// printed notes the output of a program by its checksum alone, since it has secrets.
func (in *inputs) printed(src []byte) { in.outputs = append(in.outputs, sha256.Sum256(src)) }

// factsOf returns the facts that were read, out of all that are known.
func (in *inputs) factsOf(known map[string]any) map[string]any {
	if in.all {
		return known
	}
	read := make(map[string]any, len(in.facts))
	for name := range in.facts {
		read[name] = known[name]
	}
	return read
}
