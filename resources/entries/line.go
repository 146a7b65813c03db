package entries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/command"
	"github.com/reactivegraph/mgmt/resources/internal/confined"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/received"
	"github.com/reactivegraph/mgmt/resources/internal/rules"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
	"github.com/reactivegraph/mgmt/resources/internal/textlines"
	"github.com/reactivegraph/mgmt/resources/internal/watches"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("line", func() engine.Res { return &Line{} })
}

var (
	_ engine.RecvableRes    = (*Line)(nil)
	_ declaration.Stated    = (*Line)(nil)
	_ engine.ClashingRes    = (*Line)(nil)
	_ engine.ReversibleRes  = (*Line)(nil)
	_ engine.Readable       = (*Line)(nil)
	_ engine.SharedRes      = (*Line)(nil)
	_ engine.OverlappingRes = (*Line)(nil)
	_ engine.DescribedRes   = (*Line)(nil)
	_ declaration.Linted    = (*Line)(nil)
)

// The states of a line.
// An empty state means the first of them.
const (
	Exists = "exists"
	Absent = "absent"
)

// Line is a line in a file, some lines, or a block between two marks. See Doc for the meaning of
// its parameters.
type Line struct {
	traits.Base
	traits.Collectable
	traits.Edgeable
	traits.Overlapping
	traits.Recvable
	traits.Reversible
	files.One

	File    string `yaml:"file" lang:"file" mgmt:"identity,required" doc:"Absolute path of the file."`
	State   string `yaml:"state" lang:"state" mgmt:"enum=exists|absent,lend" doc:"Whether the content must be in the file; exists if nothing is said."`
	Content string `yaml:"content" lang:"content" mgmt:"lend" doc:"The line, or several lines, which then stand one after the other; with a marker all that stands in the block. With match, $1 or ${name} stands for a group of it, and $$ for a dollar."`

	Match      string `yaml:"match" lang:"match" mgmt:"param" doc:"Regular expression (RE2) of the line that the content replaces: the last match. With state absent, all lines that match are removed."`
	AllMatches bool   `yaml:"all_matches" lang:"all_matches" mgmt:"param" doc:"Replace each line that matches, and not only the last one."`
	IfMissing  bool   `yaml:"if_missing" lang:"if_missing" mgmt:"param,lend" doc:"With match: do nothing where the content is in the file already, whatever else matches."`
	OneMatch   bool   `yaml:"one_match" lang:"one_match" mgmt:"param" doc:"It is an error that several lines match, where a line is to be replaced or removed, or added above or below one."`
	Keep       bool   `yaml:"keep" lang:"keep" mgmt:"param" doc:"With match: a line that matches is enough, and is left as it is."`
	NoAdd      bool   `yaml:"no_add" lang:"no_add" mgmt:"param" doc:"With match: where no line matches, nothing is added."`
	Marker     string `yaml:"marker" lang:"marker" mgmt:"param,lend" doc:"Makes the content a block between two lines: this text, with BEGIN and END in the place of {mark}."`

	Above  string `yaml:"above" lang:"above" mgmt:"param,lend" doc:"Regular expression: missing lines go above the first line that matches; to the end of the file if none does."`
	Below  string `yaml:"below" lang:"below" mgmt:"param,lend" doc:"Regular expression: missing lines go below the last line that matches; to the end of the file if none does."`
	Create bool   `yaml:"create" lang:"create" mgmt:"param,lend" doc:"Make the file if it is missing, readable by everyone unless the content is a secret. Otherwise that is an error. A file that gets a secret is taken from other users, unless a file resource says its mode."`

	ValidateCmd string `yaml:"validate" lang:"validate" mgmt:"param,nosecret" doc:"Command that checks the new file before it replaces the old one: % in it stands for the path of a copy of the new file, which comes last if there is none. No shell runs it. If it fails, the old file stays."`

	init *engine.Init
}

// lineMark stands in a marker for the words that begin and end a block.
const lineMark = "{mark}"

// Default returns a line whose file is made when it is missing.
func (r *Line) Default() engine.Res { return &Line{Create: true} }

// absent is the one place that knows the default of the state.
func (r *Line) absent() bool { return r.State == Absent }

