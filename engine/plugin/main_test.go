package plugin_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/provider"
	"github.com/reactivegraph/mgmt/provider/overgrpc"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// toyFolder tells this test program to be the provider toy, which keeps its things in a folder.
const toyFolder = "MGMT_TOY_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(toyFolder); dir != "" {
		if other := os.Getenv("MGMT_TOY_TOKEN"); other != "" {
			_ = os.Setenv(provider.EnvToken, other)
		}
		if err := overgrpc.Serve(context.Background(), toyProvider(dir)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv(daemonFolder); dir != "" {
		if err := daemon(context.Background(), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

const toySchema = `{"format": 1, "name": "toy", "version": "1.0.0", "types": [
  {"token": "toy:index:Thing", "named": true, "watch": true, "list": true, "refresh": true, "schema": {"version": 1, "type": {"kind": "struct",
    "doc": "A thing.", "fields": [
      {"key": "name", "role": "identity", "type": {"kind": "string", "optional": true}},
      {"key": "color", "required": true, "type": {"kind": "string", "enum": ["red", "blue"]}},
      {"key": "size", "type": {"kind": "int", "optional": true}},
      {"key": "shape", "replaces": true, "type": {"kind": "string", "optional": true}},
      {"key": "password", "role": "writeonly", "type": {"kind": "string", "optional": true, "secret": true}},
      {"key": "pin", "role": "writeonly", "replaces": true, "type": {"kind": "string", "optional": true}},
      {"key": "serial", "role": "readonly", "type": {"kind": "string", "optional": true}}]}}},
  {"token": "toy:index:Slow", "createBeforeDelete": true, "schema": {"version": 1, "type": {"kind": "struct",
    "doc": "A thing that is replaced without a gap, and cannot be watched.", "fields": [
      {"key": "color", "required": true, "replaces": true, "type": {"kind": "string"}},
      {"key": "of", "type": {"kind": "ref", "target": "toy:index:thing", "optional": true}},
      {"key": "serial", "role": "readonly", "type": {"kind": "string", "optional": true}}]}}},
  {"token": "toy:index:Many", "named": true, "batch": 3, "schema": {"version": 1, "type": {"kind": "struct",
    "doc": "A thing of which several are made at once.", "fields": [
      {"key": "name", "role": "identity", "type": {"kind": "string", "optional": true}},
      {"key": "color", "required": true, "type": {"kind": "string"}},
      {"key": "size", "type": {"kind": "int", "optional": true}},
      {"key": "serial", "role": "readonly", "type": {"kind": "string", "optional": true}}]}}}
]}`

// toyBroken names the way in which the toy is broken, for the tests of the conformance kit.
const toyBroken = "MGMT_TOY_BROKEN"

func broken(way string) bool { return os.Getenv(toyBroken) == way }

// toyVersions has the versions of the toy and of its schema, with a comma between them.
const toyVersions = "MGMT_TOY_VERSIONS"

// versioned returns the schema with another version.
func versioned(version string) string {
	return strings.Replace(toySchema, `"version": "1.0.0"`, `"version": "`+version+`"`, 1)
}

func toyProvider(dir string) *provider.Provider {
	version, text := "1.0.0", toySchema
	if own, other, ok := strings.Cut(os.Getenv(toyVersions), ","); ok {
		version, text = own, versioned(other)
	}
	return &provider.Provider{
		Name: "toy", Version: version, Schema: []byte(text),
		Configure: func(_ context.Context, config provider.Bag) error {
			if token := config["token"]; token != nil {
				fmt.Fprintln(os.Stderr, "configured with", token)
			}
			return nil
		},
		Resources: map[string]provider.Resource{
			"toy:index:Thing": provider.Typed[toy](&toys{dir: dir, byName: true}),
			"toy:index:Slow":  provider.Typed[toy](&toys{dir: dir}),
			"toy:index:Many":  &many{provider.Typed[toy](&toys{dir: dir, byName: true}), dir},
		},
	}
}

// many does several calls at once. Each batch is a line in the file batches, with the methods.
type many struct {
	provider.Resource
	dir string
}

// Batch makes it a BagBatcher.
func (m *many) Batch(ctx context.Context, calls []protocol.Call) []protocol.Outcome {
	if broken("short batch") {
		calls = calls[1:]
	}
	var line strings.Builder
	out := make([]protocol.Outcome, len(calls))
	for i, c := range calls {
		line.WriteString(c.Method + " ")
		out[i] = m.one(ctx, c)
	}
	f, err := os.OpenFile(filepath.Join(m.dir, "batches"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(f, strings.TrimSpace(line.String()))
		f.Close()
	}
	return out
}

func (m *many) one(ctx context.Context, c protocol.Call) (out protocol.Outcome) {
	var reply any
	var err error
	request := protocol.Request(c.Method)
	_ = json.Unmarshal(c.Params, request)
	switch r := request.(type) {
	case *protocol.GetRequest:
		reply, err = m.Get(ctx, r)
	case *protocol.CreateRequest:
		reply, err = m.Create(ctx, r)
	case *protocol.UpdateRequest:
		reply, err = m.Update(ctx, r)
	case *protocol.DeleteRequest:
		reply, err = &protocol.Empty{}, m.Delete(ctx, r)
	}
	if err != nil {
		return protocol.Outcome{Error: protocol.Errorf(protocol.CodeInternal, "%v", err)}
	}
	out.Result, _ = json.Marshal(reply)
	return out
}

// toy is a thing, which is a file.
type toy struct {
	Name     *string `json:"name,omitempty"`
	Color    string  `json:"color"`
	Size     *int64  `json:"size,omitempty"`
	Shape    *string `json:"shape,omitempty"`
	Password *string `json:"password,omitempty"`
	Of       *string `json:"of,omitempty"`
	Pin      *string `json:"pin,omitempty"`
	Serial   *string `json:"serial,omitempty"`
}

// kept is the content of the file.
type kept struct {
	Key string
	toy
}

// toys is the work on them. Each creation is a line in the file made.
type toys struct {
	provider.Defaults[toy]
	dir    string
	byName bool
}

func (o *toys) read(id string) (*kept, error) {
	text, err := os.ReadFile(filepath.Join(o.dir, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	k := &kept{}
	return k, errors.Join(err, json.Unmarshal(text, k))
}

func (o *toys) write(id string, k *kept) error {
	text, err := json.Marshal(k)
	at := filepath.Join(o.dir, id)
	return errors.Join(err, os.WriteFile(at+".part", text, 0o600), os.Rename(at+".part", at))
}

func (o *toys) Check(_ context.Context, _ *provider.Call, in *toy) ([]provider.Failure, error) {
	if in.Size != nil && *in.Size == 13 {
		return []provider.Failure{{Path: "size", Message: "13 is no size"}}, nil
	}
	return nil, nil
}

func (o *toys) find(c *provider.Call) (*kept, error) {
	if c.ID != "" {
		return o.read(c.ID)
	}
	ids, err := filepath.Glob(filepath.Join(o.dir, "id-*"))
	if broken("absent is an error") && len(ids) == 0 {
		return nil, errors.New("there is none")
	}
	for _, at := range ids {
		if broken("no keys") {
			break
		}
		k, err := o.read(filepath.Base(at))
		if err == nil && k != nil && (c.Key != "" && k.Key == c.Key || o.byName && k.Name != nil && *k.Name == c.Name) {
			c.ID = filepath.Base(at)
			return k, nil
		}
	}
	return nil, err
}

func (o *toys) Create(_ context.Context, c *provider.Call, in *toy) (*toy, error) {
	if c.Name == "crash" {
		fmt.Fprintln(os.Stderr, "my last words, and not", *in.Password, os.Getenv("MGMT_TOY_SECRET"))
		os.Exit(3)
	}
	if old, err := o.find(c); (err != nil || old != nil) && !broken("create again") {
		return &old.toy, err
	}
	if in.Size != nil && *in.Size == 14 {
		return nil, protocol.Errorf(protocol.CodeInvalid, "14 is refused")
	}
	if broken("slow create") { // between the look and the deed, where a second process would see nothing
		_ = os.WriteFile(filepath.Join(o.dir, "creating"), nil, 0o600)
		time.Sleep(500 * time.Millisecond)
	}
	c.ID = "id-" + c.Key
	if broken("create again") {
		c.ID += rand.Text()
	}
	if broken("no id") {
		defer func() { c.ID = "" }()
	}
	if broken("input lost") {
		defer func() { in.Color = "" }()
	}
	in.Serial = &c.ID
	if o.byName {
		in.Name = &c.Name
	}
	made, err := os.OpenFile(filepath.Join(o.dir, "made"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer made.Close()
	if err := o.write(c.ID, &kept{c.Key, *in}); err != nil {
		return nil, err
	}
	_, err = fmt.Fprintln(made, c.Name)
	if d := os.Getenv("MGMT_TOY_DELAY"); d != "" { // after the deed: so a kill comes before the answer
		wait, _ := time.ParseDuration(d)
		time.Sleep(wait)
	}
	return in, err
}

func (o *toys) Get(_ context.Context, c *provider.Call, _ *toy) (*toy, error) {
	if c.Name == "deaf" { // it reads nothing any more
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
	k, err := o.find(c)
	if k == nil || err != nil {
		return nil, err
	}
	k.Password, k.Pin = nil, nil
	if broken("unstable") {
		k.Serial = new(rand.Text())
	}
	return &k.toy, nil
}

func (o *toys) Update(_ context.Context, c *provider.Call, _, now *toy) (*toy, error) {
	k, err := o.read(c.ID)
	if err != nil || k == nil {
		return nil, fmt.Errorf("it is gone: %v", err)
	}
	if c.Refresh {
		_ = os.WriteFile(filepath.Join(o.dir, "refreshed"), nil, 0o600)
	}
	serial := k.Serial
	k.toy = *now
	k.Serial = serial
	return &k.toy, o.write(c.ID, k)
}

func (o *toys) Delete(_ context.Context, c *provider.Call, old *toy) error {
	if !o.byName && old.Color == "" {
		return errors.New("it is deleted without its properties")
	}
	if broken("not deleted") {
		return nil
	}
	err := os.Remove(filepath.Join(o.dir, c.ID))
	if broken("deleted twice") {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Watch compares the files now and then.
func (o *toys) Watch(ctx context.Context, c *provider.Call, _ *toy, running, changed func()) error {
	look := func() string {
		k, _ := o.find(&provider.Call{Name: c.Name, ID: c.ID, Key: c.Key})
		text, _ := json.Marshal(k)
		return string(text)
	}
	last := look()
	if !broken("not running") {
		running()
	}
	if broken("watch ends") {
		return nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(5 * time.Millisecond):
		}
		if now := look(); now != last && !broken("no change") {
			last = now
			changed()
		}
	}
}

func (o *toys) List(context.Context) iter.Seq2[provider.Item[toy], error] {
	return func(yield func(provider.Item[toy], error) bool) {
		ids, _ := filepath.Glob(filepath.Join(o.dir, "id-*"))
		if broken("empty list") {
			return
		}
		for _, at := range ids {
			k, err := o.read(filepath.Base(at))
			if strings.HasSuffix(at, ".part") || err != nil || k == nil || k.Name == nil {
				continue
			}
			k.Password = nil
			if !yield(provider.Item[toy]{Name: *k.Name, ID: filepath.Base(at), Properties: &k.toy}, nil) {
				return
			}
		}
	}
}

// newKinds returns a registry with the kinds of a set.
func newKinds(t *testing.T, s *plugin.Set) *engine.Registry {
	t.Helper()
	kinds := engine.NewRegistry()
	if err := s.Register(kinds); err != nil {
		t.Fatal(err)
	}
	return kinds
}
