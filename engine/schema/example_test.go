package schema_test

import (
	"fmt"
	"reflect"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// Service is what a resource would declare.
type Service struct {
	State string        `yaml:"state" mgmt:"enum=running|stopped" doc:"Whether it runs."`
	Wait  time.Duration `yaml:"wait" mgmt:"unit=ms,param" doc:"How long it may take to start."`
	Token schema.Secret `yaml:"token" mgmt:"writeonly"`
}

func ExampleDecode() {
	at := func(line, col int32) schema.Pos { return schema.Pos{File: "graph.yaml", Line: line, Col: col} }
	node := &schema.Node{Kind: schema.NodeMap, Pos: at(1, 1), Pairs: []schema.Pair{
		{Key: "state", Pos: at(1, 1), Value: &schema.Node{Kind: schema.NodeString, Pos: at(1, 8), Text: "runing"}},
		{Key: "wiat", Pos: at(2, 1), Value: &schema.Node{Kind: schema.NodeInt, Pos: at(2, 7), Text: "500"}},
		{Key: "token", Pos: at(3, 1), Value: &schema.Node{Kind: schema.NodeString, Pos: at(3, 8), Text: "hush"}},
	}}
	s := Service{State: "stopped"}
	for _, d := range schema.Decode(node, &s) {
		fmt.Println(d)
	}
	fmt.Printf("%+v\n", s)
	// Output:
	// graph.yaml:1:8: state must be one of running, stopped, not "runing" (did you mean "running"?)
	// graph.yaml:2:1: unknown key "wiat" (did you mean "wait"?)
	// {State:stopped Wait:0s Token:(secret)}
}

func ExampleOfType() {
	t, err := schema.OfType(reflect.TypeFor[Service]())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range t.Fields {
		fmt.Printf("%s: %s\n", f.Key, f.Type)
	}
	// Output:
	// state: one of running, stopped
	// wait: a length of time such as 500ms or 1h30m
	// token: secret text
}

func ExampleDiff() {
	is := &Service{State: "stopped", Token: schema.NewSecret("old")}
	want := &Service{State: "running", Token: schema.NewSecret("new")}
	t, _ := schema.Of(want)
	for _, d := range schema.Diff(t, is, want) {
		fmt.Println(d)
	}
	// Output:
	// state: stopped -> running
	// token: (secret) -> (secret)
}

func ExampleSet() {
	var s Service
	fmt.Println(schema.Set(&s, "wait", "1m30s"), s.Wait)
	fmt.Println(schema.Set(&s, "state", "up"))
	// Output:
	// <nil> 1m30s
	// state must be one of running, stopped, not "up"
}

func ExampleMode_Apply() {
	mode, _ := schema.Mode("u=rwX,go=rX").Apply(0o600, false)
	fmt.Println(mode)
	// Output: -rw-r--r--
}
