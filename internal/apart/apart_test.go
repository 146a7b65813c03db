package apart_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/internal/apart"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// leave ends its goroutine.
func leave() { runtime.Goexit() }

// TestCall: an error comes back as it is, and the end of the goroutine as one that names the function.
func TestCall(t *testing.T) {
	no := errors.New("no")
	if err := apart.Call("it", func() error { return nil }); err != nil {
		t.Error(err)
	}
	if err := apart.Call("it", func() error { return no }); err != no {
		t.Error(err)
	}
	then := make(chan error)
	apart.Go("it", func() error { return no }, func(err error) { then <- err })
	if err := <-then; err != no {
		t.Error(err)
	}
	for name, f := range map[string]func(){"leave": leave} {
		err := apart.Call("it", func() error { f(); return nil })
		p, ok := err.(*callsafe.PanicError)
		if !ok || !p.Exited || !strings.HasPrefix(err.Error(), "it has not returned: runtime.Goexit was called, in ") || !strings.Contains(err.Error(), "apart_test."+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEach: after a call that ends the goroutine the next one goes on, and after an error none.
func TestEach(t *testing.T) {
	no := errors.New("no")
	for _, c := range []struct {
		exits       []int
		fails, from int
		want        []int
	}{
		{nil, -1, 0, []int{0, 1, 2, 3}},
		{[]int{0, 1, 3}, -1, 0, []int{0, 1, 2, 3}},
		{[]int{3}, -1, 2, []int{2, 3}},
		{[]int{1}, 2, 0, []int{0, 1, 2}},
		{nil, -1, 4, nil},
	} {
		var called, exited []int
		err := apart.Each("it", c.from, 4, func(i int) error {
			called = append(called, i)
			if slices.Contains(c.exits, i) {
				leave()
			}
			if i == c.fails {
				return no
			}
			return nil
		}, func(i int, err error) {
			if err == nil {
				t.Error("no error")
			}
			exited = append(exited, i)
		})
		if !slices.Equal(called, c.want) || !slices.Equal(exited, c.exits) || (err == no) != (c.fails >= 0) {
			t.Errorf("%+v: called %v, exited %v, %v", c, called, exited, err)
		}
	}
}
