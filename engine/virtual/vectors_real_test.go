package virtual_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/virtual"
)

// We do otherwise than the cases say in one thing: functions that are other names are compared with the interface
// like all others, and the cases leave their differences out.

type matrixFile struct {
	Virtual, Reference string
	Summary            struct {
		Functions    int
		InEvery      []string `json:"in_every_backend"`
		InEveryOne   []string `json:"in_every_backend_with_one_signature"`
		InHalfOrMore []string `json:"in_half_or_more"`
		InOneOnly    int      `json:"in_one_backend_only"`
	}
	Functions map[string]struct {
		PresentIn int `json:"present_in"`
		Distinct  int `json:"distinct_signatures"`
		Backends  map[string]struct {
			Status, Signature, Of string
			Differs               []map[string]any `json:"differs_from_reference"`
		}
	}
	Parameters map[string]map[string][]vectorParam
}

var matrices = []string{"pkg", "service", "user", "group"}

func readMatrix(t *testing.T, name string) matrixFile {
	t.Helper()
	var m matrixFile
	vectorFile(t, "matrix-"+name+".json", &m)
	if len(m.Functions) == 0 {
		t.Fatalf("no function in the matrix of %s", name)
	}
	return m
}

// backend makes one of the backends of the matrix, its functions sorted.
func (m *matrixFile) backend(t *testing.T, name string) *virtual.Backend {
	t.Helper()
	b := &virtual.Backend{Name: name, Module: m.Virtual}
	for fn, f := range m.Functions {
		cell := f.Backends[name]
		if cell.Status == "absent" {
			continue
		}
		params, there := m.Parameters[name][fn]
		if !there && cell.Status == "alias" {
			params = m.Parameters[name][cell.Of]
		}
		v := vectorFunction{Name: fn, Params: params, AliasOf: cell.Of}
		b.Functions = append(b.Functions, v.function(t))
	}
	slices.SortFunc(b.Functions, func(a, b virtual.Function) int { return cmp.Compare(a.Name, b.Name) })
	return b
}

// TestMatrixVectors: real backends, each function of each: its signature, and how
// it differs from that of the reference.
func TestMatrixVectors(t *testing.T) {
	for _, name := range matrices {
		t.Run(name, func(t *testing.T) {
			m := readMatrix(t, name)
			reference := m.backend(t, m.Reference)
			backends := []*virtual.Backend{}
			for b := range m.Parameters {
				backends = append(backends, m.backend(t, b))
			}
			for fn, f := range m.Functions {
				for _, b := range backends {
					cell, have := f.Backends[b.Name], functionOf(b, fn)
					if have == nil {
						continue
					}
					if got := have.Signature(); got != cell.Signature {
						t.Errorf("%s.%s%s, want %s", b.Name, fn, got, cell.Signature)
					}
					want := functionOf(reference, fn)
					if want == nil || b.Name == m.Reference || cell.Status == "alias" {
						continue
					}
					sameDifferences(t, b.Name+"."+fn, virtual.Compare(want, have), cell.Differs)
				}
			}
			m.summary(t, backends)
		})
	}
}

func functionOf(b *virtual.Backend, name string) *virtual.Function {
	i := virtual.Interface{Functions: b.Functions}
	return i.Function(name)
}

