package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// LockFile is the usual name of a lock file. Its ending keeps it out of a folder that is read as a graph.
const LockFile = "modules.lock"

// Lock is the content of a lock file.
type Lock struct {
	Comment string  `yaml:"comment"`
	Modules []Entry `yaml:"modules"`
}

// Entry is one module that was fetched. It has either Git with Commit, or Archive with SHA256.
type Entry struct {
	Folder  string `yaml:"folder" mgmt:"required" doc:"The folder of the module, relative to the lock file."`
	Git     string `yaml:"git" doc:"A repository of git."`
	Ref     string `yaml:"ref" doc:"The branch or the tag that an update asks for; empty where a commit was named."`
	Commit  string `yaml:"commit" doc:"The commit, in full."`
	Archive string `yaml:"archive" doc:"An archive: tar, tar.gz or zip."`
	SHA256  string `yaml:"sha256" doc:"The checksum of the archive."`
	Path    string `yaml:"path" doc:"The folder of the module in the source; empty for its top."`
	Digest  string `yaml:"digest" mgmt:"required" doc:"The checksum of the files of the folder."`
}

// The forms of commits, checksums and revisions.
var (
	isCommit = lazyregexp.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	isSHA256 = lazyregexp.New(`^[0-9a-f]{64}$`)
	isDigest = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
	isRef    = lazyregexp.New(`^[0-9A-Za-z_][0-9A-Za-z_./+-]*$`)
)

// lockHead begins a lock file that is written.
const lockHead = "# mgmt module writes this file. Keep it with the graph, so that everybody gets the same modules.\n"

// ReadLock reads a lock file. It may come with a graph from elsewhere, so all of it is judged before anything is fetched or
// written. Every fault is told, with its place.
func ReadLock(n *schema.Node) (*Lock, schema.Diagnostics) {
	l := &Lock{}
	if n == nil { // an empty file
		return l, nil
	}
	ds := schema.Decode(n, l)
	if ds.Err() != nil {
		return nil, ds
	}
	for i, e := range l.Modules {
		at := n.Get("modules").Items[i].Pos
		for _, fault := range e.faults() {
			ds = append(ds, schema.Diagnostic{Pos: at, Message: fault.Error()})
		}
		for _, other := range l.Modules[:i] {
			if overlaps(e.Folder, other.Folder) {
				ds = append(ds, schema.Diagnostic{Pos: at, Message: fmt.Sprintf("the folder %s is part of two modules", e.Folder)})
			}
		}
	}
	if ds.Err() != nil {
		return nil, ds
	}
	return l, ds
}

// overlaps reports whether one folder is the other one, or is in it. Such folders would be replaced together, and the files of one would count
// as those of both.
func overlaps(a, b string) bool {
	a, b = strings.ToLower(a)+"/", strings.ToLower(b)+"/"
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// faults judges an entry.
func (e Entry) faults() (errs []error) {
	if err := checkFolder(e.Folder); err != nil {
		errs = append(errs, err)
	}
	if e.Path != "" && (e.Path != path.Clean(e.Path) || !filepath.IsLocal(e.Path)) {
		errs = append(errs, fmt.Errorf("path %q is no folder of the source", e.Path))
	}
	if !isDigest.MatchString(e.Digest) {
		errs = append(errs, errors.New("digest is sha256: and 64 digits"))
	}
	switch {
	case (e.Git == "") == (e.Archive == ""):
		errs = append(errs, errors.New("a module is from git or from an archive: one of these keys names its source"))
	case e.Git != "":
		errs = append(errs, checkGit(e.Git))
		if !isCommit.MatchString(e.Commit) {
			errs = append(errs, fmt.Errorf("commit %q is no commit in full, which has 40 digits", e.Commit))
		}
		if e.Ref != "" {
			errs = append(errs, checkRef(e.Ref))
		}
	default:
		errs = append(errs, checkArchive(e.Archive))
		if !isSHA256.MatchString(e.SHA256) {
			errs = append(errs, fmt.Errorf("sha256 %q is no checksum, which has 64 digits", e.SHA256))
		}
	}
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// checkFolder judges a folder that is written: it is below that of the lock file, and none of its names is hidden.
func checkFolder(dir string) error {
	clean, err := cleanName(dir)
	switch {
	case err != nil:
		return err
	case clean != dir || slices.ContainsFunc(strings.Split(dir, "/"), func(s string) bool { return strings.HasPrefix(s, ".") }):
		return fmt.Errorf("%q can't be the folder of a module: write one such as modules/nginx, relative to %s", dir, LockFile)
	}
	return nil
}

// checkRef judges the name of a branch or a tag. Git would take a leading hyphen for an option.
func checkRef(ref string) error {
	if !isRef.MatchString(ref) || strings.Contains(ref, "..") {
		return fmt.Errorf("%q is neither a branch nor a tag", ref)
	}
	return nil
}

// Find returns the entry of a folder, nil where there is none.
func (l *Lock) Find(folder string) *Entry {
	for i := range l.Modules {
		if l.Modules[i].Folder == folder {
			return &l.Modules[i]
		}
	}
	return nil
}

// Put adds an entry, or replaces that of the same folder. The entries are in the order of their folders.
func (l *Lock) Put(e Entry) {
	l.Remove(e.Folder)
	l.Modules = append(l.Modules, e)
	sorted.Func(l.Modules, func(a, b Entry) int { return cmp.Compare(a.Folder, b.Folder) })
}

// Remove leaves an entry out.
func (l *Lock) Remove(folder string) {
	l.Modules = slices.DeleteFunc(l.Modules, func(e Entry) bool { return e.Folder == folder })
}

// Text returns the file. It is written here and not by a library, which would order and fold the lines as it likes. Equal locks have equal texts, so that a change of one module is a change of its lines alone.
func (l *Lock) Text() []byte {
	var b strings.Builder
	b.WriteString(lockHead)
	if l.Comment != "" {
		fmt.Fprintf(&b, "comment: %s\n", quote(l.Comment))
	}
	if len(l.Modules) == 0 {
		b.WriteString("modules: []\n")
		return []byte(b.String())
	}
	b.WriteString("modules:\n")
	for _, e := range l.Modules {
		fmt.Fprintf(&b, "- folder: %s\n", quote(e.Folder))
		for _, p := range [][2]string{{"git", e.Git}, {"ref", e.Ref}, {"commit", e.Commit}, {"archive", e.Archive}, {"sha256", e.SHA256}, {"path", e.Path}, {"digest", e.Digest}} {
			if p[1] != "" {
				fmt.Fprintf(&b, "  %s: %s\n", p[0], quote(p[1]))
			}
		}
	}
	return []byte(b.String())
}

// isPlain is a text that YAML reads as text without quotes.
var isPlain = lazyregexp.New(`^[A-Za-z][0-9A-Za-z_./@+-]*(:[0-9A-Za-z_./@+-]+)*$`)

// quote writes a text in YAML. The checksums are quoted, as some of them look like numbers.
func quote(text string) string {
	if isPlain.MatchString(text) && len(text) > 5 { // longer than any word of YAML for true, false and null
		return text
	}
	var b strings.Builder
	for _, r := range text { // names have no control characters: see cleanName
		if r == '"' || r == '\\' {
			b.WriteByte('\\')
		}
		if r < ' ' {
			fmt.Fprintf(&b, "\\x%02x", r)
			continue
		}
		b.WriteRune(r)
	}
	return `"` + b.String() + `"`
}

// errIsMissing tells of a folder that the lock file has and that is not there.
var errIsMissing = fmt.Errorf("it is missing, and mgmt module get fetches it: %w", fs.ErrNotExist)
