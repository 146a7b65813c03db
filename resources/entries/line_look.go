package entries

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
	"github.com/reactivegraph/mgmt/traits"
)

// Read returns the text that the file has now in the place of the line. It is the block, the
// last line that matches, or the content if it is there.
// It needs Init first, and alters nothing. A missing file is read as an empty text, so the answer
// is an absent line.
func (r *Line) Read(ctx context.Context) (engine.Res, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	got := &Line{
		File: r.File, State: Absent, Match: r.Match, AllMatches: r.AllMatches, Marker: r.Marker,
		Above: r.Above, Below: r.Below, Create: r.Create,
	}
	got.SetKind(r.Kind())
	got.SetName(r.Name())
	e, err := r.edit()
	if err != nil {
		return nil, err
	}
	t, err := textfile.By(safepath.Of(r.init.Host), r.File, 0)
	if err != nil {
		return nil, err
	}
	text, _, err := t.Read()
	if err != nil {
		return nil, err
	}
	found, ok, err := e.Find(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s, %w", r.File, err)
	case ok:
		got.State, got.Content = Exists, strings.Join(found, "\n")
	}
	switch {
	case r.Match != "":
		got.Content = strings.ReplaceAll(got.Content, "$", "$$") // it has no groups
	case r.Marker == "":
		got.Content = r.Content // as it is written, whether it is there or not
	}
	return got, nil
}

// Reversed returns the resource that undoes it: a replaced line comes back, an added line goes.
// Where removed lines stood is not kept.
// An error says why it can not be undone; the engine shows it as a warning.
// The look before the change is nil where the engine has none.
func (r *Line) Reversed(before engine.Res) (engine.Res, error) {
	undo := &Line{File: r.File, Marker: r.Marker, Content: r.Content}
	undo.SetKind(r.Kind())
	undo.SetName(r.Name())
	was, ok := before.(*Line)
	if !ok && before != nil {
		return nil, fmt.Errorf("%s can't go back to a %s", r, before.Kind())
	}
	there := was != nil && was.State == Exists
	e, err := r.edit()
	if err != nil {
		return nil, err
	}
	var old, line string // with a match: the one that is replaced, and what replaces it
	switch {
	case r.Match == "" || r.absent():
	case there:
		old = strings.ReplaceAll(was.Content, "$$", "$")
		line = e.Filled(old)
	case e.Fills():
		return nil, errors.New("no line matched, so nothing was replaced")
	default:
		undo.Content = e.Lines[0]
	}
	switch {
	case r.absent() && !there:
		undo.State, undo.Match = Absent, r.Match // as it is
		if r.Match != "" {
			undo.Content = ""
		}
	case r.absent():
		return nil, errors.New("where the lines stood that it removes is not kept")
	case r.AllMatches && there:
		return nil, errors.New("the lines that all become the same one are not kept")
	case !there:
		undo.State = Absent
	case line != old:
		undo.State, undo.Content, undo.Match = Exists, was.Content, own(e.Match, line)
	default:
		undo.State, undo.Content = Exists, was.Content
	}
	return undo, nil
}

// own returns the pattern for the line that it has put in the place of another one. It is
// the match, if the new line matches too. So an edit of the graph that was not made yet does
// no harm. Otherwise it is the line itself.
func own(match *regexp.Regexp, line string) string {
	if match.MatchString(line) {
		return match.String()
	}
	return "^" + regexp.QuoteMeta(line) + "$"
}

// Leaving reports whether the line is to be absent.
// Automatic edges between two such resources have the opposite direction.
func (r *Line) Leaving() bool { return r.absent() }

// UIDs names the file that it is in.
func (r *Line) UIDs() []autoedge.UID {
	return []autoedge.UID{traits.FileUID(autoedge.UIDOf(r), path.Clean(r.File))}
}

// Rooted says that a folder is enough for all but the command.
func (r *Line) Rooted() (writes, apart []string) {
	return []string{path.Clean(r.File)}, []string{"validate"}
}

// AutoEdges wants the file of that name, and the edges of every file.
// The folder and the package of the file come by Written.
func (r *Line) AutoEdges() (autoedge.Needs, error) {
	w := edges.New(r)
	w.Ask = append(w.Ask, autoedge.NameUIDOf(r, "file", r.File))
	w.Written(r.File)
	return w, nil
}