// list returns the lines of the content.
// The end of the last line is not part of it. A return before a line feed is taken off.
func (r *Line) list() []string {
	text := strings.ReplaceAll(r.Content, "\r\n", "\n")
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// Validate checks the parameters and how they go together.
// It does no I/O, and returns all errors at once.
func (r *Line) Validate() error {
	var errs []error
	if err := files.PlainPath("file", r.File); err != nil {
		errs = append(errs, err)
	}
	if !slices.Contains([]string{"", Exists, Absent}, r.State) {
		errs = append(errs, fmt.Errorf("state is %q, it must be exists or absent", r.State))
	}
	e, err := r.edit()
	errs = append(errs, err, command.ValidatorOf(r.ValidateCmd).Check())
	content := r.Content != "" || r.Recv()["content"] != nil
	errs = append(errs, rules.Broken([]rules.Rule{
		{If: r.Above != "" && r.Below != "", Text: "above and below exclude each other"},
		{If: r.Match != "" && r.Marker != "", Text: "match and marker exclude each other"},
		{If: r.AllMatches && r.Match == "", Text: "all_matches needs a match"},
		{If: (r.IfMissing || r.Keep || r.NoAdd) && (r.Match == "" || r.absent()), Text: "if_missing, keep and no_add need a match, and make no sense where state is absent"},
		{If: (r.IfMissing || r.Keep) && e.Fills(), Text: "content has groups of match in it, which only a line that is replaced has; if_missing and keep make no sense"},
		{If: r.OneMatch && r.AllMatches, Text: "one_match and all_matches exclude each other"},
		{If: r.Match != "" && len(r.list()) > 1, Text: "content has several lines, and match finds one; a marker is for several"},
		{If: r.Match != "" && r.absent() && content, Text: "state is absent: what matches is removed, content makes no sense"},
		{If: r.Match == "" && r.Marker == "" && !content, Text: "content is missing"},
		{If: r.Match != "" && !r.absent() && !content, Text: "content is missing"},
		{If: strings.ContainsRune(strings.ReplaceAll(r.Content, "\r\n", "\n"), '\r'), Text: "content has a return in it that ends no line"},
		{If: strings.ContainsRune(r.Content, 0), Text: "content has a NUL byte in it"},
	})...)
	return errors.Join(append(errs, r.validateMarker()...)...)
}

// DropForState takes out what only a line that is to be there has. Without a match the content says which lines go.
func (r *Line) DropForState() {
	if !r.absent() {
		return
	}
	r.IfMissing, r.Keep, r.NoAdd = false, false, false
	if r.Match != "" {
		r.Content = ""
	}
}

// validateMarker keeps a block recognisable: with a mark inside of the content, the next edit
// would end the block too early.
func (r *Line) validateMarker() []error {
	if r.Marker == "" {
		return nil
	}
	begin, end := r.marks()
	return rules.Broken([]rules.Rule{
		{If: strings.Count(r.Marker, lineMark) != 1, Text: "marker has to have {mark} in it, once"},
		{If: strings.ContainsAny(r.Marker, "\r\n\x00"), Text: "marker has to be one line"},
		{If: slices.Contains(r.list(), begin) || slices.Contains(r.list(), end), Text: "content has a line in it that is a mark of the block"},
	})
}

// Both are empty without a marker.
// marks returns the two lines around a block, without their ends.
func (r *Line) marks() (begin, end string) {
	if r.Marker == "" {
		return "", ""
	}
	return strings.ReplaceAll(r.Marker, lineMark, "BEGIN"), strings.ReplaceAll(r.Marker, lineMark, "END")
}

// edit returns the edit of the file's text.
// It compiles the patterns anew, because a received content can change between two calls.
func (r *Line) edit() (*textlines.Edit, error) {
	e := &textlines.Edit{Absent: r.absent(), Lines: r.list(), All: r.AllMatches, Missing: r.IfMissing, One: r.OneMatch, Keep: r.Keep, NoAdd: r.NoAdd}
	e.Begin, e.End = r.marks()
	var errs []error
	for _, p := range []struct {
		key, text string
		to        **regexp.Regexp
	}{{"match", r.Match, &e.Match}, {"above", r.Above, &e.Above}, {"below", r.Below, &e.Below}} {
		if p.text == "" {
			continue
		}
		re, err := regexp.Compile(p.text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.key, err))
		}
		*p.to = re
	}
	if r.fills() && e.Match != nil {
		e.Groups()
	}
	return e, errors.Join(errs...)
}

// fills reports whether the content may have groups of match in it. What is received is taken as it is.
func (r *Line) fills() bool {
	return r.Match != "" && !r.absent() && len(r.list()) == 1 && r.Recv()["content"] == nil
}

// Lint warns of a group that match has not.
func (r *Line) Lint() (found schema.Diagnostics) {
	e, err := r.edit()
	if err != nil || !r.fills() {
		return nil
	}
	e.Lines = r.list()
	for _, group := range e.Groups() {
		found = append(found, schema.Diagnostic{Path: "content", Message: fmt.Sprintf(
			"content has %s in it, and match has %d groups, so it is written as it is; put in brackets what match finds, or write $%s", group, e.Match.NumSubexp(), group)})
	}
	return found
}

