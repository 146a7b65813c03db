package sysctl

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/planning"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/confined"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/received"
	"github.com/reactivegraph/mgmt/resources/internal/rules"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
	"github.com/reactivegraph/mgmt/resources/internal/textlines"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("sysctl", func() engine.Res { return &Res{} })
}

var (
	_ engine.RecvableRes    = (*Res)(nil)
	_ declaration.Stated    = (*Res)(nil)
	_ engine.ClashingRes    = (*Res)(nil)
	_ engine.ReversibleRes  = (*Res)(nil)
	_ planning.PartlyRooted = (*Res)(nil)
	_ engine.Readable       = (*Res)(nil)
	_ engine.Listable       = (*Res)(nil)
	_ engine.SharedRes      = (*Res)(nil)
	_ engine.OverlappingRes = (*Res)(nil)
	_ engine.DescribedRes   = (*Res)(nil)
)

// The file in which values are kept for the next boot, and how often the running ones are looked
// at: the kernel does not tell of their changes.
const (
	defaultFile = "/etc/sysctl.d/99-mgmt.conf"
	poll        = 10 * time.Second
)

// States of a parameter in its file.
const (
	Exists = "exists"
	Absent = "absent"
)

// Res is a parameter of the kernel: its running value, and its value from the next boot on.
type Res struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Collectable
	traits.Recvable
	traits.Reversible
	files.One

	Key     string `yaml:"key" lang:"key" mgmt:"identity" doc:"Name of the parameter, its parts separated by dots or by slashes; the name if absent."`
	State   string `yaml:"state" lang:"state" mgmt:"enum=exists|absent,lend" doc:"Whether it has a value of ours; exists if nothing is said. With absent it is taken out of the file, and the running value is left."`
	Value   string `yaml:"value" lang:"value" mgmt:"lend" doc:"The value. Several numbers are separated by blanks; any number of blanks will do."`
	Runtime bool   `yaml:"runtime" lang:"runtime" mgmt:"lend" doc:"Set it now."`
	Persist bool   `yaml:"persist" lang:"persist" mgmt:"lend" doc:"Keep it for the next boot."`

	Path          string `yaml:"path" lang:"path" mgmt:"param" doc:"Absolute path of the file that keeps it, which ends in .conf; /etc/sysctl.d/99-mgmt.conf if absent."`
	IgnoreMissing bool   `yaml:"ignore_missing" lang:"ignore_missing" mgmt:"param,lend" doc:"Accept that the running kernel does not have the parameter, as when its module is not loaded yet."`
	Line          string `yaml:"line" lang:"line" mgmt:"readonly" doc:"The line of the file that it stands in."`

	// init is of one life of the resource, from Init to Cleanup.
	init *engine.Init
	// file tells the other files of the graph that Path is managed.
	// seen belongs to one life. Watch and CheckApply share it, and run at the same time.
	seen *seen
	undo *reversal // nil unless this resource undoes another one

	root string        // below which /proc/sys and the default of path are, for tests; else empty
	poll time.Duration // in place of poll, for tests; else 0
}

// seen is the running value that was looked at last, by Watch or CheckApply.
// CheckApply notes the value that it has set, so that the next look of Watch does not take it for
// a change by another program.
type seen struct {
	mu    sync.Mutex
	value string
	known bool
}

// set remembers a value, and reports whether it is another one than before.
func (s *seen) set(value string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	other := !s.known || s.value != value
	s.value, s.known = value, true
	return other
}

// Default returns a parameter that is set now and at the next boot.
func (r *Res) Default() engine.Res {
	return &Res{Runtime: true, Persist: true, root: r.root, poll: r.poll}
}

// absent reports whether the file shall not have the parameter.
func (r *Res) absent() bool { return r.State == Absent }

// runs reports whether the running value is managed.
func (r *Res) runs() bool { return r.Runtime && !r.absent() }

// key returns the name with slashes, as it is a path. As elsewhere, the first of the two characters
// is the separator, and the other one stands for it within a part: eth0/1 in a name with dots is
// eth0.1.
func (r *Res) key() string {
	key := r.Key
	if key == "" {
		key = r.Name()
	}
	if i := strings.IndexAny(key, "./"); i >= 0 && key[i] == '.' {
		key = swapSeparators(key)
	}
	return key
}

// swapSeparators turns the one notation of a name into the other one.
func swapSeparators(key string) string {
	return strings.Map(func(c rune) rune {
		switch c {
		case '.':
			return '/'
		case '/':
			return '.'
		}
		return c
	}, key)
}

// filePath returns the path of the file that keeps the value.
func (r *Res) filePath() string {
	if r.Path != "" {
		return r.Path
	}
	return r.root + defaultFile
}

// oneValue is a value without the blanks that make no difference.
// The kernel itself shows several numbers with a tab between them.
func oneValue(s string) string { return strings.Join(strings.Fields(s), " ") }

// Validate checks the parameters and how they go together.
func (r *Res) Validate() error {
	// An undoing is made from a resource that was valid. It may lack parameters that a declared one needs.
	if r.undo != nil {
		return checkKey(r.key())
	}
	errs := []error{checkKey(r.key())}
	if !slices.Contains([]string{"", Exists, Absent}, r.State) {
		errs = append(errs, fmt.Errorf("state is %q, it must be exists or absent", r.State))
	}
	if r.Path != "" {
		errs = append(errs, files.PlainPath("path", r.Path))
	}
	// A value that is received is not known yet, and counts as given.
	given := r.Value != "" || r.Recv()["value"] != nil
	return errors.Join(append(errs, rules.Broken([]rules.Rule{
		{If: !r.absent() && !given, Text: "value is missing"},
		{If: r.absent() && given, Text: "state is absent: a value makes no sense"},
		{If: r.Value != "" && oneValue(r.Value) == "", Text: "value is blank"},
		{If: strings.ContainsFunc(strings.ReplaceAll(r.Value, "\t", " "), unicode.IsControl), Text: "value has to be one line"},
		{If: !r.Runtime && !r.Persist && !r.absent(), Text: "runtime and persist are both false: nothing is left to be done"},
		{If: r.absent() && !r.Persist, Text: "state is absent and persist false: nothing is left to be done"},
		{If: r.Path != "" && !strings.HasSuffix(r.Path, ".conf"), Text: "path has to end in .conf: other files are not read at the boot"},
	})...)...)
}

// DropForState takes out the value of a key that is to be absent.
func (r *Res) DropForState() {
	if r.absent() {
		r.Value = ""
	}
}

// checkKey refuses a name that can't be the path of a parameter, or that sysctl(8) would read otherwise
// than this package: it takes a dash in front for "errors do not matter", and some of the
// characters for a pattern or a comment.
func checkKey(key string) error {
	for part := range strings.SplitSeq(key, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return fmt.Errorf("key: %q is no name of a parameter", key)
		case strings.ContainsFunc(part, func(c rune) bool { return c <= ' ' || c > '~' }) || strings.ContainsAny(part, "=#;*?[]\\\"'"):
			return fmt.Errorf("key: %q has a character in it that no parameter has", key)
		}
	}
	if strings.HasPrefix(key, "-") {
		return fmt.Errorf("key: %q begins with a dash", key)
	}
	if len(key) > files.MaxPath/2 || !strings.Contains(key, "/") {
		return fmt.Errorf("key: %.100q has to have two parts or more", key)
	}
	return nil
}

// line returns the line that the file shall have; empty for none.
func (r *Res) line() string {
	switch {
	case r.undo != nil:
		return r.undo.line
	case r.absent():
		return ""
	}
	return swapSeparators(r.key()) + " = " + oneValue(r.Value)
}

// valueOf returns the value in a line.
func valueOf(line string) string {
	_, value, _ := strings.Cut(line, "=")
	return oneValue(value)
}

