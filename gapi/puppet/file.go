package puppet

import (
	"cmp"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// noBelow is the reason for which three attributes that bound a walk are refused.
const noBelow = "mgmt has no such limit on what is below a folder"

// fileType is the type file. Each row is also a line of the reference, so notes are written for
// users.
var fileType = &kindType{
	name: "file", kind: "file", how: convert,
	note: "a file without ensure, content and source has to be there, and must not be a folder",
	attributes: append([]attribute{
		{name: "path", how: convert, note: "one slash at the end with `ensure => directory`, none without"},
		{name: "ensure", how: convert, to: "state, symlink", note: "`present` and `file`: state exists; `directory`: and a slash at the end of the path; `link`: symlink; `absent`; any other text is what a link points to"},
		{name: "content", how: convert, to: "content", note: "the same; a checksum in the place of a content is refused"},
		{name: "source", how: convert, to: "source", note: "a path or `file:///path` of this machine, or `puppet:///modules/NAME/FILE` of a module in the folders of the setting `puppet_modules`; any other `puppet:`, and `http:`, is refused. Of a folder it is copied with recurse only"},
		{name: "target", how: convert, to: "source", note: "the target of a link"},
		{name: "owner", how: same},
		{name: "group", how: same},
		{name: "mode", how: convert, to: "mode, copy_mode", note: "an octal one of a folder gets x where it has r; with recurse and source it is for all that is copied, which does not get the permissions of the source"},
		{name: "recurse", how: convert, to: "recurse", note: "with source or purge; without them owner, group and mode would be for everything below, which is refused"},
		{name: "purge", how: convert, to: "purge", note: "needs force, since it removes folders too"},
		{name: "force", how: convert, to: "force", do: boolTo("force")},
		{name: "replace", how: convert, to: "keep", note: "false keeps the content of a file that is there; of a link or a folder with a source false is refused"},
		{name: "recurselimit", how: refused, whole: true, note: noBelow},
		{name: "max_files", how: refused, note: noBelow},
		{name: "ignore", how: refused, whole: true, note: noBelow},
		{name: "sourceselect", how: refused, note: "mgmt has one source", do: except(false, "mgmt has one source", "first")},
		{name: "links", how: convert, to: "replace_link", note: "with `ensure => file` a link in the place is replaced, unless it is follow; otherwise a link is followed"},
		{name: "backup", how: refused, note: "mgmt keeps no copies; false is fine, and so is `puppet`, which is what a file has that says nothing", do: except(false, "mgmt keeps no copies of replaced files", "false", "puppet")},
		{name: "checksum", how: ignored, note: "contents are compared"},
		{name: "checksum_value", how: refused, note: "contents are compared with contents"},
		{name: "source_permissions", how: refused, note: "a file gets no permissions from its source; ignore is fine", do: except(false, "a file gets no permissions from its source", "ignore")},
		{name: "validate_cmd", how: convert, to: "validate", note: "a command that a shell would alter is run by `/bin/sh`"},
		{name: "validate_replacement", how: convert, to: "validate", note: "the text that stands for the path in validate_cmd; % if it is not given"},
		{name: "show_diff", how: convert, note: "false makes the content a secret"},
		{name: "selinux_ignore_defaults", how: ignored, note: "labels are left alone"},
		{name: "staging_location", how: ignored, note: "a file is written next to its place"},
		{name: "provider", how: ignored, note: "there is one"},
	}, append(refusals("mgmt does not set labels of SELinux", "seluser", "selrole", "seltype", "selrange"),
		refusals("it can only be read", "ctime", "mtime", "type")...)...),
	finish: finishFile,
}

// file is what the parameters of a file say together.
// It lives for one call of finish.
type file struct {
	*translation
	// Cleaned of slashes at the end; a folder gets one back.
	path   string
	ensure string // present, directory, link, absent; empty when nothing says it
	target *param
}

// finishFile decides by ensure, target and source whether it is a file, a folder or a
// link. Each of them reads the other parameters in its own way.
func finishFile(t *translation) {
	f := &file{translation: t, path: t.title, target: t.param("target")}
	if p := t.param("path"); p != nil {
		if p.secret {
			t.refuse(p.name, "a path can't be a secret: it is shown everywhere", true)
			return
		}
		f.path, _ = t.scalar(p)
	}
	f.path = identOf("file", f.path).title
	if !path.IsAbs(f.path) {
		t.found.Add(t.finding(schema.Error, "path", "it must be absolute, not "+quote(f.path)))
		t.out = true
		return
	}
	f.readEnsure()
	switch f.ensure {
	case "absent":
		f.put("state", textNode(f.at, "absent"))
	case "directory":
		f.directory()
	case "link":
		f.link()
	default:
		f.plain()
	}
	// The kind takes its name as the path where no path is given.
	if f.path != f.title || strings.HasSuffix(f.name, "/") {
		f.put("path", textNode(f.at, f.path))
	}
}

// readEnsure finds out what is wanted.
// A text that is none of the words is the target of a link.
// The order of the cases is Puppet's: ensure decides, and without it a target makes a link.
func (f *file) readEnsure() {
	p := f.param("ensure")
	switch text := f.text("ensure"); {
	case p == nil && f.target != nil:
		f.ensure = "link"
	case p == nil && f.param("source") != nil && f.recurses():
		f.ensure = "directory"
	case p == nil:
	case p.secret || !isScalar(p.value):
		f.bad(p, "it must be text, not %s", describe(p.value))
	case text == "present" || text == "file" || text == "true":
		f.ensure = "present"
	case text == "absent" || text == "directory" || text == "link":
		f.ensure = text
	case text == "false":
		f.ensure = "absent"
	default:
		f.ensure, f.target = "link", p
	}
}

// recurses reports whether the resource is about what is below it.
// The word remote stands for true here: only the source is walked.
func (f *file) recurses() bool {
	p := f.param("recurse")
	if p == nil {
		return false
	}
	if f.text("recurse") == "remote" {
		return true
	}
	yes, _ := f.boolean(p)
	return yes
}

// plain is a file, or a path with nothing but an owner, a group or a mode.
// Without ensure, content and source the file has to be there, and only its owner, group and
// mode are set.
func (f *file) plain() {
	f.mode(false)
	f.content()
	if p := f.param("fragments"); p != nil && f.typ.name != "file" {
		f.set("fragments", p.value, p)
	}
	if src := f.source(); src != "" {
		f.set("source", textNode(f.at, src), f.param("source"))
	}
	if f.ensure != "" {
		f.put("state", textNode(f.at, "exists"))
	}
	f.replacesLink("file")
	if f.manages() {
		f.replaces()
		f.validate()
	}
	if f.recurses() {
		f.refuse("recurse", "only a folder has something below it; say ensure => directory", false)
	}
}

// manages reports whether it has a content.
func (f *file) manages() bool {
	for _, name := range []string{"content", "source", "fragments"} {
		if f.param(name) != nil {
			return true
		}
	}
	return false
}

// replaces says whether the content of a file that is there is one to be replaced.
func (f *file) replaces() {
	if p := f.param("replace"); p != nil {
		if yes, ok := f.boolean(p); ok && !yes {
			f.set("keep", boolNode(f.at, true), p)
		}
	}
}

// replacesLink says that a link is not what ensure asks for.
func (f *file) replacesLink(ensure string) {
	if f.text("ensure") == ensure && f.text("links") != "follow" && !f.isTrue("force") {
		f.put("replace_link", boolNode(f.at, true))
	}
}

// keepsOther refuses to leave a link or a folder alone.
func (f *file) keepsOther() {
	if p := f.param("replace"); p != nil {
		if yes, ok := f.boolean(p); ok && !yes {
			f.refuse(p.name, "mgmt leaves the contents of files alone only, and not links, or the content of a folder", true)
		}
	}
}

// validate sets the command that checks a new content.
// Our kind has % for the path of the new file, so other per cent signs are doubled.
func (f *file) validate() {
	p := f.param("validate_cmd")
	if p == nil {
		return
	}
	text, ok := f.scalar(p)
	if !ok {
		return
	}
	mark := "%"
	if r := f.param("validate_replacement"); r != nil {
		mark = r.value.Text
	}
	parts := strings.Split(text, mark)
	if len(parts) == 1 || mark == "" {
		f.bad(p, "it must have %s in it, in the place of the path", quote(mark))
		return
	}
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(part, "%", "%%")
	}
	command := strings.Join(parts, "%")
	if !(line{text: strings.Join(parts, "")}).plain() {
		command = shell + " -c " + shellQuote(command)
	}
	f.set("validate", textNode(f.at, command), p)
}

