package enginetest_test

import (
	"context"
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/events"
)

// A FakeHost stands for a machine: a test says what its commands answer, and what has changed there. Give it to
// one resource (WithHost), or to a whole engine (mgmt.Options.Host).
func ExampleFakeHost() {
	h := enginetest.NewHost()
	h.SetFacts(engine.Facts{Hostname: "web1"})
	h.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		return &engine.Result{Stdout: []byte("ran " + c.Argv[0])}, nil
	})
	ctx := context.Background()
	res, err := h.Command(ctx, engine.Command{Argv: []string{"reboot"}})
	fmt.Println(h.Facts().Hostname, string(res.Stdout), err)

	s, err := h.Watch(ctx, []string{"/etc/app.conf"}, events.Options{})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	fmt.Println("subscriptions that see it:", h.Touch("/etc/app.conf"))
	<-s.C()
	fmt.Println("because of", s.Cause().Path)
	// Output:
	// web1 ran reboot <nil>
	// subscriptions that see it: 1
	// because of /etc/app.conf
}
