package engine_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestFindingC1RetryNever: a graph that says retry: 0 says never, and a graph that says
// nothing means the default, as the zero value in Go does.
func TestFindingC1RetryNever(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		meta any
		want int
	}{
		{map[string]any{}, engine.RetryDefault},
		{map[string]any{"delay": 5}, engine.RetryDefault},
		{map[string]any{"retry": 0}, engine.RetryNever},
		{map[string]any{"retry": -1}, engine.RetryForever},
		{map[string]any{"retry": 7}, 7},
	} {
		n, err := schema.NodeOf(c.meta)
		if err != nil {
			t.Fatal(err)
		}
		m := new(engine.MetaParams)
		if err := engine.DecodeMeta(n, m).Err(); err != nil || m.Retry != c.want {
			t.Errorf("%v is %d, %v", c.meta, m.Retry, err)
		}
		if err := m.Validate(); err != nil {
			t.Errorf("%v: %v", c.meta, err)
		}
	}
	if engine.DecodeMeta(nil, new(engine.MetaParams)) != nil {
		t.Error("nothing is wrong")
	}
	never := &engine.MetaParams{Retry: engine.RetryNever}
	if never.Equal(&engine.MetaParams{}) || never.Cmp(&engine.MetaParams{}) == nil {
		t.Error("never is the default")
	}
	for _, bad := range []int{-2, -7} {
		if (&engine.MetaParams{Retry: bad}).Validate() == nil {
			t.Errorf("%d is allowed", bad)
		}
	}
}