// contentSum is a checksum in the place of a content.
var contentSum = lazyregexp.New(`^\{(md5|sha\w+|mtime|ctime)\}[0-9a-f]+$`)

// content sets the content. A checksum in its place stands for a content in Puppet's
// filebucket, which mgmt does not have.
// With show_diff false the text is treated as a secret, so that no difference shows it.
func (f *file) content() {
	p := f.param("content")
	if p == nil {
		return
	}
	text, ok := f.scalar(p)
	switch {
	case !ok:
	case contentSum.MatchString(text):
		f.refuse("content", "it is the checksum of a content that is somewhere else", true)
	default:
		hide := *p
		if shown := f.param("show_diff"); shown != nil {
			yes, _ := f.boolean(shown)
			hide.secret = hide.secret || !yes
		}
		f.set("content", textNode(f.at, text), &hide)
	}
}

// source returns the path of the copied file, without a slash at its end; empty for
// none.
// A source on a server of Puppet is refused: mgmt has no such server.
func (f *file) source() string {
	p := f.param("source")
	if p == nil {
		return ""
	}
	list, ok := f.scalars(p)
	switch {
	case !ok || len(list) == 0:
		return ""
	case len(list) > 1:
		f.refuse("source", "mgmt has one source and not the first of several that is there", true)
		return ""
	}
	src := list[0]
	if src = cmp.Or(localPath(src), src); !path.IsAbs(src) {
		reason := "a source is a file of this machine, or of a module in the folders of puppet_modules"
		if !p.secret {
			reason += ", not " + quote(src)
		}
		f.refuse("source", reason, true)
		return ""
	}
	return identOf("file", src).title
}

