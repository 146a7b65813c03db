package schema

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Format is a notation of text that is known by a name. Is decides. Pattern is for
// readers that know regular expressions only.
type Format struct {
	One, Many string // for messages: an IP address such as 192.0.2.1, IP addresses
	Pattern   string // what JSON Schema says of it; Is may refuse more, and takes nothing else
	Name      string // the format of the same meaning in JSON Schema; empty where it has none
	Is        func(string) bool
}

// Formats are the notations that Type.Format may name. It must not be altered. None of
// them looks anything up: a host or a network need not exist.
var Formats = map[string]Format{
	"ip":        {"an IP address such as 192.0.2.1 or 2001:db8::1", "IP addresses", `^[0-9A-Fa-f:.]+(%[0-9A-Za-z._~-]+)?$`, "", isIP},
	"cidr":      {"a network such as 192.0.2.0/24 or 2001:db8::/32", "networks", `^[0-9A-Fa-f:.]+/[0-9]{1,3}$`, "", isCIDR},
	"mac":       {"a hardware address such as 52:54:00:12:34:56", "hardware addresses", macPattern, "", isMAC},
	"portrange": {"a port or a range such as 8000-8010", "ports or ranges", `^[0-9]{1,5}(-[0-9]{1,5})?$`, "", isPortRange},
	"uri":       {"a URI such as https://example.org/path", "URIs", uriPattern, "uri", isURI},
	"email":     {"an address such as root@example.org", "mail addresses", mailPattern, "email", isMail},
	"semver":    {"a version such as 1.2.3 or 2.0.0-rc.1", "versions", semverPattern, "", isSemver},
}

// isIP takes a zone of letters, digits and ._~-, as the names of interfaces have them. RFC 4007 leaves the characters open.
func isIP(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && !strings.ContainsFunc(addr.Zone(), func(r rune) bool { return !letter(r) && !strings.ContainsRune("._~-", r) })
}

// isCIDR takes a network with bits set behind its length, as 192.0.2.7/24: tools of the
// network take it for an address with its network.
func isCIDR(s string) bool {
	_, err := netip.ParsePrefix(s)
	return err == nil
}

// macPattern takes one sort of sign throughout: colons or dashes.
const macPattern = `^[0-9A-Fa-f]{2}((:[0-9A-Fa-f]{2}){5}|(-[0-9A-Fa-f]{2}){5}|(:[0-9A-Fa-f]{2}){7}|(-[0-9A-Fa-f]{2}){7})$`

// isMAC takes six or eight bytes, with colons or with dashes.
var isMAC = form(macPattern)

// isPortRange takes one port, or two with a dash between them in rising order. Port 0
// is a port here.
func isPortRange(s string) bool {
	low, high, two := strings.Cut(s, "-")
	a, ok := port(low)
	b := a
	if two && ok {
		b, ok = port(high)
	}
	return ok && a <= b
}

// port reads a number of at most five digits and 16 bits.
func port(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return n, err == nil && len(s) <= 5
}

// uriPattern is the grammar of RFC 3986. Something follows the scheme, and an address in brackets is one of IPv6, without a zone.
const uriPattern = `^[A-Za-z][A-Za-z0-9+.-]*:(//(` + uriUser + `*@)?(\[[0-9A-Fa-f:.]+\]|` + uriName + `*)(:[0-9]*)?([/?]` + uriSign + `*)?|/|/?` + uriFirst + uriSign + `*)(#` + uriSign + `*)?$`

// The sets of characters of RFC 3986, section 2 and 3, each with the escapes in
// percent.
const (
	uriName  = `([A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})`
	uriUser  = `([A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})`
	uriFirst = `([A-Za-z0-9._~!$&'()*+,;=:@?-]|%[0-9A-Fa-f]{2})` // of a path, or ? for a query
	uriSign  = `([A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})`
)

// form returns the check of an expression. It is compiled at its first use, since few programs have such a
// text in a graph.
func form(pattern string) func(string) bool {
	re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return func(s string) bool { return re().MatchString(s) }
}

// uriForm takes more than isURI: an address in brackets is not looked at.
var uriForm = form(uriPattern)

// isURI takes what RFC 3986 calls a URI and the library reads.
func isURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && uriForm(s) && (!strings.HasPrefix(u.Host, "[") || isIP(u.Hostname()))
}

// mailPattern is the address of a form in HTML, with the dots of RFC 5321. A dot stands
// neither at an end of the local part nor next to another one.
const mailPattern = `^` + mailAtom + `(\.` + mailAtom + `)*@` + mailLabel + `(\.` + mailLabel + `)*$`

// mailAtom is an atom of RFC 5322, section 3.2.3.
const mailAtom = `[A-Za-z0-9!#$%&'*+/=?^_{|}~` + "`" + `-]+`

// mailLabel is a label of a host name by RFC 1123: up to 63 letters, digits and dashes,
// with no dash at an end.
const mailLabel = `[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?`

// mailSigns are the signs of mailAtom, for the check without an expression.
const mailSigns = "!#$%&'*+/=?^_`{|}~-"

