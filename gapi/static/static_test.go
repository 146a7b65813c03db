package static_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/traits"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ready is a resource that is only declared.
type ready struct{ traits.Base }

func (*ready) Default() engine.Res                            { return &ready{} }
func (*ready) Validate() error                                { return nil }
func (*ready) Init(*engine.Init) error                        { return nil }
func (*ready) Cleanup() error                                 { return nil }
func (*ready) Watch(context.Context) error                    { return nil }
func (*ready) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (*ready) Cmp(engine.Res) error                           { return nil }

func names(ctx context.Context, f gapi.Frontend, most int) []string {
	var list []string
	for d, err := range f.Graphs(ctx, gapi.Env{}) {
		if err != nil || len(list) == most {
			break
		}
		list = append(list, d.Name)
	}
	return list
}

func TestYieldsWhatItWasGiven(t *testing.T) {
	f := static.New(&gapi.Declared{Name: "a"}, &gapi.Declared{Name: "b"})
	if got := names(t.Context(), f, 9); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("yielded %v", got)
	}
	if got := names(t.Context(), f, 1); !slices.Equal(got, []string{"a"}) {
		t.Errorf("yielded %v to one who stops", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := names(ctx, f, 9); len(got) != 0 {
		t.Errorf("yielded %v after the end", got)
	}
}

// TestFindingG5Chan: the frontend yields what is sent, and ends with the channel or with the context.
func TestFindingG5Chan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, end := range map[string]func(context.CancelFunc, chan *gapi.Declared){
			"context": func(stop context.CancelFunc, _ chan *gapi.Declared) { stop() },
			"channel": func(_ context.CancelFunc, c chan *gapi.Declared) { close(c) },
		} {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			c, got := make(chan *gapi.Declared), make(chan []string)
			go func() { got <- names(ctx, static.Chan(c), 9) }()
			c <- &gapi.Declared{Name: "a"}
			c <- &gapi.Declared{Name: "b"}
			synctest.Wait()
			end(stop, c)
			if list := <-got; !slices.Equal(list, []string{"a", "b"}) {
				t.Errorf("%s: yielded %v", name, list)
			}
		}
	})
}

// TestFindingG5ReloadOfChan: while the channel is open, a question gets the last graph again, and graphs that are sent still come.
func TestFindingG5ReloadOfChan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		reload, graphs, got := make(chan struct{}, 1), make(chan *gapi.Declared), make(chan string, 10)
		go func() {
			defer close(got)
			for d, err := range static.Chan(graphs).Graphs(ctx, gapi.Env{Reload: reload}) {
				if err != nil {
					got <- "error"
				} else {
					got <- d.Name
				}
			}
		}()
		reload <- struct{}{}
		synctest.Wait()
		graphs <- &gapi.Declared{Name: "a"}
		reload <- struct{}{}
		synctest.Wait()
		graphs <- &gapi.Declared{Name: "b"}
		close(graphs)
		synctest.Wait()
		reload <- struct{}{}
		synctest.Wait()
		stop()
		var list []string
		for name := range got {
			list = append(list, name)
		}
		if !slices.Equal(list, []string{"error", "a", "a", "b", "b"}) {
			t.Errorf("yielded %v", list)
		}
	})
}

// Who asks gets the last graph again, unless its resources run already.
func TestReload(t *testing.T) {
	made := &gapi.Declared{Name: "ready", Resources: []gapi.Declaration{static.Declare("noop", "a", &ready{})}}
	for name, tt := range map[string]struct {
		f    *static.Frontend
		want []string
	}{
		"data":    {static.New(&gapi.Declared{Name: "a"}, &gapi.Declared{Name: "b"}), []string{"a", "b", "b", "b"}},
		"ready":   {static.New(made), []string{"ready", "error", "error"}},
		"nothing": {static.New(), []string{"error", "error"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				reload, done := make(chan struct{}, 1), make(chan struct{})
				var got []string
				go func() {
					defer close(done)
					for d, err := range tt.f.Graphs(ctx, gapi.Env{Reload: reload}) {
						if err != nil {
							got = append(got, "error")
						} else {
							got = append(got, d.Name)
						}
					}
				}()
				for range 2 {
					synctest.Wait()
					reload <- struct{}{}
				}
				synctest.Wait()
				stop()
				<-done
				if !slices.Equal(got, tt.want) {
					t.Errorf("yielded %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestDeclare(t *testing.T) {
	d := static.Declare("file", "/x", nil)
	if d.Kind != "file" || d.Name != "/x" {
		t.Errorf("%+v", d)
	}
}
