package feed_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/internal/feed"
	"github.com/reactivegraph/mgmt/internal/install"
)

// follower is a frontend with a graph at the start and one after each reload, until it has given so many.
type follower struct {
	name string
	most int
}

func (f follower) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	return func(yield func(*gapi.Declared, error) bool) {
		for n := 1; n <= f.most; n++ {
			if !yield(&gapi.Declared{Name: fmt.Sprint(f.name, n)}, nil) {
				return
			}
			if n == f.most {
				return
			}
			select {
			case <-env.Reload:
			case <-ctx.Done():
				return
			}
			if err := env.Before(ctx); err != nil && !yield(nil, err) {
				return
			}
		}
	}
}

// log is the transcript of a feed.
type log struct {
	lines  []string
	refuse map[string]bool // graphs by name
	wrong  error           // of each graph; nil for none
}

// Take answers for the engine. Each graph has the generation of its number among all.
func (l *log) Take(_ context.Context, d *gapi.Declared, wrong error, from *string) (install.Verdict, error) {
	name := "none"
	if d != nil {
		name = d.Name
	}
	line := "take " + name
	if from != nil {
		line += " from " + *from
	}
	if wrong == nil && l.refuse[name] {
		wrong = errors.New("bad graph")
	}
	wrong = cmp.Or(wrong, l.wrong)
	if wrong != nil {
		line += ": " + wrong.Error()
	}
	l.lines = append(l.lines, line)
	return install.Verdict{Generation: len(l.lines), Refused: wrong}, wrong
}

func (l *log) refused(err error) { l.lines = append(l.lines, "refused: "+err.Error()) }

func (l *log) compare(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(l.lines, want) {
		t.Errorf("the transcript is\n%s\nwant\n%s", strings.Join(l.lines, "\n"), strings.Join(want, "\n"))
	}
}

// TestAnswers: each question gets the verdict on a graph that was read after it; where there are no more graphs, that is the answer.
func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{refuse: map[string]bool{"a2": true}}
		asks := make(chan chan install.Verdict)
		f := feed.New(feed.Options{Reload: make(chan struct{}), Asks: asks, To: l, Refused: l.refused})
		ended := make(chan error, 1)
		go f.Answer(t.Context())
		go func() { ended <- f.Run(t.Context(), follower{"a", 3}) }()
		var got []string
		for range 4 {
			answer := make(chan install.Verdict, 1)
			asks <- answer
			got = append(got, fmt.Sprint((<-answer).Refused))
			synctest.Wait()
		}
		if want := []string{"bad graph", "<nil>", feed.ErrNoMore.Error(), feed.ErrNoMore.Error()}; !slices.Equal(got, want) {
			t.Errorf("the answers are %q, want %q", got, want)
		}
		if err := <-ended; err != nil {
			t.Errorf("the feed ends by %v", err)
		}
		l.compare(t, "take a1", "take a2: bad graph", "refused: bad graph", "take a3")
	})
}

// TestMoves: a reload goes over to another source once its first graph is taken; a refused graph leaves the frontend before.
func TestMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{refuse: map[string]bool{"bad1": true}}
		sources := []*feed.Source{
			{Frontend: follower{"bad", 9}, Input: "bad.yaml", Taken: func() { t.Error("a refused source counts") }},
			nil,
			{Frontend: follower{"b", 9}, Input: "b.yaml", Taken: func() { l.lines = append(l.lines, "taken b") }},
			nil,
		}
		plain := make(chan struct{})
		f := feed.New(feed.Options{Reload: plain, To: l, Refused: l.refused, Before: func(context.Context) (*feed.Source, error) {
			next := sources[0]
			sources = sources[1:]
			return next, nil
		}})
		ctx, end := context.WithCancel(t.Context())
		go f.Answer(ctx)
		ended := make(chan error, 1)
		go func() { ended <- f.Run(ctx, follower{"a", 9}) }()
		for range 4 {
			synctest.Wait()
			plain <- struct{}{}
		}
		synctest.Wait()
		end()
		if err := <-ended; err != nil {
			t.Errorf("the feed ends by %v", err)
		}
		l.compare(t, "take a1", "take bad1 from bad.yaml: bad graph", "refused: bad graph", "take a2", "take a3",
			"take b1 from b.yaml", "taken b", "take b2")
	})
}

// TestEnds: a strict feed ends with the error of its first graph, unless that is held; another one with the last error if nothing was good.
func TestEnds(t *testing.T) {
	held := &reactor.RemovalsError{}
	for _, c := range []struct {
		name    string
		options feed.Options
		refuse  string
		wrong   error
		want    string
	}{
		{name: "all is good", want: "<nil>"},
		{name: "strict", options: feed.Options{Strict: true}, refuse: "a1", want: "bad graph"},
		{name: "strict, and held", options: feed.Options{Strict: true}, wrong: held, want: held.Error()},
		{name: "not strict", refuse: "a1", want: "bad graph"},
		{name: "the first alone", options: feed.Options{First: true}, want: "<nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				defer end()
				l := &log{refuse: map[string]bool{c.refuse: true}, wrong: c.wrong}
				o := c.options
				o.Refused, o.To = l.refused, l
				f := feed.New(o)
				go f.Answer(ctx)
				if err := f.Run(ctx, follower{"a", 1}); fmt.Sprint(err) != c.want {
					t.Errorf("the feed ends by %v, want %s", err, c.want)
				}
				if told := slices.ContainsFunc(l.lines, func(s string) bool { return strings.HasPrefix(s, "refused") }); told != (c.want != "<nil>" && !(c.options.Strict && c.wrong == nil)) {
					t.Errorf("the transcript is %q", l.lines)
				}
			})
		})
	}
}
