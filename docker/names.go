package docker

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/distribution/reference"
)

// plainText reports whether there is no control character in a text.
func plainText(s string) bool { return !strings.ContainsFunc(s, unicode.IsControl) }

var objectName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{1,127}$`)

// checkName refuses any text but the name of a container, a volume or a network. It is docker's
// own rule, with a bound of 128 characters. The error begins with the argument what.
func checkName(what, s string) error {
	if !objectName.MatchString(s) {
		return fmt.Errorf("%s: %q is no name: it needs two or more letters, digits and _.- and begins with a letter or a digit", what, s)
	}
	return nil
}

// parseImage reads a reference to an image, by tag or by digest; latest is the tag if there is
// neither. The grammar is that of docker: nginx stands for docker.io/library/nginx. A bare ID
// (sha256:...) is refused, since no registry knows it. The error begins with the argument what.
func parseImage(what, s string) (reference.Named, error) {
	r, err := reference.ParseNormalizedNamed(s)
	if err != nil || strings.HasPrefix(s, "sha256:") {
		return nil, fmt.Errorf("%s: %q is no image: give NAME, NAME:TAG or NAME@sha256:DIGEST, the name in lower case, a registry before it if need be", what, s)
	}
	return reference.TagNameOnly(r), nil
}

// protocols are the transport protocols whose ports docker publishes: the outer keys of ports.
var protocols = []string{"tcp", "udp", "sctp"}

// parsePort reads a number of a port, 0 to 65535. Zero stands for any. Signs and leading zeros
// are refused, so that two spellings of one port can't be two keys.
func parsePort(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || strconv.FormatUint(n, 10) != s {
		return 0, fmt.Errorf("%q is no port", s)
	}
	return int(n), nil
}

// parseAddress reads [IP:]PORT. There may be neither: no IP means all addresses of the machine,
// and no port any free one. An address of IPv6 stands in brackets.
func parseAddress(s string) (ip netip.Addr, port string, err error) {
	port = s
	if host, p, ok := cutLast(s, ":"); ok {
		if ip, err = netip.ParseAddr(strings.Trim(host, "[]")); err != nil {
			return ip, "", fmt.Errorf("%q is no address", host)
		}
		port = p
	}
	if port == "" {
		return ip, "", nil
	}
	n, err := parsePort(port)
	if err == nil && n == 0 {
		err = errors.New("port 0 is none: leave it empty for any")
	}
	return ip, port, err
}

// cutLast cuts at the last separator, since an address of IPv6 has colons too. Without a
// separator all of the text is behind it.
func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(sep):], true
}

// bind is one entry of volumes, checked. Equal mounts have equal binds.
type bind struct {
	// An absolute path, or the name of a volume.
	source string
	target string
	// Options, apart by commas; rw is left out, since it is the default.
	mode string
}

// String writes a volume as the daemon takes it.
func (b bind) String() string {
	s := b.source + ":" + b.target
	if b.mode != "" {
		s += ":" + b.mode
	}
	return s
}

// path is the path on this machine; empty for a volume.
func (b bind) path() string {
	if strings.HasPrefix(b.source, "/") {
		return b.source
	}
	return ""
}

var bindModes = regexp.MustCompile(`^[a-zA-Z,]*$`)

// parseBind reads SOURCE:TARGET[:MODE]. Paths have to be clean, so that the daemon's answer has
// the same text and nothing differs for ever.
func parseBind(s string) (bind, error) {
	parts := strings.Split(s, ":")
	if len(parts) < 2 || len(parts) > 3 || !plainText(s) {
		return bind{}, fmt.Errorf("%q is not SOURCE:TARGET or SOURCE:TARGET:ro", s)
	}
	b := bind{source: parts[0], target: parts[1]}
	if len(parts) == 3 {
		b.mode = withoutRW(parts[2])
	}
	switch {
	case b.path() == "" && checkName("", b.source) != nil:
		return b, fmt.Errorf("%q: %q is neither an absolute path nor the name of a volume", s, b.source)
	case b.path() != "" && path.Clean(b.source) != b.source, !strings.HasPrefix(b.target, "/") || path.Clean(b.target) != b.target || b.target == "/":
		return b, fmt.Errorf("%q: both paths have to be absolute, without . and .. and without a slash at the end", s)
	case !bindModes.MatchString(b.mode):
		return b, fmt.Errorf("%q: %q is no mode, as ro", s, b.mode)
	}
	return b, nil
}

// withoutRW leaves out the mode rw, which is the default, so that two spellings of one
// volume are equal.
func withoutRW(modes string) string {
	var kept []string
	for m := range strings.SplitSeq(modes, ",") {
		if m != "" && m != "rw" {
			kept = append(kept, m)
		}
	}
	return strings.Join(kept, ",")
}

var restartPolicy = regexp.MustCompile(`^(|no|always|unless-stopped|on-failure(:[1-9][0-9]{0,8})?)$`)

// splitEnv parts NAME=VALUE at the first equals sign. Its errors show no value.
func splitEnv(s string) (name, value string, err error) {
	name, value, ok := strings.Cut(s, "=")
	switch {
	case !ok:
		return "", "", errors.New("an entry is not NAME=VALUE") // which one is not said: it may be a secret in the wrong place
	case checkEnv(name, value) != nil:
		return "", "", checkEnv(name, value)
	}
	return name, value, nil
}

var envName = regexp.MustCompile(`^[^\s=[:cntrl:]]+$`)

// checkEnv refuses a name that no shell takes and a value with a zero byte. The error has the
// name only.
func checkEnv(name, value string) error {
	if !envName.MatchString(name) {
		return fmt.Errorf("%q is no name of a variable", name)
	}
	if strings.ContainsRune(value, 0) {
		return fmt.Errorf("the value of %s has a zero byte in it", name)
	}
	return nil
}
