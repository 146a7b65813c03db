package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
)

// toy keeps one file with one content, and a token in a second one. With a bug,
// it breaks one law.
type toy struct {
	traits.Base
	traits.Refreshable
	traits.Sendable
	traits.Recvable
	traits.Edgeable
	traits.Groupable
	traits.Overlapping

	Path    string            `yaml:"path" doc:"The file."`
	Content string            `yaml:"content" doc:"What is in it."`
	Token   schema.Secret     `yaml:"token" doc:"What is in the file beside it."`
	Tags    []string          `yaml:"tags" doc:"Words that mean nothing."`
	Env     map[string]string `yaml:"env" mgmt:"param" doc:"Values that mean nothing."`
	Bad     string            `yaml:"bad" mgmt:"param"`

	bug   bug
	init  *engine.Init
	calls int
	free  chan struct{} // closed at the end of a test: ends what a bug does not
	held  *[]*os.File   // closed at the end of a test
}

type bug string

type toySends struct {
	Path string `yaml:"path"`
}

var sharedTags = []string{"x"}

func (r *toy) Default() engine.Res {
	d := &toy{bug: r.bug, Content: "default"}
	switch r.bug {
	case "default aliases":
		d.Tags = sharedTags
	case "default itself":
		return r
	}
	return d
}

func (r *toy) Validate() error {
	if r.bug == "validate alters" {
		r.calls++
	}
	if r.bug == "validate shows secrets" && r.Token.Reveal() != "t0" {
		return fmt.Errorf("bad token %s", r.Token.Reveal())
	}
	if r.bug == "validate panics" {
		_ = r.Tags[0]
	}
	if r.Path == "" {
		return errors.New("path is empty")
	}
	return nil
}

func (r *toy) Init(init *engine.Init) error {
	r.init = init
	switch r.bug {
	case "init hangs":
		<-r.free
	case "init alters a parameter":
		r.Path = filepath.Clean(r.Path+"/.") + "/"
	case "init alters":
		return os.WriteFile(r.Path, nil, 0o600)
	case "init uses vardir":
		dir, err := init.VarDir("")
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "owner"), fmt.Appendf(nil, "%p", r), 0o600)
	}
	return nil
}

func (r *toy) Cleanup() error {
	if s, ok := r.init.Shared.(*toyShared); ok && r.bug == "cleanup ends the shared thing" {
		s.ended = true
	}
	switch r.bug {
	case "cleanup alters":
		return os.WriteFile(r.Path, nil, 0o600)
	case "cleanup alters a parameter":
		r.Content += "!"
	case "cleanup hangs":
		<-r.free
	case "cleanup fails":
		return errors.New("no")
	}
	return nil
}

func (r *toy) Cmp(o engine.Res) error {
	switch r.bug {
	case "cmp alters":
		r.calls++
	case "cmp panics":
		_ = o.(*toy)
	case "cmp always equal":
		return nil
	case "cmp one-sided":
		if t, ok := o.(*toy); ok && len(r.Content) > len(t.Content) {
			return nil
		}
	case "cmp forgets a field":
		if t, ok := o.(*toy); ok {
			c := *t
			c.Env = r.Env
			o = &c
		}
	}
	return engine.CmpFields(r, o)
}

func (r *toy) Watch(ctx context.Context) error {
	switch r.bug {
	case "watch never runs":
		<-ctx.Done()
		return nil
	case "watch returns":
		r.init.Running()
		return nil
	case "watch runs late":
		r.init.Running()
	case "watch event first":
		r.init.Event()
	case "watch leaks a file":
		if f, err := os.Open("/dev/null"); err == nil {
			*r.held = append(*r.held, f)
		}
	case "watch panics":
		panic("watch")
	case "watch only once":
		if r.calls++; r.calls > 1 {
			return errors.New("watched already")
		}
	}
	base := ctx
	if r.bug == "watch leaks" {
		base = context.WithoutCancel(ctx)
	}
	paths := []string{r.Path, r.tokenPath()}
	if r.bug == "watch half" {
		paths = paths[:1]
	}
	s, err := r.init.Host.Watch(base, paths, events.Options{})
	if err != nil {
		return err
	}
	if r.bug != "watch leaks" {
		defer s.Close()
	}
	if r.bug == "watch runs late" {
		select {
		case <-s.C():
		default:
		}
	}
	r.init.Running()
	if r.bug == "watch runs twice" {
		r.init.Running()
	}
	if r.bug == "watch leaks goroutines" {
		go func() { <-r.free }()
	}
	return r.loop(ctx, s)
}

