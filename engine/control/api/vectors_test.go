package api_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/model/modeltest"
)

// scenario is one of the vectors for REST. A member that it does not have is a failure: it could be an expectation.
type scenario struct {
	ID, Group, Title, Provenance, Note, Recommend string
	Selective                                     bool
	Models                                        json.RawMessage
	Steps                                         []step
}

type step struct {
	Op, Method, Path string
	Note             string
	Body             json.RawMessage
	Headers          map[string]string
	Expect           struct {
		Status  int
		Body    json.RawMessage // null is an expectation, too
		Headers map[string]string
		Problem struct{ Fields []string }
	}
}

// scenarios reads the vectors. An absent or empty file is a failure.
func scenarios(t *testing.T) (all []scenario) {
	t.Helper()
	folder := "testdata"
	if v := os.Getenv("VECTORS"); v != "" {
		folder = filepath.Join(v, "dragonflow")
	}
	for _, name := range []string{"rest.json", "spec-rest.json"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Suite, Group, Oracle string
			Scenarios            []scenario
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&file); err != nil || len(file.Scenarios) == 0 {
			t.Fatalf("%s has no scenario: %v", name, err)
		}
		all = append(all, file.Scenarios...)
	}
	return all
}

// TestVectors plays what was seen on another system. A create on an existing id is a conflict here (df-150).
func TestVectors(t *testing.T) {
	for _, s := range scenarios(t) {
		t.Run(s.ID, func(t *testing.T) {
			for _, fault := range s.play(t) {
				t.Error(fault)
			}
		})
	}
}

// TestFalsified: a wrong expectation is noticed, whichever part of it is wrong.
func TestFalsified(t *testing.T) {
	all := scenarios(t)
	all[0].Steps[0].Expect.Status = 200
	all[0].Steps[1].Expect.Body = []byte("[]")
	all[0].Steps[2].Expect.Body = []byte("null")
	if got := len(all[0].play(t)); got != 3 {
		t.Errorf("%d of 3 faults are noticed", got)
	}
	last := all[len(all)-1]
	last.Steps[0].Expect.Problem.Fields[0] = "f"
	last.Steps[2].Expect.Headers["Location"] = "/a/2"
	if got := len(last.play(t)); got != 2 {
		t.Errorf("%d of 2 faults are noticed", got)
	}
}

// play returns what is not as it was expected.
func (s scenario) play(t *testing.T) (faults []string) {
	models, err := modeltest.Models(s.Models)
	if err != nil || len(s.Steps) == 0 {
		t.Fatalf("%s, with %d steps: %v", s.ID, len(s.Steps), err)
	}
	r := newRig(t, api.Options{}, models...)
	created := false
	for i, step := range s.Steps {
		fail := func(what string, got, want any) {
			faults = append(faults, s.ID+" step "+string(rune('0'+i))+": "+what+": "+asText(got)+", not "+asText(want))
		}
		if step.Op != "rest" {
			t.Fatalf("%s step %d: there is no op %q", s.ID, i, step.Op)
		}
		var header []string
		for k, v := range step.Headers {
			header = append(header, k, v)
		}
		a := r.ask(t, step.Method, "/v1/api"+step.Path, string(step.Body), header...)
		want := step.Expect
		var body any
		if want.Body != nil {
			if err := json.Unmarshal(want.Body, &body); err != nil {
				t.Fatal(err)
			}
		}
		if step.Method == "POST" && created && s.Recommend != "" {
			want.Status = 409
		} else if s.Recommend != "" && want.Body != nil {
			body.(map[string]any)["f"] = "x" // the second create has altered nothing
		}
		created = created || a.status == 201
		if a.status != want.Status {
			fail("the status", a.status, want.Status)
		}
		if want.Body != nil && !reflect.DeepEqual(a.value(t), body) {
			fail("the body", a.body, body)
		}
		for k, v := range want.Headers {
			got := strings.TrimPrefix(a.header.Get(k), "/v1/api")
			if got == "" || v != "*" && got != v {
				fail("the header "+k, got, v)
			}
		}
		if want.Problem.Fields != nil {
			var got []string
			for _, f := range a.problem(t).Errors {
				got = append(got, f.Field)
			}
			if !reflect.DeepEqual(got, want.Problem.Fields) {
				fail("the fields", got, want.Problem.Fields)
			}
		}
	}
	return faults
}

func asText(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
