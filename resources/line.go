package resources

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/textlines"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("line", func() engine.Res { return &LineRes{} })
}

var (
	_ engine.RecvableRes    = (*LineRes)(nil)
	_ engine.ClashingRes    = (*LineRes)(nil)
	_ engine.ReversibleRes  = (*LineRes)(nil)
	_ engine.Readable       = (*LineRes)(nil)
	_ engine.SharedRes      = (*LineRes)(nil)
	_ engine.OverlappingRes = (*LineRes)(nil)
	_ engine.DescribedRes   = (*LineRes)(nil)
)

// LineRes is a line in a file, some lines, or a block between two marks. See Doc for
// what its parameters mean.
type LineRes struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Recvable
	traits.Reversible

	File    string `yaml:"file" lang:"file" mgmt:"identity,required" doc:"Absolute path of the file."`
	State   string `yaml:"state" lang:"state" mgmt:"enum=exists|absent" doc:"Whether the content must be in the file; exists if nothing is said."`
	Content string `yaml:"content" lang:"content" doc:"The line, or several lines, which then stand one after the other; with a marker all that stands in the block."`

	Match      string `yaml:"match" lang:"match" mgmt:"param" doc:"Regular expression (RE2) of the line that the content replaces: the last match. With state absent, all lines that match are removed."`
	AllMatches bool   `yaml:"all_matches" lang:"all_matches" mgmt:"param" doc:"Replace each line that matches, and not only the last one."`
	IfMissing  bool   `yaml:"if_missing" lang:"if_missing" mgmt:"param" doc:"With match: do nothing where the content is in the file already, whatever else matches."`
	OneMatch   bool   `yaml:"one_match" lang:"one_match" mgmt:"param" doc:"It is an error that several lines match, where a line is to be replaced or removed, or added above or below one."`
	Keep       bool   `yaml:"keep" lang:"keep" mgmt:"param" doc:"With match: a line that matches is enough, and is left as it is."`
	NoAdd      bool   `yaml:"no_add" lang:"no_add" mgmt:"param" doc:"With match: where no line matches, nothing is added."`
	Marker     string `yaml:"marker" lang:"marker" mgmt:"param" doc:"Makes the content a block between two lines: this text, with BEGIN and END in the place of {mark}."`

	Above  string `yaml:"above" lang:"above" mgmt:"param" doc:"Regular expression: missing lines go above the first line that matches; to the end of the file if none does."`
	Below  string `yaml:"below" lang:"below" mgmt:"param" doc:"Regular expression: missing lines go below the last line that matches; to the end of the file if none does."`
	Create bool   `yaml:"create" lang:"create" mgmt:"param" doc:"Make the file if it is missing, readable by everyone unless the content is a secret. Otherwise that is an error. A file that gets a secret is taken from other users, unless a file resource says its mode."`

	ValidateCmd string `yaml:"validate" lang:"validate" mgmt:"param,nosecret" doc:"Command that checks the new file before it replaces the old one: % in it stands for the path of the new file, which comes last if there is none. No shell runs it. If it fails, the old file stays."`

	init *engine.Init
	file managed
}

// lineMark stands in a marker for the words that begin and end a block.
const lineMark = "{mark}"

// Default returns a line whose file is made when it is missing.
func (r *LineRes) Default() engine.Res { return &LineRes{Create: true} }

func (r *LineRes) absent() bool { return r.State == FileAbsent }