// edit returns the edit of the file's text.
func (r *Res) edit() *textlines.Edit {
	key := r.key()
	// A line of another program may have either notation, and a dash in front of it.
	dotted := swapSeparators(key)
	line := r.line()
	return &textlines.Edit{
		Absent: line == "",
		Lines:  []string{line},
		Match:  regexp.MustCompile(`^\s*-?\s*(?:` + regexp.QuoteMeta(key) + `|` + regexp.QuoteMeta(dotted) + `)\s*=`),
	}
}

// saved returns the line in a text of a file that gives the value, the last one; empty
// for none.
func (r *Res) saved(text string) string {
	e := r.edit()
	e.Lines = nil
	found, ok, _ := e.Find(text) // only blocks give errors
	if !ok {
		return ""
	}
	return found[0]
}

// Init keeps the handle, and tells the files of the graph which one is managed.
func (r *Res) Init(init *engine.Init) error {
	r.init, r.seen = init, &seen{}
	managed := ""
	if r.Persist && r.line() != "" {
		managed = r.filePath()
	}
	r.Manage(init, managed)
	return nil
}

// Watch waits for changes of the file, and looks at the running value every now and
// then.
func (r *Res) Watch(ctx context.Context) error {
	var kept <-chan struct{}
	if r.Persist {
		sub, err := r.init.Host.Watch(ctx, []string{r.filePath()}, events.Options{})
		if err != nil {
			return err
		}
		defer sub.Close()
		kept = sub.C()
	}
	var look <-chan time.Time
	if r.runs() {
		// Ten seconds are short for a person and cost nothing that can be measured: a look is one
		// read of /proc.
		every := r.poll
		if every == 0 {
			every = poll
		}
		tick := clock.NewTicker(engine.ClockOf(r.init.Host), every)
		defer tick.Stop()
		look = tick.C
		r.look()
	}
	r.init.Running()
	for {
		select {
		case <-kept:
			r.init.Event()
		case <-look:
			if r.look() {
				r.init.Event()
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// look reports whether the running value is another one than it was when it was looked
// at last, by whomever.
func (r *Res) look() bool {
	value, _, err := r.running()
	if err != nil {
		// The text of an error stands for a value: each other error is a change, and the same one
		// is none.
		value = err.Error()
	}
	return r.seen.set(value)
}

// CheckApply makes the running value right, and then the file.
func (r *Res) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	// Both differences are found before anything is altered, so that a plan and a run tell the
	// same.
	now, err := r.runningChange()
	if err != nil {
		return false, err
	}
	var t textfile.File
	at := ""
	// A path that leads to no plain file is refused here, before the kernel gets the value.
	if r.Persist {
		if t, err = textfile.By(safepath.Of(r.init.Host), r.filePath(), 0o644); err != nil {
			return false, err
		}
		at = t.Real
	}
	if apply && r.Persist {
		// Another resource of the graph may write this file: a kind line, or another parameter.
		defer files.Of(r.init).Lock(at)()
	}
	then, err := r.savedChange(t)
	if err != nil {
		return false, err
	}
	for _, c := range []*engine.Change{now, then} {
		if c != nil {
			r.init.Change(*c)
		}
	}
	switch {
	case now == nil && then == nil:
		return true, nil
	case !apply && then != nil:
		return false, files.ParentOf(r.init, at)
	case !apply:
		return false, nil
	}
	if now != nil {
		if err := r.set(); err != nil {
			return false, err
		}
	}
	if then == nil {
		return false, nil
	}
	err = t.Edit(r.keep)
	files.Of(r.init).WroteAt(at, r.init)
	return false, files.ExplainParent(r.init, at, err)
}

// keep makes the text of the file right.
func (r *Res) keep(old string) (string, error) {
	is, line := r.saved(old), r.line()
	// A line that says the same in other words is left as it is: its author may have aligned it.
	if is != "" && line != "" && valueOf(is) == valueOf(line) {
		return old, nil
	}
	got, err := r.edit().Apply(old)
	return got.Text, err
}

// savedChange says what the file does not have as it should.
func (r *Res) savedChange(t textfile.File) (*engine.Change, error) {
	if !r.Persist {
		return nil, nil
	}
	text, st, err := t.Read()
	if err != nil {
		return nil, err
	}
	c := &engine.Change{Field: "persist"}
	if is := r.saved(text); is != "" {
		c.From = valueOf(is)
	}
	if line := r.line(); line != "" {
		c.To = valueOf(line)
	}
	if c.From == c.To {
		return nil, nil
	}
	switch {
	case received.Tainted(r.init, "value", "Value"):
		c.From, c.To = confined.Hide(c.From), confined.Hide(c.To)
	// A file that only root can read may have secrets in it, such as a key of a network.
	case confined.ShutsFile(st):
		*c = shown(*c)
	}
	return c, nil
}

// runningChange says that the running value is not the wanted one.
func (r *Res) runningChange() (*engine.Change, error) {
	if !r.runs() {
		return nil, nil
	}
	is, closed, err := r.running()
	switch {
	case files.IsMissing(err) && r.IgnoreMissing:
		return nil, nil
	case files.IsMissing(err):
		return nil, fmt.Errorf("the kernel has no parameter %s (ignore_missing: true allows that)", swapSeparators(r.key()))
	case err != nil:
		return nil, err
	}
	r.seen.set(is)
	if is == oneValue(r.Value) {
		return nil, nil
	}
	c := engine.Change{Field: "value", From: is, To: oneValue(r.Value)}
	if closed {
		c = shown(c)
	}
	return &c, nil
}

// RootedPart returns the one that keeps the value in the file alone.
func (r *Res) RootedPart() (part engine.Res, writes, fields []string) {
	if !r.Persist {
		return nil, nil, nil
	}
	file := r.like(r.Name())
	file.Key, file.State, file.Value, file.Persist, file.Path, file.undo = r.Key, r.State, r.Value, true, r.Path, r.undo
	return file, []string{r.filePath()}, []string{"persist"}
}

// Cmp compares the parameters.
func (r *Res) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }

// Leaving reports whether the parameter is to be taken out of its file.
func (r *Res) Leaving() bool { return r.absent() }

// UIDs names the parameter, and the file that it is in.
// The key has dots between its parts, as people write it. Two resources that write one parameter in different notations have the
// same UID, so Clashes is asked about them.
func (r *Res) UIDs() []autoedge.UID {
	uids := []autoedge.UID{&autoedge.KeyUID{BaseUID: autoedge.UIDOf(r), Space: "sysctl", Key: swapSeparators(r.key())}}
	if r.Persist {
		uids = append(uids, traits.FileUID(autoedge.UIDOf(r), path.Clean(r.filePath())))
	}
	return uids
}

// AutoEdges wants the file of that name, and the nearest managed folder above it.
func (r *Res) AutoEdges() (autoedge.Needs, error) {
	w := edges.New(r)
	if r.Persist {
		w.Ask = append(w.Ask, autoedge.NameUIDOf(r, "file", r.filePath()))
		w.Above(r.filePath())
	}
	return w, nil
}

// Clashes says that another one wants another value, or that another kind writes the
// file.
func (r *Res) Clashes(other engine.Res) error {
	o, ok := other.(*Res)
	switch {
	case !ok:
		return files.Clash(r, other)
	case r.key() != o.key() || r.Recv()["value"] != nil || o.Recv()["value"] != nil:
		return nil
	// Two files may differ: one file may have the parameter, and another one may lack it.
	case r.absent() != o.absent() && r.filePath() == o.filePath():
		return errors.New("one wants it in the file, the other one wants it gone")
	// There is one running kernel, so two values differ in whatever file they stand.
	case !r.absent() && !o.absent() && oneValue(r.Value) != oneValue(o.Value):
		return errors.New("they want different values")
	}
	return nil
}

// WritesPart says that this kind writes a part of a file, and leaves the rest to others; see
// files.Clash.
func (*Res) WritesPart() {}