// Clashes says what this line and something else in the same file want differently.
// Lines that can be told apart do not clash.
// Contents that are received are not known yet, so they can not clash.
func (r *Line) Clashes(other engine.Res) error {
	o, ok := other.(*Line)
	if !ok {
		return files.Clash(r, other)
	}
	if r.Recv()["content"] != nil || o.Recv()["content"] != nil || r.Marker != o.Marker {
		return nil
	}
	opposite, same := r.absent() != o.absent(), r.Content == o.Content
	switch {
	case opposite && (r.Marker != "" || r.Match == o.Match && (same || r.Match != "")):
		return errors.New("one wants it there, the other one wants it gone")
	case r.Marker != "" && !same:
		return fmt.Errorf("they want different contents in the block %q", r.Marker)
	case r.Match != "" && r.Match == o.Match && !same:
		return errors.New("they want different lines in the place of the one that matches")
	case opposite && (r.removes(o) || o.removes(r)):
		return errors.New("one removes what the other one wants there")
	}
	return nil
}

// WritesPart marks a kind that leaves the rest of its file alone. So several lines may be in
// one file.
func (*Line) WritesPart() {}

// removes reports whether it removes, by match, a line that the other one wants.
// Validate has checked the pattern before, so an error here means no.
func (r *Line) removes(o *Line) bool {
	if !r.absent() || r.Match == "" {
		return false
	}
	e, err := r.edit()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(o.list(), e.Match.MatchString)
}

// Doc describes the kind.
func (*Line) Doc() string {
	return `A line in a file, some lines, or a block between two marks, whatever else is in the file.

    line:
    - name: forwarding
      file: /etc/app.conf
      content: forward = yes
      match: ^#?\s*forward\s*=
    - name: hosts of the lab
      file: /etc/hosts
      marker: "# {mark} the lab"
      content: |
        192.0.2.1 one
        192.0.2.2 two

All other bytes of the file stay as they are, ends of lines among them: new lines end as the others do, and a file without an
end of its last line has none afterwards either. The file is replaced at once, with its owner, mode and attributes. If it is
a link of root's or our own, the file behind it is edited. Files of more than 16 MiB are not edited.

The content is there if its lines stand one after the other somewhere in the file, blanks included. If they do not, they are added: where
` + "`above` or `below`" + ` say, else at the end. Where they stand is not looked at again. ` + "`state: absent`" + ` removes them
wherever they stand.

` + "`validate`" + ` is a command that checks the new file before it replaces the old one, as ` + "`validate`" + ` of ` + "`file`" + ` does.

## In the place of another line

With ` + "`match`" + ` the last line that matches is replaced by the content, which is one line then; if none matches, the content is added. If the
content does not match itself, it is enough that it is there; with ` + "`if_missing: true`" + ` that is always enough. ` + "`keep: true`" + ` leaves a line that
matches as it is, ` + "`no_add: true`" + ` adds nothing where none matches, and with ` + "`one_match: true`" + ` several lines that match are an error. With ` + "`all_matches: true`" + ` each line that matches is replaced.
With ` + "`state: absent`" + ` all lines that match are removed.

In the content ` + "`$1`, `${1}` and `${name}`" + ` stand for the groups of the match, and ` + "`$$`" + ` for a dollar:

    line:
    - name: audit from the start
      file: /etc/default/grub
      match: ^GRUB_CMDLINE_LINUX="(.*?)( audit=1)?"$
      content: GRUB_CMDLINE_LINUX="$1 audit=1"

Where no line matches then, nothing is added. The match has to find the new line too, or not at all: a line that would grow with each run is an
error. A number that is no group of the match stays as it is, and is warned of; a received content is taken as it is.

The notation of patterns is that of RE2, for one line without its end; a match may be a part of
the line, unless ` + "`^` and `$`" + ` are given.

## A block

With ` + "`marker`" + ` the content is all that stands between two lines, which are the marker with BEGIN and END in the place of {mark}. So it can
be altered later, and be removed whatever is in it. A block that is there twice is left once. One mark without the other is an
error: the text between them can't be known then.

## Next to other resources

Several lines may be in one file, and a ` + "`file`" + ` resource may say its owner and mode, but not its content: that is an error of the graph, as are
two lines that undo each other. Automatic edges let it come after the file resource of that name, the folder and the package of the file.

A content that was received from a secret is never shown, and neither are the replaced parts of that file. A file that is made for
it can be read by its owner only.

With the metaparameter ` + "`reverse: true`" + ` an added line is removed when it leaves the graph, and a replaced one comes back. Removed lines do not
come back: where they stood is not kept.`
}

var _ declaration.Exposing = (*Line)(nil)

// Exposes says that the content is in the file.
// The mode is unknown to a line, so it is empty; a file resource may say it.
func (r *Line) Exposes(params []string) (string, schema.Mode) {
	if !slices.Contains(params, "content") || r.absent() {
		return "", ""
	}
	return r.File, ""
}
