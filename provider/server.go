package provider

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/wire"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// server has a Provider that was checked.
type server struct {
	p       *Provider
	version string
	hash    string
	types   map[string]*served // by token
	token   string
}

// served is one type.
type served struct {
	protocol.Type
	props *schema.Type
	res   Resource
}

// newServer checks a Provider against its schema. The error joins all that is wrong.
func newServer(p *Provider) (*server, error) {
	var doc protocol.Schema
	if err := json.Unmarshal(p.Schema, &doc); err != nil {
		return nil, fmt.Errorf("the schema of the provider %s is no JSON: %w", p.Name, err)
	}
	s := &server{p: p, version: cmp.Or(p.Version, doc.Version), hash: protocol.HashOf(p.Schema), types: map[string]*served{}, token: os.Getenv(EnvToken)}
	var errs []error
	for _, t := range doc.Types {
		props, found := wire.Decode(t.Token, t.Schema)
		errs = append(errs, found.Err())
		res := p.Resources[t.Token]
		if res == nil {
			errs = append(errs, fmt.Errorf("the schema has the type %s, and no resource serves it", t.Token))
		}
		s.types[t.Token] = &served{t, props, res}
	}
	for _, token := range slices.Sorted(maps.Keys(p.Resources)) {
		if s.types[token] == nil {
			errs = append(errs, fmt.Errorf("a resource serves the type %s, and the schema has no such type", token))
		}
	}
	return s, errors.Join(errs...)
}

// features returns the words for the optional methods.
func (s *server) features() []string {
	return []string{protocol.FeatureBatch, protocol.FeatureList, protocol.FeatureWatch}
}

// do does one call. A panic is its error.
func (s *server) do(ctx context.Context, method string, params json.RawMessage, event func(kind string)) (_ json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(os.Stderr, "panic in %s: %v\n%s", method, v, debug.Stack())
			err = protocol.Errorf(protocol.CodeInternal, "panic in %s: %v", method, v)
		}
	}()
	reply, err := s.call(ctx, method, params, event)
	if err != nil {
		return nil, err
	}
	return json.Marshal(reply)
}

// call finds the method of a call.
func (s *server) call(ctx context.Context, method string, params json.RawMessage, event func(kind string)) (any, error) {
	switch method {
	case protocol.MethodHandshake:
		return with(params, func(r *protocol.HandshakeRequest) (any, error) { return s.handshake(r) })
	case protocol.MethodSchema:
		return &protocol.SchemaReply{Schema: string(s.p.Schema)}, nil
	case protocol.MethodConfigure:
		return with(params, func(r *protocol.ConfigureRequest) (any, error) { return s.configure(ctx, r) })
	case protocol.MethodList:
		return with(params, func(r *protocol.ListRequest) (any, error) { return s.list(ctx, r) })
	case protocol.MethodWatch:
		return with(params, func(r *protocol.WatchRequest) (any, error) { return s.watch(ctx, r, event) })
	case protocol.MethodBatch:
		return with(params, func(r *protocol.BatchRequest) (any, error) { return s.batch(ctx, r) })
	case protocol.MethodShutdown:
		return &protocol.Empty{}, nil
	}
	return s.callOne(ctx, method, params)
}

// callOne finds the method of a call about one resource.
func (s *server) callOne(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case protocol.MethodCheck:
		return with(params, func(r *protocol.CheckRequest) (any, error) { return s.check(ctx, r) })
	case protocol.MethodDiff:
		return on(s, params, func(r *protocol.DiffRequest) string { return r.Token }, func(t Resource, r *protocol.DiffRequest) (any, error) { return t.Diff(ctx, r) })
	case protocol.MethodGet:
		return on(s, params, func(r *protocol.GetRequest) string { return r.Token }, func(t Resource, r *protocol.GetRequest) (any, error) { return t.Get(ctx, r) })
	case protocol.MethodCreate:
		return on(s, params, func(r *protocol.CreateRequest) string { return r.Token }, func(t Resource, r *protocol.CreateRequest) (any, error) { return t.Create(ctx, r) })
	case protocol.MethodUpdate:
		return on(s, params, func(r *protocol.UpdateRequest) string { return r.Token }, func(t Resource, r *protocol.UpdateRequest) (any, error) { return t.Update(ctx, r) })
	case protocol.MethodDelete:
		return on(s, params, func(r *protocol.DeleteRequest) string { return r.Token }, func(t Resource, r *protocol.DeleteRequest) (any, error) {
			return &protocol.Empty{}, t.Delete(ctx, r)
		})
	}
	return nil, protocol.Errorf(protocol.CodeUnimplemented, "there is no method %q", method)
}

// with decodes the parameters of a call.
func with[R any](params json.RawMessage, f func(*R) (any, error)) (any, error) {
	r := new(R)
	if err := readParams(params, r); err != nil {
		return nil, err
	}
	return f(r)
}

