package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestAnswersAreBounded: whatever makes an answer long, it has at most 64 KiB of JSON, says that it is shortened, and has what fits.
func TestAnswersAreBounded(t *testing.T) {
	many := func(n, size int) (list []string) {
		for range n {
			list = append(list, strings.Repeat("x", size))
		}
		return list
	}
	keys := map[string]int{}
	for i := range 10_000 {
		keys[fmt.Sprintf("key-%d", i)] = i
	}
	for name, c := range map[string]struct {
		value  any
		failed error
		error  string // a part of that of the answer
	}{
		"a long text":     {value: strings.Repeat("x", 1<<20)},
		"many texts":      {value: many(100_000, 3)},
		"many long texts": {value: many(1000, 10_000)},
		"few long texts":  {value: many(10, MaxAnswer/8)},
		"escaped texts":   {value: strings.Repeat("\u202e", MaxAnswer)},
		"a long error":    {failed: errors.New(strings.Repeat("e", 1<<20)), error: "eee"},
		"too many keys":   {value: keys, error: "ask for less"},
		"lists in lists":  {value: [][]string{many(900, 50), many(900, 50)}},
	} {
		whole, err := json.Marshal(c.value)
		if err != nil {
			t.Fatal(err)
		}
		a, err := marked(c.value, c.failed)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := encoded(a)
		if err != nil || len(text) > MaxAnswer {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
		if cut := len(whole) > MaxAnswer && c.error == "" || c.failed != nil; cut && !a.Shortened {
			t.Errorf("%s: nothing says that it is shortened", name)
		}
		if !strings.Contains(a.Error, c.error) || (c.error == "") != (a.Error == "") || (a.Data == nil) != (c.error != "") {
			t.Errorf("%s: the error is %.80q, the data %.80v", name, a.Error, a.Data)
		}
		if c.error == "" && len(text) < 1000 {
			t.Errorf("%s: %d bytes are left of %d", name, len(text), len(whole))
		}
	}
	list, err := marked(many(100_000, 3), nil)
	if err != nil || list.Omitted < 99_000 {
		t.Errorf("%d are omitted, %v", list.Omitted, err)
	}
}
