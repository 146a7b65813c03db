package mgmt_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/metrics"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	_ "github.com/reactivegraph/mgmt/resources/all"
	"github.com/reactivegraph/mgmt/resources/basic"
)

// A program serves the API of a daemon: a Recorder and Metrics are told what the engine
// reports, and a Server answers beside the graph. The verbs of mgmt reach it by --socket.
func ExampleOptions_control() {
	dir, err := os.MkdirTemp("", "control-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "socket")

	rec := control.NewRecorder(control.RecorderOptions{})
	met := metrics.New(metrics.Options{})

	ctx, cancel := context.WithCancel(context.Background())
	graph := &gapi.Declared{Resources: []gapi.Declaration{static.Declare("noop", "a", &basic.NoopRes{})}}
	o := mgmt.Options{
		Observer: mgmt.Observer{
			Swapped:   func(s reactor.Swap) { rec.Swapped(s); met.Swapped(s) },
			Ran:       func(r reactor.Run) { rec.Ran(r); met.Ran(r) },
			Converged: func(yes bool, c reactor.Counts) { rec.Converged(yes, c); met.Converged(yes, c) },
			Paused:    func(p reactor.Pause, on bool) { rec.Paused(p, on); met.Paused(p, on) },
			Held:      func(res string, h *reactor.Held) { rec.Held(res, h); met.Held(res, h) },
			Loaded:    rec.Loaded,
			Refused:   func(err error) { rec.Refused(err); met.Refused(err) },
		},
		Background: func(ctx context.Context, e *mgmt.Engine) {
			met.SetSource(func(ctx context.Context) (metrics.Sample, error) {
				now, err := e.Snapshot(ctx)
				return metrics.Sample{Counts: now.Rest.Counts}, err
			})
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() { rec.Run(ctx, e.History()) })
			s, err := control.NewServer(control.Options{Engine: e, Recorder: rec, History: e.History(), Metrics: met.Handler()})
			if err != nil {
				log.Print(err)
				return
			}
			l, err := control.Listen(ctx, socket)
			if err != nil {
				log.Print(err)
				return
			}
			if err := s.Serve(ctx, l); err != nil {
				log.Print(err)
			}
		},
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := mgmt.Run(ctx, o, static.New(graph)); err != nil {
			log.Print(err)
		}
	})
	defer wg.Wait()
	defer cancel()

	c := control.NewClient(socket)
	for { // until the socket is there
		st, err := c.Status(ctx, control.StatusQuery{All: true, Wait: time.Minute})
		if err == nil {
			fmt.Println(st.Converged, st.Resources[0].Resource, st.Resources[0].State)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	// Output: true noop[a] ok
}