// isMail has the bounds of RFC 5321, too: 64 bytes before the sign, and 255 behind it.
func isMail(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	if !ok || len(local) > 64 || len(domain) > 255 {
		return false
	}
	for atom := range strings.SplitSeq(local, ".") {
		if atom == "" || strings.ContainsFunc(atom, func(r rune) bool { return !letter(r) && !strings.ContainsRune(mailSigns, r) }) {
			return false
		}
	}
	for label := range strings.SplitSeq(domain, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.ContainsFunc(label, func(r rune) bool { return !letter(r) && r != '-' }) {
			return false
		}
	}
	return true
}

// letter takes letters and digits of ASCII.
func letter(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// semverPattern is the grammar of semver.org 2.0.0, section 2, 9 and 10. Numbers have no zeros before them, and those
// of a build may.
const semverPattern = `^` + semverNumber + `(\.` + semverNumber + `){2}(-` + semverLabel + `(\.` + semverLabel + `)*)?(\+` + semverWord + `(\.` + semverWord + `)*)?$`

const (
	semverNumber = `(0|[1-9][0-9]*)`
	semverLabel  = `(` + semverNumber + `|[0-9]*[A-Za-z-][0-9A-Za-z-]*)`
	semverWord   = `[0-9A-Za-z-]+`
)

// isSemver takes what semver.org takes, with numbers of any length.
var isSemver = form(semverPattern)

// fitsText reports whether text has the format and the pattern of t. The expression
// matches some part of the text, as in JSON Schema.
func (t *Type) fitsText(s string) bool {
	if t.Format != "" && !Formats[t.Format].is(s) {
		return false
	}
	if t.Pattern == "" {
		return true
	}
	re := t.re
	if re == nil { // of a type that was not checked
		re, _ = regexp.Compile(t.Pattern)
	}
	return re != nil && re.MatchString(s)
}

// is reports whether text has the format. No text has a format that is not known.
func (f Format) is(s string) bool { return f.Is != nil && f.Is(s) }

// checkText checks Format, Pattern and EnumNames.
func (t *Type) checkText() error {
	if len(t.EnumNames) > 0 && len(t.EnumNames) != len(t.Enum) {
		return fmt.Errorf("it has %d names for %d values", len(t.EnumNames), len(t.Enum))
	}
	if t.Format == "" && t.Pattern == "" {
		return nil
	}
	switch _, known := Formats[t.Format]; {
	case t.Kind != KindString:
		return fmt.Errorf("a format or a pattern is for text, not for %s", t.sort())
	case len(t.Enum) > 0:
		return errors.New("what has an enum has neither a format nor a pattern")
	case t.Format != "" && !known:
		return fmt.Errorf("format %q is not one of %s", t.Format, strings.Join(slices.Sorted(maps.Keys(Formats)), ", "))
	case t.Pattern == "":
		return nil
	}
	return t.setPattern(t.Pattern)
}

// setPattern sets the pattern of t, and compiles it.
func (t *Type) setPattern(pattern string) (err error) {
	if t.Kind != KindString {
		return fmt.Errorf("a format or a pattern is for text, not for %s", t.sort())
	}
	if err := CheckPattern(pattern); err != nil {
		return err
	}
	t.Pattern = pattern
	t.re, err = regexp.Compile(pattern)
	return err
}

// checkTarget refuses a target of a type that is not a reference. Whether such a kind
// exists is not known here.
func (t *Type) checkTarget() error {
	if t.Target != "" && t.Kind != KindRef {
		return fmt.Errorf("only a reference has a target, not %s", t.sort())
	}
	return nil
}

// maxPattern bounds the length of a pattern.
const maxPattern = 4096

// CheckPattern refuses a regular expression that Go and ECMAScript do not both read,
// and read alike: types are given to editors and to TypeScript too. Groups are ( ) and
// (?: ), the classes are \d \D \w \W \s \S \b \B, and the characters \t \n \v \f \r and
// \xHH. A pattern of Go alone, such as (?i), is refused with the part that is not
// shared.
func CheckPattern(pattern string) error {
	if len(pattern) > maxPattern {
		return fmt.Errorf("the pattern has more than %d bytes", maxPattern)
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return fmt.Errorf("the pattern is no regular expression: %w", err)
	}
	if odd := foreign(pattern); odd != "" {
		return fmt.Errorf("the pattern has %s, which is not the same in Go and in JavaScript", odd)
	}
	return nil
}

// portable are what may follow a backslash.
const portable = `dDwWsSbBtnvfrx\^$.*+?()[]{}|/-`

// foreign returns the first part of a pattern that not every reader knows. It reads the
// expression as ECMAScript does with the flag u; Go has accepted it before.
func foreign(pattern string) string {
	class := false
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case c == '\\':
			if len(rest) < 2 || !strings.Contains(portable, rest[1:2]) || strings.HasPrefix(rest, `\x{`) || rest[1] == '-' && !class {
				return rest[:min(3, len(rest))]
			}
			i++
		case class:
			if strings.HasPrefix(rest, "[:") {
				return "[:"
			}
			class = c != ']'
		case c == '[':
			class = true
			inner := strings.TrimPrefix(rest[1:], "^")
			if strings.HasPrefix(inner, "]") || strings.HasPrefix(inner, "[:") {
				return rest[:min(4, len(rest))]
			}
		case strings.HasPrefix(rest, "(?") && !strings.HasPrefix(rest, "(?:"):
			return rest[:min(4, len(rest))]
		}
	}
	return ""
}
