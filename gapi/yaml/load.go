package yaml

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/expand"
)

// loader reads a graph again and again. It keeps the content of the files, so that
// an equal file is not parsed anew. A single file that computes nothing is forgotten once
// the graph has been told: it is told again only after a change.
// It belongs to one goroutine; two callers need two of them.
type loader struct {
	root string
	max  int64
	// How many resources there may be.
	most  int
	from  gapi.Source
	asker *gapi.Asker // asks the file systems of all files
	stdin io.Reader
	again bool // it is read more than once, and so cannot be a pipe
	cache map[string]cached
	opts  Options              // with the inputs of expressions
	mem   map[string][]byte    // when not nil, the only files that there are
	taken func(string, []byte) // is told of each file that is read; may be nil

	memory   *expand.Memory        // of a frontend that follows the files; else nil
	sequence *sequence             // of the same
	outline  *outline              // of the graph that was yielded last; nil for none
	items    map[string]*readItems // by file; nil where nothing is kept
}

// It is a file as it was read: the sum of its content, and the part that was made of it.
type cached struct {
	sum  [sha256.Size]byte
	part *part
}

// loading is one reading of all files.
// It is made anew for each reading. Its parts come in the order in which the files are read: an
// include comes after the file that names it.
type loading struct {
	*loader
	ctx context.Context
	// In bytes; how much of max is left.
	left int64
	// How many files were asked for, a second time included; see maxFiles.
	files   int
	found   map[string]schema.Pos // by real path: where the file was included
	parts   []*part
	errs    schema.Findings // the faults that make the whole unreadable
	watch   []string        // absolute paths of files and folders
	state   []byte          // grows by a mark for each file: equal states, equal graphs
	sums    []fileSum       // of the files of the graph, in the order of the reading
	missing bool            // a file is gone or empty
	silent  error           // a file system has not answered
	cache   map[string]cached
	graph   *expand.Graph      // of files that compute; nil for none
	partial bool               // a resource could not be computed
	docs    []*expand.Document // the documents that compute, for a caller that takes the files
	differs []gapi.Declaration // from the outline
	partly  bool               // the reading has only what differs
	whole   []byte             // the text of that
}

// Load reads the graph at path once: a file, a folder of graphs, or "-"
// for stdin. The error is schema.Diagnostics when none of it can be read as a
// graph; other findings are in Declared.Problems, for Build to tell with its own.
// It is called by verbs that need no more than one graph.
func Load(path string, o Options, stdin io.Reader) (*gapi.Declared, error) {
	return newFiles(path, o, stdin).load(context.Background()).result()
}

// It touches nothing. A nil stdin is an empty one.
func newFiles(path string, o Options, stdin io.Reader) *loader {
	return &loader{root: path, max: o.maxBytes(), most: o.maxResources(), from: o.Source, asker: o.Source.Asking(), stdin: stdin, opts: o}
}

// ask asks a file system. After one that has not answered, no other is asked in this reading: a folder has many files.
func ask[T any](g *loading, path string, do func() (T, error)) (answer T, err error) {
	if g.silent != nil {
		return answer, g.silent
	}
	ctx := g.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	answer, err = gapi.Ask(ctx, g.asker, path, do)
	if errors.Is(err, gapi.ErrSilent) {
		g.silent = err
	}
	return answer, err
}

func (g *loading) stat(path string) (fs.FileInfo, error) {
	return ask(g, path, func() (fs.FileInfo, error) { return os.Stat(path) })
}

func (g *loading) readDir(path string) ([]fs.DirEntry, error) {
	return ask(g, path, func() ([]fs.DirEntry, error) { return g.from.ReadDir(path) })
}

// private is gapi.Private.
func (g *loading) private(path string) bool {
	info, err := g.stat(path)
	return err == nil && gapi.PrivateMode(info.Mode())
}

// load reads everything. Only a pipe or a device can make it wait, until the
// context ends.
// The old cache is replaced by the files of this reading, so a file that is not named any more
// is forgotten.
func (l *loader) load(ctx context.Context) *loading {
	g := &loading{loader: l, ctx: ctx, left: l.max, found: map[string]schema.Pos{}, cache: map[string]cached{}}
	g.path(l.root, schema.Pos{})
	g.compute()
	l.cache = g.cache
	return g
}

// reading returns what Follow wants to know.
func (g *loading) reading() gapi.Reading {
	return gapi.Reading{Result: g.yielded, State: string(g.state), Paths: g.watch, Facts: g.graph != nil && len(g.graph.Facts()) > 0, Missing: g.missing}
}