// localPath returns the path that a source on this machine is; empty for any other one.
// A file URL may name this machine as localhost.
func localPath(src string) string {
	if u, err := url.Parse(src); err == nil && u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") {
		src = u.Path
	}
	if !path.IsAbs(src) {
		return ""
	}
	return src
}

// link sets the target of a link. Other parameters of a file would be about the target, so
// keepsOther refuses them.
func (f *file) link() {
	if f.target == nil {
		f.found.Add(f.finding(schema.Error, "target", "a link needs a target"))
		f.out = true
		return
	}
	f.keepsOther()
	if to, ok := f.scalar(f.target); ok {
		f.put("symlink", boolNode(f.at, true))
		f.set("source", textNode(f.at, to), f.target)
	}
}

// directory is a folder and its content.
// A folder with recurse needs a source or purge. Without them Puppet would set owner, group and
// mode of everything below, which our kind does not.
func (f *file) directory() {
	f.path = strings.TrimRight(f.path, "/") + "/"
	f.mode(true)
	f.put("state", textNode(f.at, "exists"))
	src, purge := f.source(), f.isTrue("purge")
	if !f.recurses() {
		return // a source would give only its permissions
	}
	switch {
	case src == "" && !purge:
		for _, attr := range []string{"owner", "group", "mode"} {
			if f.param(attr) != nil {
				f.refuse("recurse", "mgmt sets "+attr+" of the folder only, not of its content", false)
				return
			}
		}
		return
	}
	if src != "" {
		f.keepsOther()
		f.copied()
		f.set("source", textNode(f.at, strings.TrimRight(src, "/")+"/"), f.param("source"))
	}
	if purge && !f.isTrue("force") {
		f.refuse("purge", "mgmt removes folders below, too; say force => true if that is meant", false)
		if purge = false; src == "" {
			return
		}
	}
	f.put("recurse", boolNode(f.at, true))
	if purge {
		f.put("purge", boolNode(f.at, true))
	}
}

// copied says which permissions a copy gets: those of the resource, and not those
// of the source.
// The word new stands for the permissions that a new file gets by itself.
func (f *file) copied() {
	mode := "new"
	if p := f.param("mode"); p != nil && p.value.Kind == schema.NodeString {
		mode = p.value.Text
	}
	f.put("copy_mode", textNode(f.at, mode))
}

// octal is a mode where x can be added to r.
var octal = lazyregexp.New(`^[0-7]{3,4}$`)

// mode sets the mode. Puppet adds x wherever a folder has r, and so does this.
// A symbolic mode is passed on as it is. A number without quotes is refused, as by Puppet: its
// digits would be decimal.
func (f *file) mode(folder bool) {
	p := f.param("mode")
	if p == nil {
		return
	}
	if p.value.Kind != schema.NodeString {
		f.bad(p, "it must be text such as '0644', not %s", describe(p.value))
		return
	}
	mode := p.value.Text
	if bits, err := strconv.ParseUint(mode, 8, 32); err == nil && folder && octal.MatchString(mode) {
		bits |= bits & 0o444 >> 2
		mode = "0" + strconv.FormatUint(bits, 8)
		if len(mode) < 4 {
			mode = strings.Repeat("0", 4-len(mode)) + mode
		}
	}
	f.set("mode", textNode(f.at, mode), p)
}