// readParams fills a request from the parameters of a call. Without parameters, and with a nil request, it does nothing.
func readParams(params json.RawMessage, r any) error {
	if len(params) == 0 || r == nil {
		return nil
	}
	if err := json.Unmarshal(params, r); err != nil {
		return protocol.Errorf(protocol.CodeInvalid, "the parameters are wrong: %v", err)
	}
	return nil
}

// on finds the resource of a call too.
func on[R any](s *server, params json.RawMessage, token func(*R) string, f func(Resource, *R) (any, error)) (any, error) {
	return with(params, func(r *R) (any, error) {
		t, err := s.find(token(r))
		if err != nil {
			return nil, err
		}
		return f(t.res, r)
	})
}

func (s *server) find(token string) (*served, error) {
	if t := s.types[token]; t != nil {
		return t, nil
	}
	return nil, protocol.Errorf(protocol.CodeInvalid, "there is no type %q here: there are %s", token, strings.Join(slices.Sorted(maps.Keys(s.types)), ", "))
}

// handshake agrees on a version.
func (s *server) handshake(r *protocol.HandshakeRequest) (any, error) {
	if subtle.ConstantTimeCompare([]byte(r.Token), []byte(s.token)) != 1 {
		return nil, protocol.Errorf(protocol.CodeDenied, "the token is not the one of %s", EnvToken)
	}
	version := min(r.Protocols.Max, protocol.MaxVersion)
	if version < max(r.Protocols.Min, protocol.MinVersion) {
		return nil, protocol.Errorf(protocol.CodeInvalid, "mgmt speaks the protocol versions %d to %d, and the provider %s speaks %d to %d",
			r.Protocols.Min, r.Protocols.Max, s.p.Name, protocol.MinVersion, protocol.MaxVersion)
	}
	return &protocol.HandshakeReply{Protocol: version, Name: s.p.Name, Version: s.version, Features: s.features(), SchemaHash: s.hash}, nil
}

func (s *server) configure(ctx context.Context, r *protocol.ConfigureRequest) (any, error) {
	if s.p.Configure == nil {
		return &protocol.Empty{}, nil
	}
	return &protocol.Empty{}, s.p.Configure(ctx, r.Config)
}

// check compares inputs with the schema before the resource does.
func (s *server) check(ctx context.Context, r *protocol.CheckRequest) (any, error) {
	t, err := s.find(r.Token)
	if err != nil {
		return nil, err
	}
	if failures := t.faults(r.Properties, r.Pending); len(failures) > 0 {
		return &protocol.CheckReply{Failures: failures}, nil
	}
	return t.res.Check(ctx, r)
}

// faults returns the faults of inputs by the schema. A key that is pending may be missing.
func (t *served) faults(props Bag, pending []string) []Failure {
	var out []Failure
	for _, d := range schema.Check(t.props, map[string]any(props)) {
		if !slices.Contains(pending, d.Path) {
			out = append(out, Failure{Path: d.Path, Message: d.Message})
		}
	}
	for _, f := range t.props.Fields {
		if _, given := props[f.Key]; given && f.Role == schema.RoleReadOnly {
			out = append(out, Failure{Path: f.Key, Message: "it is an output, and can't be given"})
		}
	}
	return out
}

func (s *server) list(ctx context.Context, r *protocol.ListRequest) (any, error) {
	t, err := s.find(r.Token)
	if err != nil {
		return nil, err
	}
	l, ok := t.res.(BagLister)
	if !ok {
		return nil, protocol.Errorf(protocol.CodeUnimplemented, "%s cannot be listed", r.Token)
	}
	return l.List(ctx, r)
}

func (s *server) watch(ctx context.Context, r *protocol.WatchRequest, event func(kind string)) (any, error) {
	t, err := s.find(r.Token)
	if err != nil {
		return nil, err
	}
	w, ok := t.res.(BagWatcher)
	if !ok {
		return nil, protocol.Errorf(protocol.CodeUnimplemented, "a %s cannot be watched", r.Token)
	}
	err = w.Watch(ctx, r, func() { event(protocol.EventRunning) }, func() { event(protocol.EventChanged) })
	return &protocol.Empty{}, err
}

// batch does several calls, by the resource's own Batch or one by one.
func (s *server) batch(ctx context.Context, r *protocol.BatchRequest) (any, error) {
	t, err := s.find(r.Token)
	if err != nil {
		return nil, err
	}
	if b, ok := t.res.(BagBatcher); ok {
		return &protocol.BatchReply{Outcomes: b.Batch(ctx, r.Calls)}, nil
	}
	reply := &protocol.BatchReply{}
	for _, c := range r.Calls {
		result, err := s.do(ctx, c.Method, c.Params, func(string) {})
		out := protocol.Outcome{Result: result}
		if err != nil {
			out = protocol.Outcome{Error: errorOf(ctx, err)}
		}
		reply.Outcomes = append(reply.Outcomes, out)
	}
	return reply, nil
}
