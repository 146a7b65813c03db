package plugin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/plugin"
)

// TestBatch: resources that are due together ask together, as many at a time as the provider takes. Each has its own outcome.
func TestBatch(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	var members []engine.Res
	for n := range 4 {
		members = append(members, b.res("toy:index:many", fmt.Sprint("thing", n), map[string]any{"color": "red"}).Res)
	}
	bad := b.res("toy:index:many", "bad", map[string]any{"color": "red", "size": 13})
	members = append(members, bad.Res)
	leader := members[0].(engine.Batcher)
	if a, err := engine.AbilitiesOf(members[0]); err != nil || !a.Batcher || leader.GroupKey() == "" || leader.GroupKey() != bad.Res.(engine.Batcher).GroupKey() {
		t.Errorf("%+v, %v, %q", a, err, leader.GroupKey())
	}
	alone := b.res("toy:index:thing", "alone", map[string]any{"color": "red"}).Res
	if a, err := engine.AbilitiesOf(alone); err != nil || a.Batcher || alone.(engine.Batcher).GroupKey() != "" {
		t.Errorf("%+v, %v", a, err)
	}
	check := func(apply bool, ok bool) {
		t.Helper()
		for i, o := range leader.CheckApplyBatch(t.Context(), apply, members) {
			if i == len(members)-1 {
				if o.Err == nil || !strings.Contains(o.Err.Error(), "13 is no size") {
					t.Error(o.Err)
				}
			} else if o.OK != ok || o.Err != nil {
				t.Errorf("%s: %t, %v", members[i], o.OK, o.Err)
			}
		}
	}
	check(false, false)
	check(true, false)
	check(true, true)
	if b.made() != 4 {
		t.Errorf("%d things were made", b.made())
	}
	text, err := os.ReadFile(filepath.Join(b.dir, "batches"))
	if err != nil {
		t.Fatal(err)
	}
	// Four members ask, and a batch has three calls: the fourth goes alone.
	if want := strings.Repeat("get get get\n", 2) + "create create create\n" + "get get get\n"; string(text) != want {
		t.Errorf("the batches are:\n%swant:\n%s", text, want)
	}
}

// TestBatchBroken: a provider that loses an outcome fails its own calls alone, and the error names it.
func TestBatchBroken(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	b.set = b.loadSet(fmt.Sprintf(`, "env": {%q: %q, %q: "short batch"}`, toyFolder, b.dir, toyBroken), plugin.Options{})
	b.kinds = newKinds(t, b.set)
	var members []engine.Res
	for n := range 2 {
		members = append(members, b.res("toy:index:many", fmt.Sprint("thing", n), map[string]any{"color": "red"}).Res)
	}
	for _, o := range members[0].(engine.Batcher).CheckApplyBatch(t.Context(), true, members) {
		if o.Err == nil || !strings.Contains(o.Err.Error(), "1 outcomes for a batch of 2 calls") {
			t.Error(o.Err)
		}
	}
}