// yielded is result for a frontend that follows the files: a graph that computes is yielded as
// its difference to the one before.
func (g *loading) yielded() (*gapi.Declared, error) {
	if g.partly {
		return g.difference(), nil
	}
	var pieces *part
	if g.sequence != nil && g.graph == nil && len(g.parts) == 1 {
		pieces = g.parts[0]
	}
	d, err := g.result()
	if pieces != nil && err == nil {
		if g.loader.outline = outlineOf(pieces, d); g.loader.outline != nil {
			return allOf(d), nil
		}
	}
	if err != nil || g.sequence == nil || g.graph == nil {
		return d, err
	}
	return g.sequence.next(d), nil
}

// fileSum is the sum of a file of the graph.
type fileSum struct {
	path string
	sum  [sha256.Size]byte
}

// origin says where the graph comes from.
func (g *loading) origin() (o provenance.Origin) {
	if g.root == "-" {
		o.Path = "standard input"
	} else if o.Path = g.root; !filepath.IsAbs(g.root) {
		if path, err := filepath.Abs(g.root); err == nil {
			o.Path = path
		}
	}
	switch len(g.sums) {
	case 0:
	case 1:
		o.Digest = fmt.Sprintf("sha256:%x", g.sums[0].sum)
	default:
		h := sha256.New()
		for _, s := range g.sums {
			fmt.Fprintf(h, "%x  %s\n", s.sum, s.path)
		}
		o.Digest = fmt.Sprintf("sha256:%x", h.Sum(nil))
	}
	return o
}

// result joins the parts of all files. It is called once.
// It takes the lists of a single part instead of copying them, since a large graph is most
// often one file. The first file with a name or a comment gives that of the graph; one file
// with noop is enough for all.
func (g *loading) result() (*gapi.Declared, error) {
	if len(g.parts) == 1 && g.parts[0].graph == nil {
		g.loader.cache = nil
	}
	d := &gapi.Declared{Pos: schema.Pos{File: g.root}, Authored: gapi.OtherTools{}, Partial: g.partial || g.errs.Errors() > 0, Origin: g.origin()}
	var found schema.Findings
	found.Add(g.errs.All()...)
	if g.graph != nil {
		found.Add(g.graph.Findings()...)
	}
	if len(g.parts) > 1 {
		n, e := 0, 0
		for _, p := range g.parts {
			n, e = n+len(p.resources), e+len(p.edges)
		}
		d.Resources, d.Edges = make([]gapi.Declaration, 0, n), make([]gapi.EdgeDecl, 0, e)
	} else if len(g.parts) == 1 { // the kept part has lists of its own, if it is kept: see loader
		d.Resources, d.Edges = g.parts[0].resources, g.parts[0].edges
		g.parts[0].resources, g.parts[0].edges = nil, nil
	}
	for _, p := range g.parts {
		d.Partial = d.Partial || p.unreadable
		found.Add(p.problems...)
		d.Kinds = append(d.Kinds, p.kinds...)
		d.Resources = append(d.Resources, p.resources...)
		d.Edges = append(d.Edges, p.edges...)
		d.Collects = append(d.Collects, p.collects...)
		d.Noop = d.Noop || p.noop
		if d.Name == "" {
			d.Name = p.name
		}
		if d.Comment == "" {
			d.Comment = p.comment
		}
	}
	// Aliases and computed loops make resources that the count of the text has not seen.
	if len(d.Resources) > g.most {
		found.Add(gapi.TooMany(d.Resources[g.most].Pos, g.most))
		d.Partial = true
	}
	d.Problems = found.All()
	// Nothing was read, so there is nothing that Build could look at.
	if d.Partial && len(d.Resources) == 0 {
		return nil, d.Problems
	}
	if d.Name == "" {
		d.Name = nameOf(g.root)
	}
	return d, nil
}

