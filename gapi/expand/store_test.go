package expand

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
)

func TestStoreIsAskedOnce(t *testing.T) {
	asked := map[string]int{}
	s := newStore(&Options{
		Hostname: "me",
		Hosts: func() map[string]map[string]any {
			asked["hosts"]++
			return map[string]map[string]any{"me": {"os": "old"}, "you": {"os": "bsd"}}
		},
		Scheduled: func(topic, name string) ([]string, string) {
			asked[topic+"/"+name]++
			return []string{"you"}, ""
		},
	})
	own := map[string]any{"os": "linux", "hostname": "other"}
	if s.answer(own) != nil || len(asked) > 0 {
		t.Errorf("a store that nothing has read was asked: %v", asked)
	}
	for range 2 {
		want := map[string]any{"me": own, "you": map[string]any{"os": "bsd"}}
		if got := s.all(own); !reflect.DeepEqual(got, want) {
			t.Errorf("hosts are %v", got)
		}
		if got, err := s.choice(scheduleKey{"all", "db"}, false); err != nil || !slices.Equal(got.hosts, []string{"you"}) {
			t.Errorf("chosen are %v, %v", got, err)
		}
	}
	if !maps.Equal(asked, map[string]int{"hosts": 1, "all/db": 1}) {
		t.Errorf("asked %v", asked)
	}
	// A formula runs when the graph is there: it has what was asked before, and asks nothing.
	if _, err := s.choice(scheduleKey{"all", "db"}, true); err != nil {
		t.Error(err)
	}
	if _, err := s.choice(scheduleKey{"all", "new"}, true); !errors.Is(err, errNotLoaded) {
		t.Errorf("a formula got %v", err)
	}
	if s.answer(own) == nil {
		t.Error("a choice was read, and is no part of the answer")
	}
}

func TestStoreWithoutOne(t *testing.T) {
	s := newStore(&Options{})
	own := map[string]any{"hostname": "alone"}
	if got := s.all(own); !reflect.DeepEqual(got, map[string]any{"alone": own}) {
		t.Errorf("hosts are %v", got)
	}
	if got, err := s.choice(scheduleKey{"all", "db"}, false); err != nil || len(got.hosts) > 0 {
		t.Errorf("chosen are %v, %v", got, err)
	}
	for _, args := range [][]any{{""}, {"db", "web"}, {"db", "group"}} {
		if _, err := keyOfSchedule(args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
	for _, topic := range []string{"all", "group:web", "host:a"} {
		if key, err := keyOfSchedule([]any{"db", topic}); err != nil || key != (scheduleKey{topic, "db"}) {
			t.Errorf("%s: %v, %v", topic, key, err)
		}
	}
}