func (r *toy) loop(ctx context.Context, s events.Subscription) error {
	flood := time.NewTicker(time.Millisecond)
	defer flood.Stop()
	floods := r.bug == "watch floods"
	for {
		select {
		case <-flood.C:
			if floods {
				r.init.Event()
			}
		case <-s.C():
			floods = floods || r.bug == "watch floods after a drift"
			r.init.Event()
			if r.bug == "watch sees one" {
				<-ctx.Done()
			}
		case <-ctx.Done():
			switch r.bug {
			case "watch ends with an error":
				return errors.New("stopped")
			case "watch never ends":
				<-r.free
			}
			return nil
		}
	}
}

func (r *toy) tokenPath() string { return r.Path + ".token" }

func (r *toy) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if done, ok, err := r.strange(ctx, apply); done {
		return ok, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if s, ok := r.init.Shared.(*toyShared); !ok || !s.begun {
		return false, errors.New("called outside of Begin and End")
	}
	if s := r.init.Shared.(*toyShared); s.ended {
		return false, errors.New("the shared thing has ended")
	}
	r.calls++
	if apply && r.bug == "check alters a parameter" {
		r.Tags = nil
	}
	if r.bug == "shows secrets in logs" {
		r.init.Logf("token %s", r.Token.Reveal())
	}
	if s := r.init.Recv()["content"]; r.bug == "shows received" && s != nil {
		r.init.Logf("content %s", r.Content)
	}
	if r.bug != "sends at first only" || r.calls == 1 {
		if err := r.send(); err != nil {
			return false, err
		}
	}
	ok := true
	for _, f := range r.wanted() {
		same, err := r.check(f)
		if err != nil {
			return false, err
		}
		ok = ok && same
	}
	if r.init.Refresh() {
		if r.bug != "refresh unreported" {
			r.init.Change(engine.Change{Verb: engine.Refreshed})
		}
		ok = false
	}
	if !apply && r.bug == "told noop writes" && r.init.Noop {
		return ok, r.write(ctx)
	}
	if !apply && r.bug != "noop writes" && (r.bug != "noop refreshes" || !r.init.Refresh()) || ok && r.bug != "writes always" {
		return ok, nil
	}
	return ok, r.write(ctx)
}

// strange answers for the bugs that are about the answer alone.
func (r *toy) strange(ctx context.Context, apply bool) (done, ok bool, err error) {
	switch r.bug {
	case "check hangs":
		<-r.free
	case "check panics":
		panic("check")
	case "true with an error":
		return true, true, errors.New("hm")
	case "false without change":
		return true, false, nil
	case "true with change":
		r.init.Change(engine.Change{Verb: engine.Created})
		return true, true, nil
	case "never applies":
		r.init.Change(engine.Change{Verb: engine.Created})
		return true, false, nil
	case "hangs when cancelled":
		if ctx.Err() != nil {
			<-r.free
			return true, false, ctx.Err()
		}
	case "half-written when cancelled":
		if ctx.Err() != nil {
			return true, false, errors.Join(ctx.Err(), os.WriteFile(r.Path, []byte(r.Content[:1]), 0o600))
		}
	case "noop makes vardir":
		return r.inVarDir(apply)
	}
	return false, false, nil
}

func (r *toy) inVarDir(bool) (done, ok bool, err error) {
	dir, err := r.init.VarDir("")
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	return err != nil, false, err
}

func (r *toy) send() error {
	if r.bug == "sends another type" {
		return r.init.Send(struct{ Other int }{1})
	}
	return r.init.Send(toySends{r.Path})
}