// nameOf is what a graph without a name is called.
// It is the name of the file or folder, without its extension.
func nameOf(path string) string {
	if path == "-" {
		return "stdin"
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// fail reports something that can't be read, at the place that asks for it.
// The error is in the state too: a file that becomes readable makes another graph. Paths are
// left out of the text, since the place has them.
func (g *loading) fail(path string, from schema.Pos, err error) {
	err = safepath.WithoutPath(err)
	if placed, ok := errors.AsType[*placedError](err); ok {
		g.mark("error", path, placed.offset)
		d := placed.in(path)
		if !from.IsZero() {
			d.Related = []schema.Related{{Pos: from, Message: "included here"}}
		}
		g.errs.Add(d)
		return
	}
	g.mark("error", path, err)
	if from.IsZero() {
		g.errs.Errorf(schema.Pos{File: path}, "%v", err)
	} else {
		g.errs.Errorf(from, "can't include %s: %v", path, err)
	}
}

// mark adds to the state.
// The same inputs in the same order give the same text, and no text of a file is in it.
func (g *loading) mark(what, path string, detail any) {
	g.state = fmt.Appendf(g.state, "%s %q %v\n", what, path, detail)
}

// path reads a path that the user or an include has named.
// Only the user's own path may be a pipe, a device or standard input: an include of one would
// block at each reading. A missing path is watched all the same, since it may come.
func (g *loading) path(path string, from schema.Pos) {
	if path == "-" && from.IsZero() {
		g.stream("stdin", g.stdin)
		return
	}
	if g.mem != nil {
		g.inMemory(path, from)
		return
	}
	info, err := g.stat(path)
	_, laid := g.overlaid(path)
	if errors.Is(err, fs.ErrNotExist) && !laid {
		g.missing = true
	}
	switch {
	case laid:
		g.watched(path)
		g.file(path, from)
	case err != nil:
		g.watched(path)
		g.fail(path, from, err)
	case info.IsDir():
		g.watched(path)
		g.folder(path, from)
	case info.Mode().IsRegular():
		g.watched(path)
		g.file(path, from)
	case from.IsZero() && !g.again:
		g.special(path)
	default:
		g.watched(path)
		g.fail(path, from, gapi.ErrIrregular)
	}
}

// It is noted before the file is read. Follow reads again once a new watch is armed, so that no
// change is lost (law 3).
func (g *loading) watched(path string) {
	if abs, err := filepath.Abs(path); err == nil {
		g.watch = append(g.watch, abs)
	}
}

// special reads a pipe or a device, once.
func (g *loading) special(path string) {
	f, err := ask(g, path, func() (*os.File, error) { return g.from.Open(path) })
	if err != nil {
		g.fail(path, schema.Pos{}, err)
		return
	}
	defer f.Close()
	g.stream(path, f)
}

// A file behind standard input is read with the care for private files, too.
func (g *loading) stream(name string, r io.Reader) {
	stream := r
	if r == nil {
		r = strings.NewReader("")
	}
	if f, ok := r.(*os.File); ok {
		r = gapi.Patient(g.ctx, f)
	}
	private := false
	if f, ok := stream.(*os.File); ok {
		info, err := f.Stat()
		private = err == nil && gapi.PrivateMode(info.Mode())
	}
	src, err := g.readAll(r, 0)
	if err != nil {
		g.fail(name, schema.Pos{}, err)
		return
	}
	g.source(name, ".", src, private)
}

// IsGraphName reports whether the file of a name, without its folder, is read as a graph where its
// folder is. A folder of graphs is read without its files of tests.
func IsGraphName(name string) bool {
	return !strings.HasPrefix(name, ".") && NotationOf(name).Folder && !IsTest(name)
}

// folder reads the files of a folder, by name.
// Subfolders are not entered. The names are in the state, and so is a file that comes or goes.
func (g *loading) folder(path string, from schema.Pos) {
	entries, err := g.readDir(path)
	if err != nil {
		g.fail(path, from, err)
		return
	}
	n := 0
	for _, e := range entries {
		name := e.Name()
		if !IsGraphName(name) {
			continue
		}
		file := filepath.Join(path, name)
		if info, err := g.stat(file); err == nil && !info.Mode().IsRegular() {
			continue
		}
		n++
		g.watched(file)
		g.file(file, from)
	}
	g.mark("folder", path, nil)
	if n == 0 {
		g.fail(path, from, fmt.Errorf("the folder has no %s file", folderPatterns()))
	}
}

// maxFiles bounds the files of one graph, with the files that includes include.
const maxFiles = 10_000

// file reads one regular file and its includes.
func (g *loading) file(path string, from schema.Pos) {
	if !g.first(path, from) {
		return
	}
	src, err := g.regular(path)
	if err != nil {
		g.missing = g.missing || errors.Is(err, fs.ErrNotExist)
		g.fail(path, from, err)
		return
	}
	g.source(path, filepath.Dir(path), src, g.private(path))
}

// regular reads a regular file: a regular file of a moment ago may be something else
// now.
// It opens the file by Options.Source, which may refuse files that other users could have
// written.
func (g *loading) regular(path string) ([]byte, error) {
	if src, ok := g.overlaid(path); ok {
		return g.readAll(bytes.NewReader(src), int64(len(src)))
	}
	of := &loading{loader: g.loader, left: g.left} // a read that comes back too late alters nothing here
	src, err := ask(g, path, func() ([]byte, error) {
		f, size, err := g.from.OpenRegular(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return of.readAll(f, size)
	})
	if errors.Is(err, gapi.ErrFolder) {
		return nil, gapi.ErrIrregular // a file of a moment ago
	}
	if err == nil {
		g.left = of.left
	}
	return src, err
}

// overlaid returns the text that takes the place of a file.
func (l *loader) overlaid(path string) ([]byte, bool) {
	if l.opts.Overlay == nil {
		return nil, false
	}
	return l.opts.Overlay(path)
}

// first reports whether a file was not read before in this loading. Files are told apart by
// their real paths, so that a link and its target are one file. A cycle ends here.
func (g *loading) first(path string, from schema.Pos) bool {
	if g.files++; g.files > maxFiles {
		if g.files == maxFiles+1 {
			g.fail(path, from, fmt.Errorf("the graph has more than %d files", maxFiles))
		}
		return false
	}
	id := path
	if real, err := ask(g, path, func() (string, error) { return filepath.EvalSymlinks(path) }); err == nil {
		id = real
	}
	if abs, err := filepath.Abs(id); err == nil {
		id = abs
	}
	before, again := g.found[id]
	if !again {
		g.found[id] = orFile(from, path)
		return true
	}
	d := schema.Diagnostic{Pos: orFile(from, path), Message: fmt.Sprintf("%s is read already, a file can be included once", path)}
	d.Related = []schema.Related{{Pos: before, Message: "first read here"}}
	g.errs.Add(d)
	g.mark("again", path, nil)
	return false
}

func orFile(pos schema.Pos, file string) schema.Pos {
	if pos.IsZero() {
		return schema.Pos{File: file}
	}
	return pos
}

// source takes the content of a file, from the cache if it is the same as before.
// The includes of the file are read next, depth first. A computed include needs the variables
// that were entered before.
func (g *loading) source(file, dir string, src []byte, private bool) {
	sum := sha256.Sum256(src)
	g.mark("file", file, sum)
	g.sums = append(g.sums, fileSum{file, sum})
	g.missing = g.missing || len(src) == 0
	if g.taken != nil {
		g.taken(file, src)
	}
	if o := g.outline; o != nil && file == g.root && len(g.parts) == 0 {
		if g.differs, g.partly = o.changed(file, src, g.most); g.partly {
			g.whole = src
			return
		}
	}
	g.loader.outline = nil
	known := g.loader.cache[file]
	if known.part == nil || known.sum != sum {
		known = cached{sum, readPart(file, src, g.most, private)}
	}
	g.cache[file] = known
	g.parts = append(g.parts, known.part)
	includes := known.part.includes
	if known.part.doc != nil {
		known.part.doc.Dir = dir
		includes = g.enter(known.part)
	}
	for _, inc := range includes {
		path := inc.path
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		g.path(path, inc.pos)
	}
}

const (
	// In bytes. A device may have no newline at all: reading gives up at such a line.
	maxLine   = 16 << 20
	chunkSize = 64 << 10
)

// placedError is a fault at an offset of a source that was not read to its end.
// The place is looked for only when the error is told, as that costs a pass over the source.
type placedError struct {
	src    []byte
	offset int
	say    func(schema.Pos) schema.Diagnostic
}

func (e *placedError) in(file string) schema.Diagnostic { return e.say(posAt(file, e.src, e.offset)) }

// Error returns the message without the place.
func (e *placedError) Error() string { return e.say(schema.Pos{}).Message }

// tooBig is the error of a source that has more than the remaining bytes. More resources than there may be
// are said first, as a user counts resources and not bytes.
func (g *loading) tooBig(src []byte) error {
	if at := overfull(src, g.most); at >= 0 {
		return &placedError{src, at, func(p schema.Pos) schema.Diagnostic { return gapi.TooMany(p, g.most) }}
	}
	return &placedError{src, int(g.left), func(p schema.Pos) schema.Diagnostic {
		return gapi.TooBig(p, "the files of a graph together", g.max)
	}}
}

// readAll reads a source up to the remaining bytes of the graph, and gives up at once on a line
// that is too long. The size is a hint; 0 is none. It reads in chunks, and never more than one
// chunk beyond the bound, whatever size a file claims to have.
func (g *loading) readAll(r io.Reader, size int64) ([]byte, error) {
	buf := make([]byte, 0, min(size, g.left)+1)
	line := 0 // where the line that is being read begins
	for {
		buf = slices.Grow(buf, 1)
		chunk := buf[len(buf):min(cap(buf), len(buf)+chunkSize)]
		n, err := r.Read(chunk)
		if at := bytes.LastIndexByte(chunk[:n], '\n'); at >= 0 {
			line = len(buf) + at + 1
		}
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > g.left:
			return nil, g.tooBig(buf)
		case len(buf)-line > maxLine:
			return nil, &placedError{buf, line, func(p schema.Pos) schema.Diagnostic {
				return schema.Diagnostic{Pos: p, Message: fmt.Sprintf("a line is longer than %d bytes", maxLine)}
			}}
		case errors.Is(err, io.EOF):
			g.left -= int64(len(buf))
			return buf, nil
		case err != nil:
			return nil, err
		}
	}
}
