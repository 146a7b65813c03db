package modeltest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
)

// Vectors runs each scenario of the folder on every store. Scenarios that touch the database run on every World, too.
func Vectors(t *testing.T, c Config) {
	for _, s := range c.scenarios(t) {
		t.Run(s.ID, func(t *testing.T) {
			if err := playAll(t, s, c); err != nil {
				t.Errorf("%s: %s (%s): %v", s.Group, s.Title, s.Provenance, err)
			}
		})
	}
}

// scenarios returns the scenarios of a Config. None at all is a failure, as an empty folder is.
func (c Config) scenarios(t *testing.T) []*scenario {
	t.Helper()
	all := mustLoad(t)
	if c.Database {
		all = slices.DeleteFunc(all, func(s *scenario) bool { return !s.database() })
	}
	if len(all) == 0 {
		t.Fatal("no scenario touches the database")
	}
	return all
}

// database reports whether a scenario touches the database.
func (s *scenario) database() bool {
	return slices.ContainsFunc(s.Steps, func(step map[string]any) bool { return usesDatabase(asText(step["op"])) })
}

// playAll plays a scenario on each store with the first World. A scenario that touches the database is played on each World
// with the first store, too. Other pairs would show nothing new.
func playAll(t *testing.T, s *scenario, c Config) error {
	database := s.database()
	var errs []error
	for i, store := range c.Stores {
		for j, world := range c.Worlds {
			if i > 0 && j > 0 || j > 0 && !database {
				continue
			}
			if err := play(t.Context(), s, c, store, world); err != nil {
				errs = append(errs, fmt.Errorf("on %s and %s: %w", store.Name, world.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// Falsify alters each expectation of each scenario, one at a time, and asks that the run fails then.
func Falsify(t *testing.T, c Config) {
	altered := 0
	for _, s := range c.scenarios(t) {
		for i, step := range s.Steps {
			want := asMap(step["expect"])
			for _, key := range slices.Sorted(maps.Keys(want)) {
				c2 := *s
				c2.Steps = slices.Clone(s.Steps)
				c2.Steps[i] = maps.Clone(step)
				c2.Steps[i]["expect"] = lieAbout(want, key, s.Recommend != "")
				altered++
				if err := play(t.Context(), &c2, c, c.Stores[0], c.Worlds[0]); err == nil {
					t.Errorf("%s passes with %s of step %d falsified to %v", s.ID, key, i, c2.Steps[i]["expect"])
				}
			}
		}
	}
	if altered == 0 {
		t.Error("there was no expectation to falsify")
	}
}

// lieAbout returns an expectation with one wrong value. Where something is recommended, the other truth value may be just
// that, so the lie is a text there.
func lieAbout(want map[string]any, key string, recommends bool) map[string]any {
	lie := maps.Clone(want)
	if lie[key] = falsified(key, want[key]); recommends && lie[key] == (want[key] == false) {
		lie[key] = "falsified"
	}
	if key == "ok" {
		delete(lie, "ok")
		lie["error"] = "falsified"
	}
	return lie
}

// falsified returns another value of the same shape. Entries of calls and writes are compared loosely in part, so those
// lists get another entry. So do lists with repeats: without the repeat, such a list is what is recommended.
func falsified(key string, v any) any {
	switch x := v.(type) {
	case bool:
		return !x
	case string:
		return x + "x"
	case []any:
		repeats := len(x) > 1 && len(slices.CompactFunc(slices.Clone(x), same)) < len(x)
		if len(x) > 0 && !repeats && key != "calls" && key != "writes" {
			return x[1:]
		}
		return append(slices.Clone(x), []any{"falsified"})
	case map[string]any:
		lie := maps.Clone(x)
		lie["falsified"] = true
		return lie
	case nil:
		return "falsified"
	}
	return 4711
}