type part struct {
	field, path string
	text        []byte
	secret      bool
}

func (r *toy) wanted() []part {
	return []part{{"content", r.Path, []byte(r.Content), false}, {"token", r.tokenPath(), []byte(r.Token.Reveal()), true}}
}

func (r *toy) check(p part) (bool, error) {
	is, err := os.ReadFile(p.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err == nil && bytes.Equal(is, p.text) || p.secret && r.calls > 1 && r.bug == "ignores the token" {
		return true, nil
	}
	var from, to any = nil, string(p.text)
	if err == nil {
		from = string(is)
	}
	if p.secret && r.bug != "shows secrets in changes" {
		from, to = schema.NewSecret(string(is)), r.Token
	}
	if p.field = r.misreport(p); p.field == "" {
		return true, nil
	}
	r.init.Change(engine.Change{Field: p.field, From: from, To: to})
	if r.bug == "changes after the fact" {
		return false, os.WriteFile(p.path, p.text, 0o600)
	}
	if r.bug == "reports twice" {
		r.init.Change(engine.Change{Field: p.field, From: from, To: to})
	}
	return false, nil
}

// misreport returns the field to report a change of.
func (r *toy) misreport(p part) string {
	switch {
	case r.bug == "reports another field":
		return "nonsense"
	case r.bug == "reports a stranger's field":
		return "stranger[x].text"
	case r.bug == "reports at random" && r.calls%2 == 0:
		return "path"
	}
	return p.field
}

func (r *toy) write(ctx context.Context) error {
	for _, p := range r.wanted() {
		if p.field == "token" && r.bug == "applies in two runs" && r.calls%2 == 1 {
			return nil
		}
		if err := os.WriteFile(p.path, p.text, 0o600); err != nil {
			return err
		}
	}
	if r.bug == "fails to write" {
		return errors.New("no space")
	}
	return nil
}

func (r *toy) Read(context.Context) (engine.Res, error) {
	got := &toy{bug: r.bug, Path: r.Path}
	got.SetKind(r.Kind())
	got.SetName(r.Name())
	content, err := os.ReadFile(r.Path)
	if errors.Is(err, fs.ErrNotExist) && r.bug != "read of nothing fails" {
		return nil, nil
	}
	token, terr := os.ReadFile(r.tokenPath())
	if err := errors.Join(err, terr); err != nil {
		return nil, err
	}
	got.Content, got.Token, got.Tags = string(content), schema.NewSecret(string(token)), r.Tags
	switch r.bug {
	case "read forgets":
		got.Content = ""
	case "read names another":
		got.SetName("another")
	case "read writes":
		return got, os.WriteFile(r.Path, content, 0o600)
	}
	return got, nil
}

func (r *toy) Sends() any { return toySends{} }

type toyUID struct {
	name string
	n    int
}

func (u toyUID) String() string          { return fmt.Sprint(u.name, u.n) }
func (u toyUID) GetName() string         { return u.name }
func (u toyUID) GetKind() string         { return "toy" }
func (u toyUID) IsReversed() bool        { return false }
func (u toyUID) IFF(o autoedge.UID) bool { return u.name != "" && u == o }

func (r *toy) UIDs() []autoedge.UID {
	u := toyUID{name: r.Path}
	switch r.bug {
	case "uids alter":
		r.calls++
	case "uids unstable":
		r.init = nil
		u.n = int(uidCalls)
		uidCalls++
	case "uids match nothing":
		u.name = ""
	}
	return []autoedge.UID{u}
}

var uidCalls int64

func (r *toy) AutoEdges() (autoedge.Needs, error) {
	return &toyEdges{endless: r.bug == "edges endless"}, nil
}

type toyEdges struct{ endless, asked bool }

func (e *toyEdges) Next() []autoedge.UID {
	if e.asked && !e.endless {
		return nil
	}
	e.asked = true
	return []autoedge.UID{toyUID{name: "/"}}
}

func (e *toyEdges) Test([]bool) bool { return true }
