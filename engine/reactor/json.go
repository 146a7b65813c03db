package reactor

import (
	"encoding/json"

	"github.com/reactivegraph/mgmt/engine/resgraph"
)

// Named returns the number of vertices by the word for their state. States without a vertex are left out.
func (c Counts) Named() map[string]int {
	named := map[string]int{}
	for s, n := range c {
		if n > 0 {
			named[resgraph.State(s).String()] = n
		}
	}
	return named
}

// CountsOf is the inverse of Counts.Named. A word that is no state, such as one of a newer version, is left out.
func CountsOf(named map[string]int) (c Counts) {
	for s := range c {
		c[s] = named[resgraph.State(s).String()]
	}
	return c
}

// MarshalJSON writes Named.
func (c Counts) MarshalJSON() ([]byte, error) { return json.Marshal(c.Named()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Counts) UnmarshalJSON(text []byte) error {
	var named map[string]int
	err := json.Unmarshal(text, &named)
	*c = CountsOf(named)
	return err
}

// MarshalJSON writes the fields, with Err as its text; it is left out where it is nil.
func (s Status) MarshalJSON() ([]byte, error) {
	type fields Status // without this method
	return json.Marshal(struct {
		fields
		Err string `json:",omitempty"`
	}{fields(s), textOf(s.Err)})
}

// MarshalJSON writes the fields, with Err as its text; it is left out where it is nil.
func (r Run) MarshalJSON() ([]byte, error) {
	type fields Run // without this method
	return json.Marshal(struct {
		fields
		Err string `json:",omitempty"`
	}{fields(r), textOf(r.Err)})
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
