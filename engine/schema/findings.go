package schema

import (
	"fmt"
	"slices"
)

// MaxFindings is how many findings of each severity Findings keeps. It is far more than
// a person reads, and bounds the memory that a broken input takes.
const MaxFindings = 1000

// Findings collects the faults of one input. It keeps the first MaxFindings of each
// severity and counts the rest, so that no input, however broken, has much said of it.
// The zero value is empty and ready to use. It is for one goroutine. Its owner hands it
// on as a value of All.
type Findings struct {
	kept [numSeverities]Diagnostics // by severity
	more [numSeverities]int
}

// Add adds findings. A finding that stands for others (Diagnostic.More) counts as
// many.
func (f *Findings) Add(ds ...Diagnostic) {
	for _, d := range ds {
		kept := &f.kept[d.Severity]
		switch {
		case d.More > 0:
			f.more[d.Severity] += d.More
		case len(*kept) < MaxFindings:
			*kept = append(*kept, d)
		default:
			f.more[d.Severity]++
		}
	}
}

// Merge adds what another one has. The other one stays as it is.
func (f *Findings) Merge(o *Findings) {
	for s, ds := range o.kept {
		f.Add(ds...)
		f.more[s] += o.more[s]
	}
}

// Errorf adds a finding of severity Error.
func (f *Findings) Errorf(pos Pos, format string, args ...any) {
	f.Add(Diagnostic{Pos: pos, Message: fmt.Sprintf(format, args...)})
}

// Errors returns how many errors were added, kept or not.
func (f *Findings) Errors() int { return len(f.kept[Error]) + f.more[Error] }

// All returns the kept findings, sorted by position. Then, for each severity with
// further ones, comes a finding that stands for them. It returns a new list each time.
func (f *Findings) All() Diagnostics {
	all := slices.Concat(f.kept[:]...)
	for s, n := range f.more {
		if n > 0 {
			sev := Severity(s)
			all = append(all, Diagnostic{Severity: sev, More: n, Message: fmt.Sprintf("and %d more %ss", n, sev)})
		}
	}
	all.Sort()
	return all
}
