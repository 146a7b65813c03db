package resources

import (
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// What is in a file that not all users of the machine may read is not for all who read the
// log either: changes of it are reported as confined text, of which a digest is shown.

// isConfined reports whether permissions shut other users out.
func isConfined(perm uint32) bool { return perm&0o004 == 0 }

// confined returns a text of a Change as one that not all may read. A text that stands
// for a long content stays the same for the same content; what is empty stays empty.
func confined(v any) any {
	s, ok := v.(string)
	if !ok || s == "" {
		return v
	}
	if fileShownSum.MatchString(s) {
		var size int64
		if _, err := fmt.Sscanf(s, "(%d bytes", &size); err == nil {
			return schema.NewConfinedSum(s, size)
		}
	}
	return schema.NewConfined(s)
}

// confinedChange returns a change whose texts not all may read.
func confinedChange(c engine.Change) engine.Change {
	c.From, c.To = confined(c.From), confined(c.To)
	return c
}

// isConfinedFile reports whether a file is there, and shuts other users out.
func isConfinedFile(st *atomicfile.Stat) bool { return st != nil && isConfined(st.Perm()) }

var (
	_ engine.ExposingRes = (*FileRes)(nil)
	_ engine.ExposingRes = (*LineRes)(nil)
)

// Exposes says that the content is in the file, and which mode that has.
func (r *FileRes) Exposes(params []string) (string, schema.Mode) {
	if len(params) > 0 && !slices.Contains(params, "content") || r.State == FileAbsent {
		return "", ""
	}
	return r.filePath(), r.Mode
}

// Exposes says that the content is in the file.
func (r *LineRes) Exposes(params []string) (string, schema.Mode) {
	if !slices.Contains(params, "content") || r.absent() {
		return "", ""
	}
	return r.File, ""
}
