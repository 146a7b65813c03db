package yaml

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// maxFindings bounds what is kept of what is wrong with one file.
const maxFindings = 1000

// findings collects errors, and counts those beyond the bound.
type findings struct {
	list schema.Diagnostics
	more int
}

func (f *findings) add(d schema.Diagnostic) {
	if len(f.list) < maxFindings {
		f.list = append(f.list, d)
	} else {
		f.more++
	}
}

func (f *findings) errorf(pos schema.Pos, format string, args ...any) {
	f.add(schema.Diagnostic{Pos: pos, Message: fmt.Sprintf(format, args...)})
}

// count returns how many there were, kept or not.
func (f *findings) count() int { return len(f.list) + f.more }

// all returns what was kept, and a word about the rest.
func (f *findings) all(file string) schema.Diagnostics {
	if f.more > 0 {
		f.list.Errorf(schema.Pos{File: file}, "%d more errors are not shown", f.more)
		f.more = 0
	}
	return f.list
}
