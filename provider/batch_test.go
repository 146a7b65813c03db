package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/provider"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// lamp is a type with one input and one output.
type lamp struct {
	Color string  `json:"color"`
	ID    *string `json:"id,omitempty"`
}

// shelf keeps lamps. single counts the calls that came one by one.
type shelf struct {
	provider.Defaults[lamp]
	lamps  map[string]*lamp
	single int
}

func (s *shelf) Create(_ context.Context, c *provider.Call, in *lamp) (*lamp, error) {
	s.single++
	return s.make(c, in), nil
}

func (s *shelf) Get(_ context.Context, c *provider.Call, _ *lamp) (*lamp, error) {
	s.single++
	return s.lamps[c.Name], nil
}

func (s *shelf) Update(_ context.Context, _ *provider.Call, _, in *lamp) (*lamp, error) {
	s.single++
	return in, nil
}

func (s *shelf) Delete(_ context.Context, c *provider.Call, _ *lamp) error {
	s.single++
	delete(s.lamps, c.Name)
	return nil
}

func (s *shelf) make(c *provider.Call, in *lamp) *lamp {
	c.ID = "id-" + c.Name
	s.lamps[c.Name] = &lamp{in.Color, &c.ID}
	return s.lamps[c.Name]
}

// batched is a shelf that does several calls as one. It leaves updates to the method.
type batched struct {
	*shelf
	seen []string
}

func (b *batched) Batch(_ context.Context, calls []*provider.BatchCall[lamp]) {
	for _, c := range calls {
		b.seen = append(b.seen, c.Method+" "+c.Name)
		switch c.Method {
		case protocol.MethodGet:
			c.Result = b.lamps[c.Name]
		case protocol.MethodCreate:
			if c.New.Color == "black" {
				c.Err = errors.New("no lamp is black")
				continue
			}
			c.Result = b.make(c.Call, c.New)
		case protocol.MethodUpdate:
			c.Alone = c.Old.Color == "red" && c.New.Color == "blue"
		case protocol.MethodDelete:
			delete(b.lamps, c.Name)
		}
	}
}

// TestBatcher: an Ops that is a Batcher gets all calls of a batch at once, with structs. Each call has an outcome of its own, in its place.
func TestBatcher(t *testing.T) {
	b := &batched{shelf: &shelf{lamps: map[string]*lamp{"old": {Color: "red"}}}}
	r, ok := provider.Typed[lamp](b).(provider.BagBatcher)
	if !ok {
		t.Fatal("it is no BagBatcher")
	}
	if _, ok := provider.Typed[lamp](b.shelf).(provider.BagBatcher); ok {
		t.Error("an Ops without Batch is a BagBatcher")
	}
	subject := func(name string) protocol.Subject { return protocol.Subject{Token: "t:m:Lamp", Name: name} }
	call := func(method string, params any) protocol.Call {
		text, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		return protocol.Call{Method: method, Params: text}
	}
	out := r.Batch(t.Context(), []protocol.Call{
		call("get", &protocol.GetRequest{Subject: subject("none")}),
		call("create", &protocol.CreateRequest{Subject: subject("new"), Properties: provider.Bag{"color": "green"}}),
		{Method: "create", Params: json.RawMessage(`{"name": 5}`)},
		call("create", &protocol.CreateRequest{Subject: subject("dark"), Properties: provider.Bag{"color": "black"}}),
		{Method: "list", Params: json.RawMessage(`{}`)},
		call("create", &protocol.CreateRequest{Subject: subject("odd"), Properties: provider.Bag{"color": 7}}),
		call("update", &protocol.UpdateRequest{Subject: subject("old"), Old: provider.Bag{"color": "red"}, New: provider.Bag{"color": "blue"}}),
		call("delete", &protocol.DeleteRequest{Subject: subject("old"), Properties: provider.Bag{"color": "red"}}),
	})
	want := []string{`"found":false`, `"id":"id-new"`, "the parameters are wrong", "no lamp is black", `no calls of the method "list"`, "do not fit", `"color":"blue"`, "{}"}
	if len(out) != len(want) {
		t.Fatalf("%d outcomes", len(out))
	}
	for i, o := range out {
		text := string(o.Result)
		if o.Error != nil {
			text += o.Error.Message
		}
		if !strings.Contains(text, want[i]) {
			t.Errorf("outcome %d is %s, and not %s", i, text, want[i])
		}
	}
	if got, want := fmt.Sprint(b.seen), "[get none create new create dark update old delete old]"; got != want {
		t.Errorf("Batch has seen %s, and not %s", got, want)
	}
	if b.single != 1 || b.lamps["old"] != nil || b.lamps["new"].Color != "green" {
		t.Errorf("%d single calls, %v", b.single, b.lamps)
	}
}
