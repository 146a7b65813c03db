package file

import (
	"fmt"
	"os"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

var filePriors = [][]string{
	{}, {"p=old"}, {"p="}, {"p=wanted"}, {"p/"}, {"p/", "p/x=X"}, {"p/", "p/a=A", "p/sub/", "p/sub/b=drift"},
	{"p/", "p/sub -> ../src"}, {"p -> q"}, {"p -> target"}, {"p -> folder"}, {"p -> p"}, {"p/", "p/a/"},
}

// drawFile draws any valid resource for DIR/p.
func drawFile(t *rapid.T, dir string) *Res {
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	yes := func(label string) bool { return rapid.Bool().Draw(t, label) }
	r := &Res{Path: dir + "/p" + pick("slash", "", "/"), State: pick("state", "", Exists, Absent, Undefined)}
	r.Recurse, r.Force, r.Purge, r.Symlink = yes("recurse"), yes("force"), yes("purge"), yes("symlink")
	r.Mode = schema.Mode(pick("mode", "", "0600", "u=rw,go=", "a+x", "2755"))
	switch pick("body", "none", "content", "source", "folder", "fragments", "link") {
	case "content":
		r.Content = new(pick("content", "", "wanted"))
	case "source":
		r.Source = dir + "/src/a"
	case "folder":
		r.Source = dir + "/src/"
	case "fragments":
		r.Fragments = []string{dir + "/src/a", dir + "/src/"}
	case "link":
		r.Source = "target"
	}
	return r
}

func rapidMust(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// TestFileProperties takes any wish and any past, and checks that looking alters
// nothing and says what applying then does, that applying is complete or fails,
// and that no temporary file remains.
func TestFileProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		rapidMust(rt, err)
		kindtest.Grow(t, dir, "src/", "src/a=A", "src/sub/", "src/sub/b=B", "src/sub/l -> ../a", "target=wanted", "folder/", "folder/x=X")
		kindtest.Grow(t, dir, rapid.SampledFrom(filePriors).Draw(rt, "prior")...)
		r := drawFile(rt, dir)
		for range 100 { // one in ten is valid, and rapid gives up where it skips too many
			r.SetKind("file")
			r.SetName("p")
			if r.Validate() == nil {
				break
			}
			r = drawFile(rt, dir)
		}
		if r.Validate() != nil {
			rt.Skip("not valid")
		}
		fake := enginetest.NewInit(t)
		rapidMust(rt, r.Init(fake.Init()))
		checkHonest(rt, t, fake, r, dir)
	})
}

func checkHonest(rt *rapid.T, t *testing.T, fake *enginetest.Fake, r *Res, dir string) {
	run := func(apply bool) (bool, []engine.Change, error) {
		fake.Reset()
		ok, err := r.CheckApply(t.Context(), apply)
		return ok, fake.Changes(), err
	}
	before := enginetest.Snapshot(t, dir)
	_, plan, planErr := run(false)
	if now := enginetest.Snapshot(t, dir); len(before.Changed(now)) > 0 {
		rt.Fatalf("looking altered %v", before.Changed(now))
	}
	ok, did, err := run(true)
	if fmt.Sprint(err) != fmt.Sprint(planErr) {
		rt.Fatalf("looking failed with %v, applying with %v", planErr, err)
	}
	if !reflect.DeepEqual(plan, did) {
		rt.Fatalf("the plan was %v, done was %v", plan, did)
	}
	names, _ := atomicfile.At(dir).Names()
	for _, n := range names {
		if atomicfile.IsTemp(n) {
			rt.Fatalf("%s is left", n)
		}
	}
	if err != nil {
		return
	}
	if ok != (len(did) == 0) {
		rt.Fatalf("it returned %t with the changes %v", ok, did)
	}
	for _, apply := range []bool{false, true} {
		if ok, again, err := run(apply); !ok || err != nil {
			rt.Fatalf("once more (%t): %v, %v", apply, again, err)
		}
	}
}
