package filename

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
)

// maxFileName leaves room for suffixes below the limit of 255 that most file
// systems have.
const longest = 200

// Of turns a resource's name into one path element, one to one. Characters
// that are not plain are escaped, and too long a name ends in a hash of the whole.
func Of(name string) string {
	s := url.PathEscape(name)
	switch {
	case s == "" || s == "." || s == "..":
		return "%" + s
	case len(s) <= longest:
		return s
	}
	sum := sha256.Sum256([]byte(name))
	return s[:longest-2*8-1] + "~" + hex.EncodeToString(sum[:8])
}
