package plugin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/sorted"
	"github.com/reactivegraph/mgmt/provider/protocol"
	"github.com/reactivegraph/mgmt/traits"
)

// res is a resource of a kind that a provider serves. It has the methods of all abilities that such a kind may have, and its
// Abilities say which of them the kind has.
type res struct {
	traits.Base
	traits.Recvable
	traits.Refreshable
	traits.Overlapping

	kind   *Kind
	params any // a pointer to the parameters, of the Go type kind.params.Go

	init *engine.Init
	ses  *session
	own  bool // the session is this resource's alone

	mu    sync.Mutex
	rec   *record       // nil before the first run
	dir   string        // of the record; set with it
	moved chan struct{} // of capacity 1: the thing has another id, so Watch asks anew
}

var (
	_ engine.StatingRes     = (*res)(nil)
	_ engine.RecvableRes    = (*res)(nil)
	_ engine.RefreshableRes = (*res)(nil)
	_ engine.SendableRes    = (*res)(nil)
	_ engine.SharedRes      = (*res)(nil)
	_ engine.Readable       = (*res)(nil)
	_ engine.Listable       = (*res)(nil)
	_ engine.ReversibleRes  = (*res)(nil)
	_ engine.OverlappingRes = (*res)(nil)
	_ engine.DescribedRes   = (*res)(nil)
	_ schema.Typed          = (*res)(nil)
)

// Abilities follow from the schema of the kind.
func (r *res) Abilities() engine.Abilities { return r.kind.abilities() }

// Params makes it a schema.Typed.
func (r *res) Params() (*schema.Type, any) { return r.kind.params, r.params }

// Doc returns the text of the schema, and the name of the provider.
func (r *res) Doc() string {
	return fmt.Sprintf("%s\n\nThe provider `%s` (version %s) serves this kind.", r.kind.params.Doc, r.kind.plugin.Name, r.kind.plugin.Version())
}

// Default returns a resource with the defaults of the schema.
func (r *res) Default() engine.Res { return r.kind.New() }

// Validate has nothing to add: the schema was checked while the resource was decoded, and the provider is asked when it runs.
func (r *res) Validate() error { return nil }

// Init joins the session of the provider.
func (r *res) Init(init *engine.Init) error {
	r.init, r.moved = init, make(chan struct{}, 1)
	ses, ok := init.Shared.(*session)
	if !ok {
		ses, r.own = r.kind.plugin.open(init.Host, false), true
	}
	r.ses = ses
	ses.join(init.Log)
	return nil
}

// Cleanup leaves the session. It alters nothing outside.
func (r *res) Cleanup() error {
	if r.own {
		return r.ses.Close()
	}
	return nil
}

// Shared is the process of the provider.
func (r *res) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	p := r.kind.plugin
	return p.key(), func(_ context.Context, h engine.Host) (engine.Shared, error) { return p.open(h, true), nil }
}

// Cmp compares the parameters, and the provider.
func (r *res) Cmp(o engine.Res) error {
	other, ok := o.(*res)
	if !ok || other.kind != r.kind {
		return fmt.Errorf("not a %s of this provider, or one of another version", r.kind.name)
	}
	return engine.CmpFields(r, other)
}

// Sends returns the properties and the id.
func (r *res) Sends() any { return r.kind.unsent() }

func (k *Kind) unsent() schema.Data { return k.sends.New() }

// Watch has the provider tell of changes, or looks now and then.
func (r *res) Watch(ctx context.Context) error {
	ear, deaf := r.ses.listen()
	defer deaf()
	if r.kind.Watch {
		return r.follow(ctx, ear)
	}
	r.init.Running()
	every := clock.NewTicker(r.ses.clock, r.kind.plugin.Poll)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ear:
		case <-ctx.Done():
			return nil
		}
		r.init.Event()
	}
}