// summary compares what Spread counts with what the file does.
func (m *matrixFile) summary(t *testing.T, backends []*virtual.Backend) {
	t.Helper()
	var every, everyOne, half []string
	one := 0
	spread := virtual.Spread(backends)
	for _, s := range spread {
		f := m.Functions[s.Function]
		if len(s.Backends) != f.PresentIn || len(s.Signatures) != f.Distinct {
			t.Errorf("%s: in %d with %d signatures, want %d, %d", s.Function, len(s.Backends), len(s.Signatures), f.PresentIn, f.Distinct)
		}
		switch n := len(s.Backends); {
		case n == len(backends):
			every = append(every, s.Function)
			if len(s.Signatures) == 1 {
				everyOne = append(everyOne, s.Function)
			}
		case 2*n >= len(backends):
			half = append(half, s.Function)
		case n == 1:
			one++
		}
	}
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"functions", len(spread), m.Summary.Functions},
		{"in every one", every, m.Summary.InEvery},
		{"with one signature", everyOne, m.Summary.InEveryOne},
		{"in half", half, m.Summary.InHalfOrMore},
		{"in one", one, m.Summary.InOneOnly},
	} {
		if fmt.Sprint(c.got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
}

// sameDifferences compares differences with those of a case.
func sameDifferences(t *testing.T, where string, got []virtual.Difference, want []map[string]any) {
	t.Helper()
	var have, need []string
	for _, d := range got {
		text := d.Kind.String() + " " + d.Param + " " + d.To
		if d.Kind == virtual.DefaultDiffers {
			text += d.Want + " " + d.Have
		}
		have = append(have, text)
	}
	for _, w := range want {
		param, _ := w["param"].(string)
		to, _ := w["to"].(string)
		text := fmt.Sprint(w["kind"]) + " " + param + " " + to
		if w["kind"] == "default" {
			text += fmt.Sprint(w["interface"], " ", w["backend"])
		}
		need = append(need, text)
	}
	if !slices.Equal(have, need) {
		t.Errorf("%s: differences\n%q, want\n%q", where, have, need)
	}
}

// TestRealVectors: interfaces made from a real backend, checked on other real ones.
func TestRealVectors(t *testing.T) {
	var file struct {
		Rules     struct{ Severity map[string]string }
		Scenarios []struct {
			ID, Virtual, Reference, Backend string
			Expect                          map[string][]string
			Mismatch                        map[string][]map[string]any `json:"mismatch_detail"`
			Tolerated                       map[string][]map[string]any `json:"differences_tolerated"`
		}
	}
	vectorFile(t, "checker-real.json", &file)
	if len(file.Scenarios) == 0 {
		t.Fatal("no scenario")
	}
	for _, s := range file.Scenarios {
		t.Run(s.ID, func(t *testing.T) {
			m := readMatrix(t, s.Virtual)
			i := virtual.Generate(s.Virtual, false, m.backend(t, s.Reference))
			got := map[string][]string{}
			for _, v := range virtual.Check(i, m.backend(t, s.Backend), nil) {
				got[v.Status.String()] = append(got[v.Status.String()], v.Function)
				want := s.Tolerated[v.Function]
				if v.Status == virtual.SignatureMismatch {
					want = s.Mismatch[v.Function]
				}
				if m.Functions[v.Function].Backends[s.Backend].Status != "alias" {
					sameDifferences(t, v.Function, v.Differences, want)
				}
				for _, d := range v.Differences {
					if rule, got := file.Rules.Severity[d.Kind.String()], d.Severity().String(); rule != got {
						t.Errorf("%s: %s is %s, want %s", v.Function, d, got, rule)
					}
				}
			}
			for _, names := range got {
				slices.Sort(names)
			}
			if !reflect.DeepEqual(got, s.Expect) {
				t.Errorf("statuses\n%v, want\n%v", got, s.Expect)
			}
		})
	}
}

// TestReturnsVectors: what real backends return for the same call is a table for
// people; it must be there, and name functions.
func TestReturnsVectors(t *testing.T) {
	var file struct{ Functions map[string]map[string]any }
	vectorFile(t, "returns.json", &file)
	if len(file.Functions) == 0 {
		t.Fatal("no function")
	}
	for name, rows := range file.Functions {
		if !strings.Contains(name, ".") || len(rows) == 0 {
			t.Errorf("%s: %v", name, rows)
		}
	}
}

// TestVectorsAreThere: no files are a failure, and not a test that has nothing to do.
func TestVectorsAreThere(t *testing.T) {
	dir := filepath.Join(cmp.Or(os.Getenv("VECTORS"), "testdata"), "salt")
	names, err := filepath.Glob(filepath.Join(dir, "checker-*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files of scenarios (%v)", len(names), err)
	}
}