// Init keeps the handle, and tells the files of the graph that this one is managed.
// A line that is to be absent does not count as managing the file: a folder that is
// purged may remove it.
func (r *Line) Init(init *engine.Init) error {
	r.init = init
	managed := ""
	if !r.absent() {
		managed = r.File
	}
	r.Manage(init, managed)
	return nil
}

// Watch waits for changes of the file.
// It blocks until ctx ends.
// One goroutine of the engine runs it. It reports by the handle that Init was given.
func (r *Line) Watch(ctx context.Context) error {
	return watches.Paths(ctx, r.init, []string{r.File}, events.Options{})
}

// CheckApply edits the file. Those who edit it at the same time wait for each other.
// With apply it holds the lock of the file until it is written. The edit is done twice:
// first to tell the change, then on the text at the time of the write.
// It returns true if the text is right already. Without apply the missing folder of a file is an
// error too, since the write would fail there.
func (r *Line) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	e, err := r.edit()
	if err != nil {
		return false, err
	}
	t, err := textfile.By(safepath.Of(r.init.Host), r.File, 0o644)
	if err != nil {
		return false, err
	}
	path := t.Real
	if r.secret() {
		t.Mode, t.Private = files.PrivateMode, r.adds() && !files.Of(r.init).HasMode(r.File, path)
	}
	if apply {
		defer files.Of(r.init).Lock(path)()
	}
	old, st, err := t.Read()
	if err != nil {
		return false, err
	}
	got, err := e.Apply(old)
	switch {
	case err != nil && e.Begin == "":
		return false, fmt.Errorf("%s: %w", path, err)
	case err != nil:
		return false, fmt.Errorf("%s, %w; the marks are %q and %q", path, err, e.Begin, e.End)
	case !got.Changed && !t.Open(st):
		return true, nil
	case st == nil && !r.Create:
		return false, fmt.Errorf("%s does not exist; create: true makes it", path)
	}
	if got.Changed {
		if st == nil {
			r.reportFile(&t)
		}
		r.report(e, st, got)
	}
	if t.Open(st) {
		r.init.Change(engine.Change{Field: "file", From: files.Octal(st.Perm()), To: files.Octal(files.PrivateMode)})
	}
	if !apply {
		return false, files.ParentOf(r.init, path)
	}
	t.Asked = command.Checking{Validator: command.ValidatorOf(r.ValidateCmd), Context: ctx, Host: r.init.Host, Secret: r.secret()}
	err = t.Edit(func(old string) (string, error) {
		got, err := e.Apply(old)
		return got.Text, err
	})
	files.Of(r.init).WroteAt(path, r.init)
	return false, files.ExplainParent(r.init, path, err)
}

// reportFile reports a file that is to be made, with its mode and owner.
func (r *Line) reportFile(t *textfile.File) {
	owner := files.UserName(uint32(os.Geteuid()), "")
	r.init.Change(engine.Change{Field: "file", To: fmt.Sprintf("made with mode %s, owner %s", files.Octal(uint32(t.Mode)), owner)})
}

// report reports the change to the engine.
// A secret, or text of a file that others may not read, is hidden in the change.
// One change describes the whole edit. Removed lines are joined, so a reader sees a text as in the
// file.
func (r *Line) report(e *textlines.Edit, st *atomicfile.Stat, got textlines.Result) {
	c := engine.Change{Field: "content"}
	if len(got.Removed) > 0 {
		c.From = strings.Join(got.Removed, "\n")
	}
	switch {
	case e.Fills():
		c.To = strings.Join(got.Put, "\n")
	case !e.Absent:
		c.To = strings.Join(e.Lines, "\n")
	}
	switch {
	case e.Begin != "" && e.Absent:
		c.Field, c.Verb = "marker", engine.Deleted
	case e.Begin != "" && len(got.Removed) == 0 && len(e.Lines) == 0:
		c.Field, c.Verb = "marker", engine.Created
	case c.From == c.To: // a block that was there twice
		c.Field, c.From, c.To = "marker", "twice", "once"
	}
	switch {
	case r.secret():
		c.From, c.To = confined.Hide(c.From), confined.Hide(c.To)
	case confined.ShutsFile(st):
		c = confined.Change(c)
	}
	r.init.Change(c)
}

// adds reports whether a value that is received as a secret is put into the file.
func (r *Line) adds() bool { return !r.absent() && received.Tainted(r.init, "content", "Content") }

// secret reports whether the content of the file must not be shown, and then remembers it.
// The file is remembered as secret from then on, so other resources of it hide its text
// too.
func (r *Line) secret() bool {
	s := files.Of(r.init)
	secret := received.Tainted(r.init, "content", "Content")
	if secret {
		s.KeepSecret(r.File)
	}
	return secret || s.HoldsSecret([]string{r.File})
}

// Cmp compares the parameters.
// It ignores state that Init made.
func (r *Line) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }
