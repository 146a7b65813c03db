package mgmt_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/simulate"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/resources/exec"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/password"
)

// A program asks what a graph would do, and then has it done. The same options serve both.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "config-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	text := "hello\n"
	g := static.NewGraph("greeting")
	g.Add("file", filepath.Join(dir, "greeting"), &file.Res{Content: &text, Mode: "0600"})

	o := mgmt.Options{ConvergedExit: true}
	plan, err := mgmt.Plan(context.Background(), o, static.New(g.Declared()))
	if err != nil {
		panic(err)
	}
	fmt.Println("plan:", plan.Steps[0].State, "exit code", plan.Report.ExitCode())

	report, err := mgmt.Run(context.Background(), o, static.New(g.Declared()))
	fmt.Println("run: converged", report.Converged, "exit code", report.ExitCode(), err)
	// Output:
	// plan: would-change exit code 2
	// run: converged true exit code 0 <nil>
}

// A program declares graphs in Go and puts one after the other into effect. Each has its own verdict.
func ExampleEngine_Apply() {
	dir, err := os.MkdirTemp("", "apply-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	e, err := mgmt.Open(ctx, mgmt.Options{}, nil)
	if err != nil {
		panic(err)
	}

	g := static.NewGraph("app")
	key := g.Add("password", "key", &password.Res{Length: 24})
	conf := &file.Res{Mode: "0600"}
	file := g.Add("file", filepath.Join(dir, "app.key"), conf)
	file.Recv(&conf.Content, static.SentField(key, func(s *password.Sends) any { return &s.Password }))
	file.Before(g.Add("print", "done", &basic.PrintRes{Msg: "the key is there"}))
	v, err := e.Apply(ctx, g.Declared())
	fmt.Println("generation", v.Generation, "added", v.Swap.Added, err)

	wrong := static.NewGraph("wrong")
	wrong.AddValues("file", "relative", map[string]any{"contents": "x"})
	v, err = e.Apply(ctx, wrong.Declared())
	fmt.Println("generation", v.Generation, "refused:", v.Refused != nil, err != nil)

	cancel()
	fmt.Println(e.Wait())
	// Output:
	// generation 1 added 3 <nil>
	// generation 1 refused: true true
	// <nil>
}

// A test runs a graph on a machine that is not there: its files are in a folder, and its commands are a function.
func ExampleOptions_host() {
	dir, err := os.MkdirTemp("", "machine-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	machine, err := simulate.NewFolder(simulate.NewHost(), dir)
	if err != nil {
		panic(err)
	}
	defer machine.Close()
	machine.SetCommand(func(context.Context, engine.Command) (*engine.Result, error) { return &engine.Result{}, nil })

	text := "listen = 8080\n"
	g := static.NewGraph("app")
	conf := g.Add("file", "/app.conf", &file.Res{Content: &text})
	conf.Notify(g.Add("exec", "restart", &exec.Res{Cmd: "app-restart", RefreshOnly: true}))
	report, err := mgmt.Run(context.Background(), mgmt.Options{Host: machine, ConvergedExit: true}, static.New(g.Declared()))
	fmt.Println("exit code", report.ExitCode(), err)
	fmt.Println("commands:", machine.Commands()[0].Argv)
	data, err := os.ReadFile(filepath.Join(dir, "app.conf"))
	fmt.Printf("%q %v\n", data, err)
	// Output:
	// exit code 0 <nil>
	// commands: [app-restart]
	// "listen = 8080\n" <nil>
}

// A program changes parts of the graph that runs, at the cost of the part. A part may refer to resources that run already.
func ExampleEngine_Patch() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e, err := mgmt.Open(ctx, mgmt.Options{Host: enginetest.NewHost()}, nil)
	if err != nil {
		panic(err)
	}
	g := static.NewGraph("messages")
	g.Add("print", "first", &basic.PrintRes{Msg: "one"})
	if _, err := e.Apply(ctx, g.Declared()); err != nil {
		panic(err)
	}

	part := static.NewGraph("messages")
	part.Add("print", "second", &basic.PrintRes{Msg: "two"}).Depend(part.Running("print", "first"))
	fmt.Println("upsert:", e.Patch(ctx, mgmt.Patch{Upsert: part.Declared()}))
	fmt.Println("delete:", e.Patch(ctx, mgmt.Patch{Delete: []string{"print[first]"}}))
	fmt.Println("delete:", e.Patch(ctx, mgmt.Patch{Delete: []string{"print[first]", "print[second]"}}))

	cancel()
	fmt.Println(e.Wait())
	// Output:
	// upsert: <nil>
	// delete: print[first] can't be deleted, because print[second] refers to it; delete both, or change print[second] first
	// delete: <nil>
	// <nil>
}

// The events are read in a loop, which may call the engine. This one runs on a fake machine.
func ExampleEngine_Events() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h := enginetest.NewHost()
	h.SetCommand(func(context.Context, engine.Command) (*engine.Result, error) { return &engine.Result{}, nil })
	e, err := mgmt.Open(ctx, mgmt.Options{Host: h}, nil)
	if err != nil {
		panic(err)
	}
	events := e.Events(ctx) // before the graph, to miss nothing
	g := static.NewGraph("one")
	g.Add("exec", "restart", &exec.Res{Cmd: "app-restart"})
	if _, err := e.Apply(ctx, g.Declared()); err != nil {
		panic(err)
	}
	for ev := range events {
		switch ev.Kind {
		case mgmt.EventRan:
			fmt.Println(ev.Run.Resource, ev.Run.State, "changed:", ev.Run.Changed)
		case mgmt.EventConverged:
			st, err := e.Status(ctx, "exec[restart]")
			fmt.Println(ev.Kind, st.State, err)
			cancel()
		case mgmt.EventMissed:
			fmt.Println("too slow for", ev.Missed, "events")
		}
	}
	fmt.Println(e.Wait(), h.Commands()[0].Argv)
	// Output:
	// exec[restart] ok changed: true
	// converged ok <nil>
	// <nil> [app-restart]
}
