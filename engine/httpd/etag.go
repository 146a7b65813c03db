package httpd

import (
	"net/http"
	"slices"
	"strings"
)

// Conditions say for which version of an object a request is meant.
type Conditions struct {
	match, none       []string // entity tags, in quotes, perhaps with W/
	anyMatch, anyNone bool     // "*"
}

// ConditionsOf reads If-Match and If-None-Match. A header that cannot be read is a
// *Problem of 400.
func ConditionsOf(r *http.Request) (c Conditions, err error) {
	if c.match, c.anyMatch, err = tags(r, "If-Match"); err != nil {
		return c, err
	}
	c.none, c.anyNone, err = tags(r, "If-None-Match")
	return c, err
}

// Check compares the conditions with the version of the object, "" where there is no
// object. A writer calls it where it holds its lock, or in its transaction. The error
// is a *Problem of 412.
func (c Conditions) Check(version string) error {
	if err := c.matches(version); err != nil {
		return err
	}
	if c.notModified(version) {
		return stale(version, "If-None-Match")
	}
	return nil
}

// matches compares If-Match with the version.
func (c Conditions) matches(version string) error {
	exists := version != ""
	if c.anyMatch && !exists || len(c.match) > 0 && !(exists && slices.Contains(c.match, quote(version))) {
		return stale(version, "If-Match")
	}
	return nil
}

func stale(version, header string) error {
	p := NewProblem(http.StatusPreconditionFailed, "the object is not of the version that %s asks for", header)
	if version == "" {
		return p.WithHint("there is no such object any more")
	}
	return p.WithHint("read it again, and send its ETag "+quote(version)).with("ETag", quote(version))
}

// notModified reports whether the reader has this version already.
func (c Conditions) notModified(version string) bool {
	return version != "" && (c.anyNone || slices.ContainsFunc(c.none, weakly(quote(version))))
}

// weakly compares entity tags without regard to their weakness.
func weakly(tag string) func(string) bool {
	return func(other string) bool { return strings.TrimPrefix(other, "W/") == tag }
}

// quote returns a version as an entity tag. Characters that may not stand in one are
// escaped, so that each version has a tag of its own.
func quote(version string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(version) {
		switch c := version[i]; {
		case c <= ' ' || c == '"' || c == '%' || c >= 0x7f:
			const hex = "0123456789ABCDEF"
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// maxTags bounds how many entity tags one header may have.
const maxTags = 64

// tags reads a list of entity tags, or "*".
func tags(r *http.Request, header string) (list []string, all bool, err error) {
	rest := strings.Trim(strings.Join(r.Header.Values(header), ","), " \t,") // RFC 9110 lets a list have empty elements
	if rest == "*" {
		return nil, true, nil
	}
	for first := len(r.Header.Values(header)) > 0; first || rest != ""; first = false {
		tag, after, ok := cutTag(rest)
		if !ok || len(list) == maxTags {
			return nil, false, NewProblem(http.StatusBadRequest, "%s cannot be read", header).WithHint(`write the ETag as it came, in quotes: "7"`)
		}
		list = append(list, tag)
		rest = strings.TrimLeft(after, " \t,")
	}
	return list, false, nil
}

// cutTag cuts the first entity tag from a list.
func cutTag(s string) (tag, rest string, ok bool) {
	from := 0
	if strings.HasPrefix(s, "W/") {
		from = 2
	}
	if len(s) <= from || s[from] != '"' {
		return "", "", false
	}
	end := strings.IndexByte(s[from+1:], '"')
	if end < 0 {
		return "", "", false
	}
	end += from + 2
	rest = strings.TrimLeft(s[end:], " \t")
	return s[:end], rest, rest == "" || rest[0] == ','
}