// list returns the lines of the content.
func (r *LineRes) list() []string {
	text := strings.ReplaceAll(r.Content, "\r\n", "\n")
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// Validate checks the parameters and how they go together.
func (r *LineRes) Validate() error {
	var errs []error
	if err := plainPath("file", r.File); err != nil {
		errs = append(errs, err)
	}
	if !slices.Contains([]string{"", FileExists, FileAbsent}, r.State) {
		errs = append(errs, fmt.Errorf("state is %q, it must be exists or absent", r.State))
	}
	_, err := r.edit()
	errs = append(errs, err, validatorOf(r.ValidateCmd).check())
	content := r.Content != "" || r.Recv()["content"] != nil
	errs = append(errs, broken([]rule{
		{r.Above != "" && r.Below != "", "above and below exclude each other"},
		{r.Match != "" && r.Marker != "", "match and marker exclude each other"},
		{r.AllMatches && r.Match == "", "all_matches needs a match"},
		{(r.IfMissing || r.Keep || r.NoAdd) && (r.Match == "" || r.absent()), "if_missing, keep and no_add need a match, and make no sense where state is absent"},
		{r.OneMatch && r.AllMatches, "one_match and all_matches exclude each other"},
		{r.Match != "" && len(r.list()) > 1, "content has several lines, and match finds one; a marker is for several"},
		{r.Match != "" && r.absent() && content, "state is absent: what matches is removed, content makes no sense"},
		{r.Match == "" && r.Marker == "" && !content, "content is missing"},
		{r.Match != "" && !r.absent() && !content, "content is missing"},
		{strings.ContainsRune(strings.ReplaceAll(r.Content, "\r\n", "\n"), '\r'), "content has a return in it that ends no line"},
		{strings.ContainsRune(r.Content, 0), "content has a NUL byte in it"},
	})...)
	return errors.Join(append(errs, r.validateMarker()...)...)
}

func (r *LineRes) validateMarker() []error {
	if r.Marker == "" {
		return nil
	}
	begin, end := r.marks()
	return broken([]rule{
		{strings.Count(r.Marker, lineMark) != 1, "marker has to have {mark} in it, once"},
		{strings.ContainsAny(r.Marker, "\r\n\x00"), "marker has to be one line"},
		{slices.Contains(r.list(), begin) || slices.Contains(r.list(), end), "content has a line in it that is a mark of the block"},
	})
}

func (r *LineRes) marks() (begin, end string) {
	if r.Marker == "" {
		return "", ""
	}
	return strings.ReplaceAll(r.Marker, lineMark, "BEGIN"), strings.ReplaceAll(r.Marker, lineMark, "END")
}

// edit returns what is to be done with the text of the file.
func (r *LineRes) edit() (*textlines.Edit, error) {
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
	return e, errors.Join(errs...)
}

// Init keeps the handle, and tells the files of the graph that this one is managed.
func (r *LineRes) Init(init *engine.Init) error {
	r.init, r.file = init, managed{}
	if !r.absent() {
		r.file.tell(filesOf(init), r.File)
	}
	return nil
}

// Cleanup takes back what Init has told.
func (r *LineRes) Cleanup() error {
	r.file.tell(filesOf(r.init), "")
	return nil
}

// Shared is what all files have in common.
func (*LineRes) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return withFiles()
}

// Watch waits for changes of the file.
func (r *LineRes) Watch(ctx context.Context) error {
	return watchAll(ctx, r.init, []string{r.File}, engine.WatchOptions{})
}

// CheckApply edits the file. Those who edit it at the same time wait for each other.
func (r *LineRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	e, err := r.edit()
	if err != nil {
		return false, err
	}
	t, err := textAt(r.File, 0o644)
	if err != nil {
		return false, err
	}
	path := t.real
	if r.secret() {
		t.mode, t.private = filePrivate, r.adds() && !filesOf(r.init).hasMode(r.File, path)
	}
	if apply {
		defer filesOf(r.init).lock(path)()
	}
	old, st, err := t.read()
	if err != nil {
		return false, err
	}
	got, err := e.Apply(old)
	switch {
	case err != nil && e.Begin == "":
		return false, fmt.Errorf("%s: %w", path, err)
	case err != nil:
		return false, fmt.Errorf("%s, %w; the marks are %q and %q", path, err, e.Begin, e.End)
	case !got.Changed && !t.open(st):
		return true, nil
	case st == nil && !r.Create:
		return false, fmt.Errorf("%s does not exist; create: true makes it", path)
	}
	if got.Changed {
		r.report(e, st, got)
	}
	if t.open(st) {
		r.init.Change(engine.Change{Field: "file", From: fileOctal(st.Perm()), To: fileOctal(filePrivate)})
	}
	if !apply {
		return false, parentOf(r.init, path)
	}
	t.asked = checking{validatorOf(r.ValidateCmd), ctx, r.init.Host, r.secret()}
	err = t.edit(func(old string) (string, error) {
		got, err := e.Apply(old)
		return got.Text, err
	})
	filesOf(r.init).wroteAt(path, r.init)
	return false, explainParent(r.init, path, err)
}

// report reports what is to be changed.
func (r *LineRes) report(e *textlines.Edit, st *atomicfile.Stat, got textlines.Result) {
	if st == nil {
		r.init.Change(engine.Change{Field: "file", Verb: engine.Created})
	}
	c := engine.Change{Field: "content"}
	if len(got.Removed) > 0 {
		c.From = strings.Join(got.Removed, "\n")
	}
	if !e.Absent {
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
		c.From, c.To = fileHide(c.From), fileHide(c.To)
	case isConfinedFile(st):
		c = confinedChange(c)
	}
	r.init.Change(c)
}

// adds reports whether what is received as a secret is put into the file.
func (r *LineRes) adds() bool { return !r.absent() && tainted(r.init, "content", "Content") }

// secret reports whether what is in the file must not be shown, and then remembers it.
func (r *LineRes) secret() bool {
	s := filesOf(r.init)
	secret := tainted(r.init, "content", "Content")
	if secret {
		s.keepSecret(r.File)
	}
	return secret || s.holdsSecret([]string{r.File})
}

// Cmp compares the parameters.
func (r *LineRes) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }
