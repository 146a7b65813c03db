package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/command"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("file", func() engine.Res { return &Res{} })
}

// The states of a file.
const (
	// They are the words of the parameter state.
	Exists    = "exists"
	Absent    = "absent"
	Undefined = "undefined" // the same as the empty one
)

// Res is a file, a folder or a symbolic link. See Doc for the meaning of its parameters.
// The engine owns the exported fields between runs, and sets received values before a run. The
// others belong to the resource, and Init fills them.
type Res struct {
	traits.Base
	traits.Collectable
	traits.Edgeable
	traits.Overlapping
	traits.Recvable
	traits.Reversible

	Path     string `yaml:"path" lang:"path" mgmt:"identity" doc:"Absolute path; the name if absent. A path that ends in a slash is a folder."`
	Dirname  string `yaml:"dirname" lang:"dirname" mgmt:"param" doc:"Replaces the folder part of the path; ends in a slash."`
	Basename string `yaml:"basename" lang:"basename" mgmt:"param" doc:"Replaces the last part of the path."`

	State     string   `yaml:"state" lang:"state" mgmt:"enum=exists|absent|undefined,lend" doc:"Whether it must exist. Undefined means exists where content, source, fragments or symlink are given or the path is a folder; else it must be there already, and only its owner, group and mode are managed."`
	Content   *string  `yaml:"content" lang:"content" mgmt:"lend" doc:"The whole content of a file. Absent leaves the content alone; empty makes it empty."`
	Source    string   `yaml:"source" lang:"source" mgmt:"param" doc:"Absolute path of a file or, ending in a slash, of a folder to copy. With symlink: the target of the link, which may be relative."`
	Fragments []string `yaml:"fragments" lang:"fragments" mgmt:"param" doc:"Absolute paths whose contents, one after the other, are the content. A path that ends in a slash is a folder and stands for its files, sorted by name."`

	Owner string      `yaml:"owner" lang:"owner" doc:"Name or number of the user who owns it."`
	Group string      `yaml:"group" lang:"group" doc:"Name or number of the group that it belongs to."`
	Mode  schema.Mode `yaml:"mode" lang:"mode" mgmt:"lend" doc:"Permissions, octal or symbolic. A symbolic mode of a new file starts from 0644, of a new folder from 0755."`

	Keep bool `yaml:"keep" lang:"keep" mgmt:"param,lend" doc:"Give the content to a file that is made, and leave that of an existing one alone."`

	ValidateCmd string `yaml:"validate" lang:"validate" mgmt:"param,nosecret" doc:"Command that checks a new content before it replaces the old file: % in it stands for the path of a copy of the new file, which comes last if there is none. No shell runs it. If it fails, the old file stays."`

	SELinux string `yaml:"selinux" lang:"selinux" doc:"The SELinux label of the path itself, such as system_u:object_r:etc_t:s0; absent leaves it to the system."`

	Recurse     bool   `yaml:"recurse" lang:"recurse" mgmt:"param" doc:"Of a folder: copy and watch all that is below, make missing parents, and remove it with its content."`
	Force       bool   `yaml:"force" lang:"force" mgmt:"param" doc:"Replace a folder by a file, a link by a folder, and so on."`
	Purge       bool   `yaml:"purge" lang:"purge" mgmt:"param" doc:"Of a folder, with recurse: remove everything below that neither comes from source nor is another file of the graph."`
	ReplaceLink bool   `yaml:"replace_link" lang:"replace_link" mgmt:"param" doc:"Replace a link in the place of the file or folder, and do not follow it. force does that, too, and replaces more."`
	CopyMode    string `yaml:"copy_mode" lang:"copy_mode" mgmt:"param" doc:"Permissions of copies in a folder. source: the permissions of the original, which is the default. new: the permissions of any new file; existing files keep their own. Or a mode; if it is octal, folders get x where it has r."`
	Symlink     bool   `yaml:"symlink" lang:"symlink" mgmt:"param" doc:"It is a symbolic link to source."`

	Entries map[string]Entry `yaml:"entries" lang:"entries" mgmt:"readonly" doc:"The content of a folder, by the path from there."`

	// It comes by Init and is nil before.
	init  *engine.Init
	back  bool          // brings back what another one has altered
	undo  *undoing      // takes back what another one made; nil for a file as declared
	limit time.Duration // of validate, for tests; else 0
	sums  bool          // a change never shows a content, but its checksum
	told  string        // the path that the other files know of
	attr  string        // where the label is, for tests; else atomicfile.SELinux
	seen  seen
	left  *atomic.Pointer[safepath.State] // the state that the last run has left, for Watch; nil in it while that is not known
}

// Entry is one thing below a folder that is copied or purged.
// The run fills it for Read only; no graph may give one.
type Entry struct {
	State   string      `yaml:"state" doc:"The type: file, folder or link."`
	Content *string     `yaml:"content" doc:"The content of a file."`
	Source  string      `yaml:"source" doc:"The target of a link."`
	Owner   string      `yaml:"owner" doc:"The user who owns it."`
	Group   string      `yaml:"group" doc:"The group that it belongs to."`
	Mode    schema.Mode `yaml:"mode" doc:"Permissions."`
}

// Default returns a file without any wish; an absent state is undefined. That of one that takes back what another one has made
// takes back the same.
func (r *Res) Default() engine.Res {
	return &Res{undo: r.undo.again(), back: r.back, sums: r.sums, attr: r.attr}
}

// filePath returns the path as declared; that of a folder ends in a slash.
// It is computed at each call, because name and path may be received.
func (r *Res) filePath() string {
	p := r.Path
	if p == "" {
		p = r.Name()
	}
	if r.Dirname == "" && r.Basename == "" {
		return clean(p)
	}
	dir, base := path.Split(strings.TrimRight(p, "/"))
	if strings.HasSuffix(p, "/") {
		base += "/"
	}
	if r.Dirname != "" {
		dir = r.Dirname
	}
	if r.Basename != "" {
		base = r.Basename
	}
	return clean(dir + base)
}

// clean removes idle parts of a path, but not a slash at the end, nor "..", whose meaning
// depends on links.
// Two paths that differ only in idle parts are then one in the graph.
func clean(p string) string {
	if !strings.Contains(p, "//") && !strings.Contains(p, "/.") || slices.Contains(strings.Split(p, "/"), "..") {
		return p
	}
	c := path.Clean(p)
	if c != "/" && strings.HasSuffix(p, "/") {
		c += "/"
	}
	return c
}

// IsFolder reports whether the declared path is that of a folder: it ends in a slash.
func (r *Res) IsFolder() bool { return strings.HasSuffix(r.filePath(), "/") }

// hasBody reports whether the content of a file is managed.
// An empty content is managed, too: nil alone leaves a file as it is.
func (r *Res) hasBody() bool {
	return r.Content != nil || len(r.Fragments) > 0 || r.Source != "" && !r.Symlink
}

// deep reports whether the contents of a folder are managed.
func (r *Res) deep() bool { return r.Recurse && (r.Source != "" || r.Purge) }

// makes reports whether it is made when it is missing.
// Without one of these wishes a missing file is an error.
func (r *Res) makes() bool {
	return r.State == Exists || r.hasBody() || r.Symlink || r.IsFolder()
}

// Validate checks the parameters and how they go together.
// It does no I/O and returns all faults at once, each with the parameter that it is about.
func (r *Res) Validate() error {
	errs := r.validatePaths()
	if err := r.Mode.Validate(); err != nil {
		errs = append(errs, err)
	}
	if err := r.copyMode(); err != nil {
		errs = append(errs, err)
	}
	if !slices.Contains([]string{"", Exists, Absent, Undefined}, r.State) {
		errs = append(errs, fmt.Errorf("state is %q, it must be exists, absent or undefined", r.State))
	}
	if err := r.validator().Check(); err != nil {
		errs = append(errs, err)
	}
	if strings.ContainsAny(r.SELinux, "\x00\n\t ") {
		errs = append(errs, fmt.Errorf("selinux: %q is no label, write one such as system_u:object_r:etc_t:s0", r.SELinux))
	}
	folder, absent := r.IsFolder(), r.State == Absent
	for _, rule := range []struct {
		broken bool
		text   string
	}{
		{count(r.Content != nil, r.Source != "", len(r.Fragments) > 0) > 1,
			"content, source and fragments exclude each other"},
		{absent && (r.hasBody() || r.Symlink && r.Source != ""),
			"state is absent: content, source and fragments make no sense"},
		{r.Symlink && r.Source == "" && !absent, "source is missing: symlink: true makes a link, and source is what it points to"},
		{r.Symlink && folder, "symlink: the path of a link must not end in a slash"},
		{r.Symlink && (r.Recurse || r.Purge), "symlink excludes recurse and purge"},
		{r.Symlink && r.Mode != "", "symlink: a link has no mode of its own"},
		{folder && (r.Content != nil || len(r.Fragments) > 0),
			"the path ends in a slash, which is a folder: it has no content and no fragments"},
		{r.Source != "" && !r.Symlink && folder != strings.HasSuffix(r.Source, "/"),
			"path and source must both end in a slash (folders) or both not (files)"},
		{r.Source != "" && folder && !r.Symlink && !r.Recurse, "a source folder is copied only with recurse: true"},
		{r.Purge && !folder, "purge is for folders: let the path end in a slash"},
		{r.Purge && !r.Recurse, "purge needs recurse: true"},
		{r.Purge && absent, "state is absent: purge makes no sense"},
		{r.ReplaceLink && r.Symlink, "symlink excludes replace_link"},
		{r.Keep && (absent || folder || r.Symlink), "keep is for a file with a content"},
		{r.ValidateCmd != "" && (absent || folder || r.Symlink), "validate is for a file with a content"},
	} {
		if rule.broken {
			errs = append(errs, errors.New(rule.text))
		}
	}
	return errors.Join(errs...)
}

