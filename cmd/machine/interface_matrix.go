package machine

import "github.com/reactivegraph/mgmt/engine/virtual"

// matrixJSON is a module in JSON, with the effect of a call of each function by each
// backend.
type matrixJSON struct {
	Module    string        `json:"module"`
	Doc       string        `json:"doc,omitempty"`
	Backends  []backendJSON `json:"backends"`
	Functions []cellsJSON   `json:"functions"`
}

// cellsJSON is a row of the matrix.
type cellsJSON struct {
	Function  string              `json:"function"`
	Signature string              `json:"signature"`
	Backends  map[string]cellJSON `json:"backends"`
}

// cellJSON is what a call of a function does by one backend, on a machine for which that is made.
type cellJSON struct {
	Status      virtual.Status   `json:"status"`
	Refused     string           `json:"refused,omitempty"` // why no call can pass although the function is there
	Lacks       []string         `json:"lacks,omitempty"`   // parameters that the backend does not have
	Differences []differenceJSON `json:"differences,omitempty"`
}

// newMatrixJSON describes which backend has which function, one row for each function.
func newMatrixJSON(i *virtual.Interface, backends []*virtual.Backend) matrixJSON {
	out := matrixJSON{Module: i.Module, Doc: i.Doc, Backends: []backendJSON{}, Functions: []cellsJSON{}}
	rows := map[string]int{}
	for n := range i.Functions {
		f := &i.Functions[n]
		rows[f.Name] = n
		out.Functions = append(out.Functions, cellsJSON{f.Name, f.Signature(), map[string]cellJSON{}})
	}
	for _, b := range backends {
		out.Backends = append(out.Backends, newBackendJSON(b))
		// Typical facts are those of a machine for which the backend is made, so the matrix is the
		// same everywhere.
		for _, v := range virtual.Check(i, b, b.Typical()) {
			row, declared := rows[v.Function]
			if !declared {
				// A function that only backends have gets a row at the end, in the order of its first
				// backend.
				row = len(out.Functions)
				rows[v.Function] = row
				out.Functions = append(out.Functions, cellsJSON{v.Function, ownFunction(b, v.Function).Signature(), map[string]cellJSON{}})
			}
			out.Functions[row].Backends[b.Name] = newCellJSON(&v)
		}
	}
	return out
}

// newCellJSON describes one function of one backend: its status and the parameters that it
// lacks.
func newCellJSON(v *virtual.Verdict) cellJSON {
	c := cellJSON{Status: v.Status, Refused: v.Misfit()}
	for _, d := range v.Differences {
		if d.Kind == virtual.Missing {
			c.Lacks = append(c.Lacks, d.Param)
		}
		c.Differences = append(c.Differences, differenceJSON{d.Kind.String(), d.Severity().String(), d.String()})
	}
	return c
}

// ownFunction returns a function of a backend.
// It is nil where the backend has no such function; each name of a verdict has one.
func ownFunction(b *virtual.Backend, name string) *virtual.Function {
	own := virtual.Interface{Functions: b.Functions}
	return own.Function(name)
}
