package hold_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
)

// TestBudgetText: a budget is written as it was read, and read again as it was.
func TestBudgetText(t *testing.T) {
	texts := []string{"", "1/1s", "20/5m", "3/1h", "3/1h30m", "7/100ms", "9/10h", "12.5%/1h", "0.1%/24h"}
	for share := range 100 {
		texts = append(texts, fmt.Sprintf("%d%%/1h", share+1))
	}
	for _, text := range texts {
		b, err := hold.ParseBudget(text)
		if err != nil || b.Validate() != nil {
			t.Errorf("%q: %v, %v", text, err, b.Validate())
		}
		if b.String() != text {
			t.Errorf("%q is written as %q", text, b)
		}
		if again, err := hold.ParseBudget(b.String()); again != b || err != nil {
			t.Errorf("%q: %+v is read again as %+v, %v", text, b, again, err)
		}
	}
	for _, text := range []string{"5", "/", "5/", "/5m", "0/1m", "-1/1m", "1.5/1m", "5/0s", "5/-1m", "5/m", "0%/1h", "101%/1h", "-1%/1h", "NaN%/1h", "%/1h", " 5/1m"} {
		if b, err := hold.ParseBudget(text); err == nil || b != (hold.Budget{}) {
			t.Errorf("%q is taken as %+v, %v", text, b, err)
		}
	}
}

// TestFlappingText: the bound of corrections is written as it was read.
func TestFlappingText(t *testing.T) {
	for _, text := range []string{"off", "2/1s", "25/1m", "100/1h30m"} {
		f, err := hold.ParseFlapping(text)
		if err != nil || f.Validate() != nil || f.String() != text {
			t.Errorf("%q: %+v, %q, %v, %v", text, f, f, err, f.Validate())
		}
	}
	for _, text := range []string{"1/1m", "0/1m", "-2/1m", "2/0s", "2/-1s", "2", "/", "x/1m", "2/x", "on"} {
		if f, err := hold.ParseFlapping(text); err == nil || f != (hold.Flapping{}) {
			t.Errorf("%q is taken as %+v, %v", text, f, err)
		}
	}
}

// TestValidate: bounds that were made by hand are judged as those that were read.
func TestValidate(t *testing.T) {
	rest := hold.Flapping{Times: 2, Within: 1, Pause: 2, PauseMax: 2}
	short, early := rest, rest
	short.PauseMax, early.Times = 1, 1
	for _, c := range []struct {
		bound interface{ Validate() error }
		right bool
	}{
		{hold.Budget{}, true}, {hold.Budget{Within: time.Hour}, true}, {hold.Budget{Share: 1, Within: 1}, true},
		{hold.Budget{Most: 1}, false}, {hold.Budget{Share: 0.5}, false}, {hold.Budget{Most: -1, Within: 1}, false},
		{hold.Budget{Share: 1.1, Within: 1}, false}, {hold.Budget{Share: -1, Within: 1}, false},
		{hold.Flapping{}, true}, {rest, true}, {short, false}, {early, false},
		{hold.Flapping{Times: 2, Pause: 1, PauseMax: 1}, false}, {hold.Flapping{Times: 2, Within: 1}, false},
		{hold.Storm{}, true}, {hold.DefaultStorm(), true},
		{hold.Storm{Runs: 1, Within: 1}, false}, {hold.Storm{Runs: 2}, false}, {hold.Storm{Runs: -1, Within: 1}, false},
	} {
		if err := c.bound.Validate(); (err == nil) != c.right {
			t.Errorf("%T %+v: %v", c.bound, c.bound, err)
		}
	}
}