// DropForState takes out what only a file or a folder that is there has.
func (r *Res) DropForState() {
	if r.State != Absent {
		return
	}
	r.Content, r.Source, r.Fragments = nil, "", nil
	r.Purge, r.Keep, r.ValidateCmd = false, false, ""
}

// validator is what checks a new content.
// It ends the command after two minutes.
func (r *Res) validator() command.Validator {
	return command.Validator{Line: r.ValidateCmd, Limit: cmp.Or(r.limit, command.MaxTime)}
}

// count is how many of the conditions hold.
func count(bs ...bool) (n int) {
	for _, b := range bs {
		if b {
			n++
		}
	}
	return n
}

// validatePaths checks each path by itself, and that no path is copied into itself. It compares
// texts; links are followed by the run alone.
func (r *Res) validatePaths() []error {
	var errs []error
	add := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if r.Dirname != "" && !strings.HasSuffix(r.Dirname, "/") {
		errs = append(errs, fmt.Errorf("dirname %q must end in a slash", r.Dirname))
	}
	if strings.HasPrefix(r.Basename, "/") {
		errs = append(errs, fmt.Errorf("basename %q must not begin with a slash", r.Basename))
	}
	p := r.filePath()
	add(files.CheckPath("path", p))
	if p == "/" && (r.State == Absent || r.Purge || r.Force) {
		errs = append(errs, errors.New("the root folder is neither removed, replaced nor purged"))
	}
	switch {
	case r.Source == "":
	case r.Symlink:
		add(files.CheckText("source", r.Source))
	default:
		add(files.CheckPath("source", r.Source))
		add(outside(p, "source", r.Source))
	}
	for i, f := range r.Fragments {
		what := fmt.Sprintf("fragments[%d]", i)
		add(files.CheckPath(what, f))
		add(outside(p, what, f))
	}
	return errs
}

// outside refuses a source that would be copied into itself.
func outside(p, what, from string) error {
	from = clean(from)
	switch {
	case from == p:
		return fmt.Errorf("%s is the path itself", what)
	case strings.HasSuffix(from, "/") && strings.HasPrefix(p, from):
		return fmt.Errorf("the path %q is inside %s %q", p, what, from)
	case strings.HasSuffix(p, "/") && strings.HasPrefix(from, p):
		return fmt.Errorf("%s %q is inside the path %q", what, from, p)
	}
	return nil
}

// Init keeps the handle, and tells the other files that this one is managed. One that brings an old state back is so from its run on: where a
// folder above is purged, it would bring back what goes.
// It forgets the findings of an earlier life: the machine may have changed in between.
func (r *Res) Init(init *engine.Init) error {
	r.init, r.seen, r.told = init, seen{}, ""
	r.left = new(atomic.Pointer[safepath.State])
	if !r.back {
		r.tell(r.filePath())
	}
	return nil
}

// Identity returns the path, of which Dirname and Basename may be parts.
func (r *Res) Identity() (map[string]string, error) {
	return map[string]string{"path": r.filePath()}, nil
}

// Cleanup takes back what Init has told.
// It removes nothing from the machine.
func (r *Res) Cleanup() error {
	r.tell("")
	return nil
}

// tell makes path the known path of the resource; empty for none.
// Purges of other resources spare known paths. The mode matters to kinds that edit a file of
// another resource: they keep it. The call is cheap where the path has not changed.
func (r *Res) tell(path string) {
	s := r.shared()
	if s == nil || path == r.told {
		return
	}
	if path != "" {
		s.Manage(path)
	}
	if r.told != "" {
		s.Unmanage(r.told)
	}
	if r.Mode != "" {
		s.SayMode(path, 1)
		s.SayMode(r.told, -1)
	}
	if m := r.MetaParams(); r.Purge && m.Drift != engine.DriftReport && (m.Noop == nil || !*m.Noop) {
		s.SayPurge(path, 1)
		s.SayPurge(r.told, -1)
	}
	r.told = path
}

// Cmp compares the parameters. A difference in one of them makes the resource a new one.
// Only parameters count. Findings of earlier runs survive a swap in which the resource is equal.
func (r *Res) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }

// shared returns the state that all files have in common, or nil.
// It is nil before Init, and where a test gives none.
func (r *Res) shared() *files.Shared {
	s, _ := r.init.Shared.(*files.Shared)
	return s
}

var (
	_ engine.RecvableRes        = (*Res)(nil)
	_ declaration.Stated        = (*Res)(nil)
	_ declaration.ReadsInChange = (*Res)(nil)
	_ engine.EdgeableRes        = (*Res)(nil)
	_ engine.ReversibleRes      = (*Res)(nil)
	_ engine.Readable           = (*Res)(nil)
	_ engine.SharedRes          = (*Res)(nil)
	_ engine.OverlappingRes     = (*Res)(nil)
	_ engine.DescribedRes       = (*Res)(nil)
	_ engine.WatchedRes         = (*Res)(nil)
)

// Shared names the shared state of files: one for the whole engine.
// The engine opens it before the first file starts, and closes it after the last one has ended.
func (*Res) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return files.With()
}
