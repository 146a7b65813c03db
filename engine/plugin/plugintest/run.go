package plugintest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/wire"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// Options are the choices of Run.
type Options struct {
	Inputs map[string]protocol.Bag // of a type, by its token; made by the schema where there are none
	Wait   time.Duration           // for one answer; 10 s when 0
}

// Finding is one broken rule.
type Finding struct {
	Check string // the name of the rule
	Token string // of the type; empty where it is about the provider
	Fault string
}

// String returns one line.
func (f Finding) String() string {
	if f.Token == "" {
		return f.Check + ": " + f.Fault
	}
	return f.Check + ": " + f.Token + ": " + f.Fault
}

// Run starts a provider, checks it, and ends it. The error says why it could not be started; findings are the broken rules.
func Run(ctx context.Context, p *plugin.Plugin, h engine.Host, o Options) ([]Finding, error) {
	if o.Wait == 0 {
		o.Wait = 10 * time.Second
	}
	conn, end, err := p.Connect(ctx, h)
	if err != nil {
		return nil, err
	}
	s := &suite{ctx: ctx, conn: conn, o: o, clock: engine.ClockOf(h)}
	s.provider()
	for _, t := range p.Types() {
		s.oneType(t)
	}
	end()
	return s.found, nil
}

// suite is one run. Its methods add findings, and go on: a provider with several faults shows all of them at once.
type suite struct {
	ctx   context.Context
	conn  plugin.Conn
	o     Options
	clock clock.Clock
	found []Finding
}

func (s *suite) fault(check, token, format string, args ...any) {
	s.found = append(s.found, Finding{check, token, fmt.Sprintf(format, args...)})
}

// call asks, with a bound. A provider that never answers is a finding after it.
func (s *suite) call(method string, params, reply any) error {
	ctx, end := s.bound()
	defer end()
	return s.conn.Call(ctx, method, params, reply)
}

