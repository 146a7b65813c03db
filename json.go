package mgmt

import (
	"encoding/json"

	"github.com/reactivegraph/mgmt/engine/reactor"
)

// MarshalJSON writes the fields of the run and those of the step, with Err as its text; it is left out where it is nil.
func (s Step) MarshalJSON() ([]byte, error) {
	type run reactor.Run // without its MarshalJSON, which would leave the other fields out
	return json.Marshal(struct {
		run
		Err       string `json:",omitempty"`
		Because   []string
		BlockedBy string
		Left      bool
	}{run(s.Run), textOf(s.Err), s.Because, s.BlockedBy, s.Left})
}

// MarshalJSON writes the fields, with Err as its text; it is left out where it is nil, and so is Graph.
func (ev Event) MarshalJSON() ([]byte, error) {
	type fields Event // without this method
	return json.Marshal(struct {
		fields
		Err   string `json:",omitempty"`
		Graph int    `json:",omitempty"` // hides the function, which is no data
	}{fields: fields(ev), Err: textOf(ev.Err)})
}

// MarshalJSON writes the fields, with Refused as its text; it is left out where it is nil.
func (v Verdict) MarshalJSON() ([]byte, error) {
	type fields Verdict // without this method
	return json.Marshal(struct {
		fields
		Refused string `json:",omitempty"`
	}{fields(v), textOf(v.Refused)})
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
