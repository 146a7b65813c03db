package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// bug is what is wrong with a toy: it breaks one law.
type bug string

// note is what is in the file of a thing.
type note struct {
	A, Secret string
	N         *int64 `json:",omitempty"`
	Born      int64
}

// toy keeps notes, each in a file of its name.
type toy struct {
	bug    bug
	dir    string
	closed int
	cache  map[string]note
	sets   int
}

const features = provider.Canonicalize | provider.SimpleGetFilter | provider.NoopHandler | provider.Refreshable

func definition(f provider.Features) provider.Definition {
	return provider.Definition{
		Name: "note", Doc: "A note.", Features: f,
		Attributes: []provider.Attribute{
			{Name: "ensure", Type: "Enum[present, absent]", Doc: "Whether.", Default: "present", HasDefault: true},
			{Name: "name", Type: "Pattern[/\\A[A-Za-z]+\\z/]", Doc: "Its name.", Role: provider.Namevar},
			{Name: "a", Type: "Optional[String]", Doc: "Some text."},
			{Name: "n", Type: "Optional[Integer]", Doc: "Some number."},
			{Name: "secret", Type: "Optional[String]", Doc: "A secret.", Sensitive: true},
			{Name: "born", Type: "Optional[Integer]", Doc: "Since when.", Role: provider.ReadOnly},
		},
	}
}

func (p *toy) path(name string) string { return filepath.Join(p.dir, name+".note") }

func (p *toy) read(name string) (note, error) {
	if n, ok := p.cache[name]; ok {
		return n, nil
	}
	var n note
	data, err := os.ReadFile(p.path(name))
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	return n, err
}

func (p *toy) record(name string) (provider.Record, error) {
	n, err := p.read(name)
	if err != nil {
		return nil, err
	}
	r := provider.Record{"ensure": "present", "name": name, "a": n.A, "secret": n.Secret, "born": n.Born}
	if n.N != nil {
		r["n"] = *n.N
	}
	switch p.bug {
	case "wrong type":
		r["n"] = "one"
	case "unknown attribute":
		r["mood"] = "good"
	case "no name":
		delete(r, "name")
	case "not canonical":
		r["name"] = strings.ToUpper(name)
	case "random":
		r["born"] = time.Now().UnixNano()
	case "forgets a":
		delete(r, "a")
	}
	return r, nil
}

func (p *toy) Get(ctx context.Context, rt *provider.Runtime, f provider.Filter) iter.Seq2[provider.Record, error] {
	if p.bug == "get hangs" && ctx.Err() != nil {
		time.Sleep(400 * time.Millisecond)
	}
	return func(yield func(provider.Record, error) bool) {
		files, err := os.ReadDir(p.dir)
		if err != nil {
			yield(nil, err)
			return
		}
		if p.bug == "get writes" {
			_ = os.WriteFile(filepath.Join(p.dir, "log"), []byte(time.Now().String()), 0o600)
		}
		if p.bug == "filter is altered" && len(f.Names) > 0 {
			f.Names[0] = provider.NameOf("z")
		}
		if p.bug == "absent is an error" && !f.All && len(files) == 0 {
			yield(nil, errors.New("no such note"))
			return
		}
		for name := range p.cache {
			if r, err := p.record(name); !yield(r, err) {
				return
			}
		}
		for _, file := range files {
			name, isNote := strings.CutSuffix(file.Name(), ".note")
			if !isNote || p.bug != "filter finds no second" && !f.Has(provider.NameOf(name)) {
				continue
			}
			if p.bug == "filter finds no second" && !f.All && (len(f.Names) == 0 || f.Names[0] != provider.NameOf(name)) {
				continue
			}
			r, err := p.record(name)
			if p.bug == "filter says less" && !f.All && err == nil {
				r["born"] = int64(0)
			}
			if p.bug == "twice" {
				yield(r, err)
			}
			if !yield(r, err) && p.bug != "does not stop" {
				return
			}
		}
	}
}

