package confined

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// A content that not all users of the machine may read is not for all readers of the log either:
// its changes are reported as confined text, shown as a digest.

// Shuts reports whether permissions shut other users out.
func Shuts(perm uint32) bool { return perm&0o004 == 0 }

// Text returns a text of a Change for which not all users have the right. A text that stands
// for a long content stays the same for the same content; an empty text stays empty.
func Text(v any) any {
	s, ok := v.(string)
	if !ok || s == "" {
		return v
	}
	if shownSum.MatchString(s) {
		digits, _, _ := strings.Cut(s[1:], " ")
		if size, err := strconv.ParseInt(digits, 10, 64); err == nil {
			return schema.NewConfinedSum(s, size)
		}
	}
	return schema.NewConfined(s)
}

// Change returns a change whose texts not all may read.
func Change(c engine.Change) engine.Change {
	c.From, c.To = Text(c.From), Text(c.To)
	return c
}

// ShutsFile reports whether a file is there, and shuts other users out.
func ShutsFile(st *atomicfile.Stat) bool { return st != nil && Shuts(st.Perm()) }

// shownSum is what the kind file writes of a long content, and nothing that begins so.
var shownSum = lazyregexp.New(`^\([0-9]+ bytes, sha256:[0-9a-f]{24}\)\z`)

// Sum returns a content as the kind file shows a long one.
func Sum(v any) any {
	s, ok := v.(string)
	if !ok || s == "" || shownSum.MatchString(s) {
		return v
	}
	sum := sha256.Sum256([]byte(s))
	return SumText(int64(len(s)), sum[:])
}

// SumText stands for a content: its size, and so much of its hash that a line of the
// log has room for all of it.
func SumText(size int64, sum []byte) string {
	return fmt.Sprintf("(%d bytes, sha256:%x)", size, sum[:12])
}

// Hide returns a text as a secret. A value of another type stays.
func Hide(v any) any {
	if s, ok := v.(string); ok {
		return schema.NewSecret(s)
	}
	return v
}
