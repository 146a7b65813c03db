package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// TestFindingA7Confined: confined text prints as its length; its digest is the same for
// the same text and key, and says nothing without the key.
func TestFindingA7Confined(t *testing.T) {
	c := schema.NewConfined("canary-1")
	data, err := json.Marshal(map[string]any{"c": c, "d": c.Digest([]byte("key"))})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprintf("%v %+v %#v %s %q", c, c, c, c, c), string(data), fmt.Sprint(c.Digest(nil))} {
		if strings.Contains(s, "canary") || !strings.Contains(s, "8 bytes") {
			t.Error(s)
		}
	}
	same, other := schema.NewConfined("canary-1"), schema.NewConfined("canary-2")
	switch key := []byte("key"); {
	case c.Digest(key) != same.Digest(key), c.Digest(key) == other.Digest(key), c.Digest(key) == c.Digest([]byte("another")):
		t.Error(c.Digest(key), same.Digest(key), other.Digest(key))
	}
	if sum := schema.NewConfinedSum("abc", 99); sum.Digest(nil).Size != 99 || sum.Reveal() != "abc" {
		t.Error(sum)
	}
	if (schema.Confined{}).Reveal() != "" {
		t.Error("the zero one has a text")
	}
}