func (s *suite) bound() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	stop := s.clock.AfterFunc(s.o.Wait, func() { cancel(fmt.Errorf("there is no answer after %s", s.o.Wait)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// provider checks the rules that are about no type. A provider has to refuse unknown words, in a form that mgmt can read.
// So a later mgmt and an earlier provider learn their common ground.
func (s *suite) provider() {
	var hello protocol.HandshakeReply
	err := s.call(protocol.MethodHandshake, &protocol.HandshakeRequest{Protocols: protocol.Range{Min: 9000, Max: 9001}}, &hello)
	if err == nil {
		s.fault("versions", "", "it has agreed to the versions 9000 to 9001 of the protocol")
	}
	s.coded("unknown method", "", s.call("mgmt_unknown", &protocol.Empty{}, nil), protocol.CodeUnimplemented)
	s.coded("unknown type", "", s.call(protocol.MethodGet, &protocol.GetRequest{Subject: protocol.Subject{Token: "no:such:Type"}}, nil), protocol.CodeInvalid)
}

// coded wants an error with a code. mgmt goes by the code alone, and shows the message to people.
func (s *suite) coded(check, token string, err error, code string) {
	e, ok := errors.AsType[*protocol.Error](err)
	switch {
	case !ok:
		s.fault(check, token, "the answer should be an error with the code %s, and is %v", code, err)
	case e.Code != code:
		s.fault(check, token, "the code of the error should be %s, and is %s", code, e.Code)
	}
}

// thing is one type with a thing of it.
type thing struct {
	*suite
	protocol.Type
	props *schema.Type
	in    protocol.Bag
	sub   protocol.Subject
	made  protocol.CreateReply
}

// oneType checks one type. Where the thing cannot be made, the other rules have nothing to look at.
func (s *suite) oneType(t protocol.Type) {
	props, ds := wire.Decode(t.Token, t.Schema)
	if err := ds.Err(); err != nil {
		s.fault("schema", t.Token, "%v", err)
		return
	}
	x := &thing{suite: s, Type: t, props: props, in: s.o.Inputs[t.Token]}
	x.sub = protocol.Subject{Token: t.Token, Name: "mgmt-test-" + rand.Text()[:8]}
	if x.in == nil {
		x.in = sample(props, x.sub.Name)
	}
	if t.Named {
		x.in["name"] = x.sub.Name
	}
	x.checks()
	if !x.life() {
		return
	}
	x.many()
	x.batches()
	x.lists()
	x.follow()
	x.remove()
}

func (x *thing) bad(check, format string, args ...any) { x.fault(check, x.Token, format, args...) }

// checks asks for the faults of right and of wrong inputs. An answer without failures means that mgmt goes on to create the
// thing, so a provider that takes every input is found here.
func (x *thing) checks() {
	for _, c := range []struct {
		check string
		in    protocol.Bag
		right bool
	}{{"check of right inputs", x.in, true}, {"check of an unknown property", with(x.in, "mgmt_unknown", true), false}} {
		var reply protocol.CheckReply
		if err := x.call(protocol.MethodCheck, &protocol.CheckRequest{Subject: x.sub, Properties: c.in}, &reply); err != nil {
			x.bad(c.check, "%v", err)
		} else if right := len(reply.Failures) == 0; right != c.right {
			x.bad(c.check, "the failures are %v", reply.Failures)
		}
	}
	for _, f := range x.props.Fields {
		if f.Required {
			x.missing(f.Key)
		}
	}
}

// missing leaves a required property out.
func (x *thing) missing(key string) {
	var reply protocol.CheckReply
	err := x.call(protocol.MethodCheck, &protocol.CheckRequest{Subject: x.sub, Properties: with(x.in, key, nil)}, &reply)
	if err != nil || len(reply.Failures) == 0 {
		x.bad("check of a missing property", "%s is missing, and the answer is %v, %v", key, reply.Failures, err)
	}
}

// get asks for the thing. The check is the name under which a fault of this call is found, since many checks begin with a get.
func (x *thing) get(check string, sub protocol.Subject) (reply protocol.GetReply, ok bool) {
	err := x.call(protocol.MethodGet, &protocol.GetRequest{Subject: sub, Properties: x.in}, &reply)
	if err != nil {
		x.bad(check, "%v", err)
	}
	return reply, err == nil
}

// life makes the thing, and looks at it in each way. It reports whether there is one. The second create has the key of the first, as mgmt sends it after a
// crash. A provider that makes two things then has broken the rule that matters most.
func (x *thing) life() bool {
	if is, ok := x.get("get of no thing", x.sub); ok && is.Found {
		x.bad("get of no thing", "there should be none of the name %s", x.sub.Name)
	}
	x.sub.Key = rand.Text()
	if err := x.call(protocol.MethodCreate, &protocol.CreateRequest{Subject: x.sub, Properties: x.in}, &x.made); err != nil {
		x.bad("create", "%v", err)
		return false
	}
	if x.made.ID == "" {
		x.bad("create", "the reply has no id")
	}
	x.holds("create", x.made.Properties)
	var again protocol.CreateReply
	err := x.call(protocol.MethodCreate, &protocol.CreateRequest{Subject: x.sub, Properties: x.in}, &again)
	if err != nil || again.ID != x.made.ID {
		x.bad("create with the same key", "the id is %q, %v, and should be %q", again.ID, err, x.made.ID)
	}
	if is, ok := x.get("get by key", x.sub); ok && (!is.Found || is.ID != x.made.ID) {
		x.bad("get by key", "found is %t, with the id %q, which should be %q", is.Found, is.ID, x.made.ID)
	}
	x.sub.ID, x.sub.Private = x.made.ID, x.made.Private
	first, _ := x.get("get by id", x.sub)
	if !first.Found {
		x.bad("get by id", "the thing is not found")
		return true
	}
	x.holds("get by id", first.Properties)
	second, _ := x.get("get twice", x.sub)
	if !schema.Equal(map[string]any(first.Properties), map[string]any(second.Properties)) {
		x.bad("get twice", "the properties differ between two calls without a change: %v, %v", first.Properties, second.Properties)
	}
	return true
}

// holds compares properties with the schema and with the inputs. mgmt compares them in the same way: a property that comes back
// with another value would be changed again and again.
func (x *thing) holds(check string, props protocol.Bag) {
	for key, v := range props {
		if f := x.props.Field(key); f == nil && !(key == "name" && x.Named) {
			x.bad(check, "the schema has no property %s", key)
		} else if f != nil {
			if ds := schema.Check(f.Type, v); ds.Err() != nil {
				x.bad(check, "%s: %v", key, ds)
			}
		}
	}
	for key, v := range x.in {
		f := x.props.Field(key)
		if f != nil && (f.Role == schema.RoleState || f.Role == schema.RoleInit) && !schema.Equal(v, props[key]) {
			x.bad(check, "%s was given as %v, and comes back as %v", key, v, props[key])
		}
	}
}

// many asks many questions at once. The answers may come in any order, but each has to come to its own question.
func (x *thing) many() {
	var all sync.WaitGroup
	var mu sync.Mutex
	for range 20 {
		all.Go(func() {
			var reply protocol.GetReply
			err := x.call(protocol.MethodGet, &protocol.GetRequest{Subject: x.sub, Properties: x.in}, &reply)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || !reply.Found {
				x.bad("many calls at once", "found is %t, %v", reply.Found, err)
			}
		})
	}
	all.Wait()
}

// batches asks for the thing twice in one message, where the type takes several calls as one. Each call has an outcome of its own, in
// their order.
func (x *thing) batches() {
	if x.Batch < 2 {
		return
	}
	params, err := json.Marshal(&protocol.GetRequest{Subject: x.sub, Properties: x.in})
	call := protocol.Call{Method: protocol.MethodGet, Params: params}
	var reply protocol.BatchReply
	if err == nil {
		err = x.call(protocol.MethodBatch, &protocol.BatchRequest{Token: x.Token, Calls: []protocol.Call{call, call}}, &reply)
	}
	if err != nil || len(reply.Outcomes) != 2 {
		x.bad("batch", "there are %d outcomes for 2 calls, %v", len(reply.Outcomes), err)
		return
	}
	for _, o := range reply.Outcomes {
		var is protocol.GetReply
		if err := json.Unmarshal(o.Result, &is); o.Error != nil || err != nil || is.ID != x.made.ID {
			x.bad("batch", "the outcome of a get is %s, %v, and should be the thing %s", o.Result, o.Error, x.made.ID)
		}
	}
}

// lists looks for the thing in the list. A provider without a list says so in its schema. A list has pages, and the thing may be
// on any of them.
func (x *thing) lists() {
	if !x.List {
		return
	}
	for page := ""; ; {
		var reply protocol.ListReply
		if err := x.call(protocol.MethodList, &protocol.ListRequest{Token: x.Token, Page: page}, &reply); err != nil {
			x.bad("list", "%v", err)
			return
		}
		for _, item := range reply.Items {
			if item.ID == x.made.ID {
				return
			}
		}
		if page = reply.Next; page == "" {
			x.bad("list", "the thing %s is not in it", x.made.ID)
			return
		}
	}
}

// follow watches the thing while it is deleted. Running has to come first, since mgmt looks at nothing before it knows that no
// later change goes unseen. The end of the bound cancels the watch.
func (x *thing) follow() {
	if !x.Watch {
		return
	}
	ctx, end := x.bound()
	defer end()
	events := make(chan string, 100)
	done := make(chan error, 1)
	go func() {
		done <- x.conn.Watch(ctx, &protocol.WatchRequest{Subject: x.sub, Properties: x.in}, func(kind string) {
			select {
			case events <- kind:
			default: // enough is known
			}
		})
	}()
	for _, want := range []string{protocol.EventRunning, protocol.EventChanged} {
		select {
		case got := <-events:
			if got != want {
				x.bad("watch", "the event should be %s, and is %s", want, got)
				return
			}
		case err := <-done:
			x.bad("watch", "it has ended before the event %s: %v", want, err)
			return
		}
		if want == protocol.EventRunning {
			x.delete("delete")
		}
	}
}

func (x *thing) delete(check string) {
	err := x.call(protocol.MethodDelete, &protocol.DeleteRequest{Subject: x.sub, Properties: x.made.Properties}, nil)
	if err != nil {
		x.bad(check, "%v", err)
	}
}

// remove deletes the thing, twice. mgmt deletes again where it does not know whether the first time had an effect.
func (x *thing) remove() {
	x.delete("delete")
	x.delete("delete of no thing")
	if is, ok := x.get("get after delete", x.sub); ok && is.Found {
		x.bad("get after delete", "the thing is still there")
	}
}