// follow keeps one watch of the provider open. Where the process ended, changes may have been missed, so there is an event.
func (r *res) follow(ctx context.Context, ear <-chan struct{}) error {
	for {
		conn, err := r.ses.get(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil { // it is broken: CheckApply says so
			r.init.Running()
			r.init.Event()
			select {
			case <-ear:
				continue
			case <-ctx.Done():
				return nil
			}
		}
		if err := r.stream(ctx, conn); ctx.Err() != nil {
			return nil
		} else if err != nil && !isGone(err) {
			return r.ses.named(protocol.MethodWatch, err)
		} else if err == nil { // the provider has ended the watch, and lives on
			if !r.rest(ctx) {
				return nil
			}
			continue
		}
		if err := r.ses.gone(ctx, conn); err != nil {
			return nil
		}
	}
}

// rewatchPause is the time until a watch is opened anew that the provider has ended without an error.
const rewatchPause = time.Second

// rest waits before the next watch. Changes are missed meanwhile, but the next watch begins with an event. It reports whether ctx
// goes on.
func (r *res) rest(ctx context.Context) bool {
	t := clock.NewTimer(r.ses.clock, rewatchPause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// stream is one watch, until it ends. It begins anew where the thing has another id: the provider may watch by that.
func (r *res) stream(ctx context.Context, conn Conn) error {
	for {
		err := r.streamOnce(ctx, conn)
		if !errors.Is(err, errMoved) {
			return err
		}
	}
}

var errMoved = errors.New("the thing has another id")

// streamOnce watches the thing until ctx ends, the provider ends the stream, or the thing has another id (errMoved). The end of the
// stream ends the goroutine, too.
func (r *res) streamOnce(ctx context.Context, conn Conn) error {
	open, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		select {
		case <-r.moved:
			end(errMoved)
		case <-open.Done():
		}
	}()
	props, err := r.inputs()
	if err != nil {
		return err
	}
	return conn.Watch(open, &protocol.WatchRequest{Subject: r.subject(r.known()), Properties: props}, func(kind string) {
		if kind == protocol.EventRunning {
			r.init.Running() // and an event: something may have changed before
		}
		r.init.Event()
	})
}

// known returns a copy of the record, an empty one before the first run.
func (r *res) known() record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rec == nil {
		return record{}
	}
	return *r.rec
}

// subject says which thing a call is about.
func (r *res) subject(rec record) protocol.Subject {
	return protocol.Subject{Token: r.kind.Token, Name: r.Name(), ID: rec.ID, Key: rec.Key, Private: rec.Private}
}

// wanted reports whether the thing is to be there.
func (r *res) wanted() bool {
	v, err := schema.Get(r, r.kind.state)
	return err != nil || v != absent
}

// inputs returns the values of the graph for the provider, with secrets in clear.
func (r *res) inputs() (protocol.Bag, error) {
	given, err := r.given()
	if err != nil {
		return nil, err
	}
	return r.reveal(given), nil
}

// reveal returns inputs for the provider. Their secrets are known before it can say them.
func (r *res) reveal(given map[string]any) protocol.Bag {
	r.ses.hidden.Learn(given, false)
	out := protocol.Bag{}
	for key, v := range given {
		out[key] = reveal(v)
	}
	if _, has := out["name"]; r.kind.Named && !has {
		out["name"] = r.Name()
	}
	return out
}

// given returns the inputs as plain values.
func (r *res) given() (map[string]any, error) {
	all, err := schema.EncodeAll(r)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for key, v := range all.(map[string]any) {
		f := r.kind.params.Field(key)
		if v != nil && key != r.kind.state && f.Role != schema.RoleReadOnly {
			out[key] = v
		}
	}
	return out, nil
}

// reveal returns a plain value as JSON has it: secrets in clear, and text for all that JSON has no notation for.
func reveal(v any) any {
	switch v := v.(type) {
	case schema.Secret:
		return v.Reveal()
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = reveal(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			if e != nil {
				out[key] = reveal(e)
			}
		}
		return out
	case nil, bool, string, int64, uint64, float64:
		return v
	case schema.Size:
		return int64(v)
	}
	return fmt.Sprint(v)
}

// fill puts properties of the provider into a value with their keys. The error says which of them does not fit. A property
// that the schema lacks is an error too, since it would be lost without a word. A property that only t lacks is left out.
func (k *Kind) fill(to any, t *schema.Type, props protocol.Bag) error {
	var errs []error
	for key, v := range props {
		switch f := t.Field(key); {
		case f != nil:
			if err := schema.Set(to, key, v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", key, err))
			}
		case k.params.Field(key) == nil && !(key == "name" && k.Named):
			errs = append(errs, fmt.Errorf("%s: the schema has no such property", key))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	sorted.Func(errs, func(a, b error) int { return compareText(a, b) })
	return fmt.Errorf("the provider %s has returned a wrong %s: %w", k.plugin.Name, k.name, errors.Join(errs...))
}

// send publishes the properties of the thing.
func (r *res) send(id string, props protocol.Bag) error {
	r.learn(props)
	out := r.kind.unsent()
	if err := r.kind.fill(out, r.kind.sends, props); err != nil {
		return err
	}
	if _, has := props[idKey]; !has && id != "" && r.kind.sends.Field(idKey) != nil {
		if err := schema.Set(out, idKey, id); err != nil {
			return err
		}
	}
	return r.init.Send(out)
}

// learn keeps the secrets among the properties of a thing out of the lines of the provider.
func (r *res) learn(props protocol.Bag) {
	for key, v := range props {
		f := r.kind.params.Field(key)
		if f == nil {
			continue
		}
		if n, err := schema.NodeOf(v); err == nil {
			plain, _ := schema.Value(f.Type, n)
			r.ses.hidden.Learn(plain, false)
		}
	}
}

// Read returns the thing as it is.
func (r *res) Read(ctx context.Context) (engine.Res, error) {
	if err := r.remember(); err != nil {
		return nil, err
	}
	rec := r.known()
	props, err := r.inputs()
	if err != nil {
		return nil, err
	}
	var is protocol.GetReply
	if err := r.ses.call(ctx, protocol.MethodGet, &protocol.GetRequest{Subject: r.subject(rec), Properties: props}, &is); err != nil {
		return nil, err
	}
	return r.kind.shown(r.Name(), is.Found, is.Properties)
}

// shown returns a thing as a resource.
func (k *Kind) shown(name string, found bool, props protocol.Bag) (engine.Res, error) {
	out := k.New()
	out.SetKind(k.name)
	out.SetName(name)
	if !found {
		return out, schema.Set(out, k.state, absent)
	}
	return out, k.fill(out, k.params, props)
}

// List returns all things of the kind.
func (r *res) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		page := ""
		for {
			var reply protocol.ListReply
			if err := r.ses.call(ctx, protocol.MethodList, &protocol.ListRequest{Token: r.kind.Token, Page: page}, &reply); err != nil {
				yield(nil, err)
				return
			}
			for _, item := range reply.Items {
				if !yield(r.kind.shown(item.Name, true, item.Properties)) {
					return
				}
			}
			if page = reply.Next; page == "" {
				return
			}
		}
	}
}

// Reversed returns the resource that brings back the earlier properties, of those that this one manages. A thing that was not
// there is to be gone.
func (r *res) Reversed(before engine.Res) (engine.Res, error) {
	undo := r.kind.New()
	undo.SetKind(r.Kind())
	undo.SetName(r.Name())
	all, err := r.given()
	if err != nil {
		return nil, err
	}
	was, there := before.(*res)
	if !there || !was.wanted() {
		for key, v := range all {
			if err := schema.Set(undo, key, v); err != nil {
				return nil, err
			}
		}
		return undo, schema.Set(undo, r.kind.state, absent)
	}
	old, err := was.given()
	if err != nil {
		return nil, err
	}
	for key, v := range old {
		_, managed := all[key]
		if managed || !r.wanted() || r.kind.params.Field(key).Required {
			if err := schema.Set(undo, key, v); err != nil {
				return nil, err
			}
		}
	}
	return undo, nil
}