func (p *toy) Set(ctx context.Context, rt *provider.Runtime, changes []provider.Change) error {
	if p.bug == "set hangs" && ctx.Err() != nil {
		time.Sleep(400 * time.Millisecond)
	}
	if err := ctx.Err(); err != nil {
		if p.bug == "success when cancelled" {
			return nil
		}
		return err
	}
	if s := secret(changes[0].Should); p.bug == "says the secret" && s != "" {
		return errors.New("I can't set " + s)
	}
	for i, c := range changes {
		if err := p.change(rt, c); err != nil {
			if p.bug == "all fail" {
				return nil
			}
			rt.Log.Failed(c.Title, err.Error())
			if p.bug == "stops at the first" {
				for _, rest := range changes[i+1:] {
					rt.Log.Processed(rest.Title, nil, rest.Should)
				}
				return nil
			}
		}
	}
	switch p.bug {
	case "alters its input":
		changes[0].Should["a"] = "x"
	case "logs of others":
		rt.Log.Updated("stranger")
	case "set fails":
		return errors.New("no")
	}
	return nil
}

func (p *toy) change(rt *provider.Runtime, c provider.Change) error {
	name := c.Name.String()
	gone := c.Should["ensure"] == "absent"
	p.sets++
	switch {
	case p.bug == "believes what is unknown" && c.Is.Presence == provider.Unknown:
		return errors.New("what is it?")
	case p.bug == "sets the first" && p.sets > 1:
		return nil
	case p.bug == "runs the secret":
		_, _ = rt.Host.Command(context.Background(), engine.Command{Argv: []string{"note", secret(c.Should)}})
	case c.Should["a"] == "bad" && !gone:
		if p.bug == "half" {
			_ = os.WriteFile(filepath.Join(p.dir, "junk"), nil, 0o600)
		}
		if p.bug == "takes the invalid" {
			return nil
		}
		return errors.New("a is bad")
	}
	if rt.Noop && p.bug != "noop writes" {
		if p.bug == "noop fails" {
			return errors.New("not now")
		}
		rt.Log.Notice("would write it", provider.Of(c.Title))
		return nil
	}
	if gone {
		err := os.Remove(p.path(name))
		switch {
		case p.bug == "does not delete":
			return os.WriteFile(p.path(name), []byte("{}"), 0o600)
		case p.bug == "deletes all":
			files, _ := filepath.Glob(p.path("*"))
			for _, f := range files {
				_ = os.Remove(f)
			}
		case errors.Is(err, os.ErrNotExist) && p.bug != "deletes once":
			return nil
		case p.bug == "calls it created":
			rt.Log.Created(c.Title)
		}
		return err
	}
	n, err := p.read(name)
	if err != nil {
		n.Born = time.Now().UnixNano()
	}
	if a, ok := c.Should["a"].(string); ok && p.bug != "never updates" {
		n.A = a
	}
	if v, ok := c.Should["n"].(int64); ok && (err != nil || p.bug != "n stays") {
		n.N = &v
	}
	if s := secret(c.Should); s != "" {
		n.Secret = s
	}
	switch p.bug {
	case "forgets to write":
		return nil
	case "writes when closed":
		p.cache[name] = n
		return nil
	}
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return replace(p.path(name), data)
}

// replace writes a file at once: a poll may read it at any time.
func replace(path string, data []byte) error {
	return errors.Join(os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path))
}

func secret(r provider.Record) string {
	s, _ := r["secret"].(schema.Secret)
	return s.Reveal()
}

func (p *toy) Canonicalize(_ context.Context, _ *provider.Runtime, records []provider.Record) ([]provider.Record, error) {
	for i, r := range records {
		name, _ := r["name"].(string)
		r["name"] = strings.ToLower(name)
		switch p.bug {
		case "never canonical":
			r["name"] = name + "x"
		case "canonical by place":
			r["a"] = fmt.Sprint(i)
		case "canonicalize writes":
			_ = os.WriteFile(filepath.Join(p.dir, "junk"), []byte(time.Now().String()), 0o600)
		case "canonicalize reverses":
			records[i], records[len(records)-1] = records[len(records)-1], records[i]
		}
	}
	return records, nil
}

func (p *toy) Refresh(_ context.Context, rt *provider.Runtime, changes []provider.Change) error {
	switch p.bug {
	case "refresh fails":
		return errors.New("no")
	case "refresh removes":
		return os.Remove(p.path(changes[0].Name.String()))
	}
	return nil
}

func (p *toy) Watch(ctx context.Context, rt *provider.Runtime, armed func(), changed func(...provider.Name)) error {
	if p.bug == "never armed" {
		<-ctx.Done()
		return nil
	}
	sub, err := rt.Host.Watch(ctx, []string{p.dir}, events.Options{Recurse: true, Contents: true})
	if err != nil {
		return err
	}
	defer sub.Close()
	armed()
	switch p.bug {
	case "armed twice":
		armed()
	case "watch ends":
		return nil
	case "watch hangs":
		<-ctx.Done()
		time.Sleep(400 * time.Millisecond)
		return nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-sub.C():
			switch p.bug {
			case "watch is deaf":
			case "watch names another":
				changed(provider.NameOf("another"))
			default:
				changed()
			}
		}
	}
}

// Close implements provider.Closer.
func (p *toy) Close() error {
	for name, n := range p.cache {
		data, err := json.Marshal(n)
		if err == nil {
			err = os.WriteFile(p.path(name), data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	if p.closed++; p.closed > 1 && p.bug == "closes once" {
		return errors.New("closed already")
	}
	return nil
}

// stamping is a toy with a stamp.
type stamping struct{ *toy }

func (p stamping) Stamp(context.Context, *provider.Runtime) (string, error) {
	files, err := filepath.Glob(p.path("*"))
	var b strings.Builder
	for _, f := range files {
		data, _ := os.ReadFile(f)
		fmt.Fprintf(&b, "%s %s\n", f, data)
	}
	switch p.bug {
	case "stamp is always the same":
		return "", nil
	case "stamp is always new":
		return time.Now().String(), nil
	}
	return b.String(), err
}

// polled is a toy without anything that may be left out.
type polled struct{ toy *toy }

func (p polled) Get(ctx context.Context, rt *provider.Runtime, f provider.Filter) iter.Seq2[provider.Record, error] {
	return p.toy.Get(ctx, rt, f)
}

func (p polled) Set(ctx context.Context, rt *provider.Runtime, changes []provider.Change) error {
	return p.toy.Set(ctx, rt, changes)
}

// finding is a toy whose things can't be listed.
type finding struct{ *toy }

func (p finding) Find(_ context.Context, _ *provider.Runtime, n provider.Name) (provider.Record, bool, error) {
	r, err := p.record(n.String())
	if errors.Is(err, os.ErrNotExist) {
		if p.bug == "finds everything" {
			return provider.Record{"ensure": "absent", "name": "z"}, true, nil
		}
		if p.bug == "finds the absent" {
			return provider.Record{"ensure": "present", "name": n.String(), "a": "nothing"}, true, nil
		}
		return nil, false, nil
	}
	if p.bug == "finds nothing" {
		return nil, false, nil
	}
	return r, err == nil, err
}

// toySuite is the suite of a toy.
func toySuite(b bug, wrap func(*toy) provider.Provider, f provider.Features) Suite {
	return Suite{
		Definition: definition(f),
		New: func(_ *testing.T, dir string) func() provider.Provider {
			return func() provider.Provider { return wrap(&toy{bug: b, dir: dir, cache: map[string]note{}}) }
		},
		Thing: func(string) Thing {
			return Thing{"Milk", Values{"a": "two bottles", "n": 2, "secret": schema.NewSecret("hush-hush")}}
		},
		Others: func(string) []Thing {
			return []Thing{{"bread", Values{"a": "one"}}, {"honey", Values{"a": "some", "n": 5}}}
		},
		Updates: map[string]Values{"less": {"a": "one bottle"}, "more": {"n": 3, "secret": schema.NewSecret("hush-again")}},
		Invalid: map[string]Values{"bad": {"a": "bad"}, "type": {"name": "no digits 1"}},
		Drifts: map[string]func(t *testing.T, dir string){
			"deleted": func(t *testing.T, dir string) {
				if err := os.Remove(dir + "/milk.note"); err != nil {
					t.Error(err)
				}
			},
			"other": func(t *testing.T, dir string) {
				if err := replace(dir+"/milk.note", []byte(`{"A":"none"}`)); err != nil {
					t.Error(err)
				}
			},
		},
	}
}

func plain(p *toy) provider.Provider { return p }
