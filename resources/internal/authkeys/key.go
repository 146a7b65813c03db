package authkeys

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Key is what a line says.
type Key struct {
	Options []string // such as no-pty, or command="x"; nil for none
	Type    string   // such as ssh-ed25519
	Key     string   // in base64
	Name    string   // the comment
}

// Equal reports whether both say the same.
func (k Key) Equal(o Key) bool {
	return k.Type == o.Type && k.Key == o.Key && k.Name == o.Name && slices.Equal(k.Options, o.Options)
}

// Types are the types of keys that sshd knows, certificates apart, in the order in
// which to show them.
func Types() []string {
	return []string{
		"ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
		"sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com", "ssh-dss",
	}
}

// TypeOf returns the whole name of a type: ssh-ed25519 of ed25519, as catalogs have it too. It returns
// an unknown type as it is.
func TypeOf(t string) string {
	switch t {
	case "rsa", "ed25519":
		return "ssh-" + t
	case "dsa", "dss":
		return "ssh-dss"
	case "ed25519-sk":
		return "sk-ssh-ed25519@openssh.com"
	case "ecdsa-sk":
		return "sk-ecdsa-sha2-nistp256@openssh.com"
	}
	return t
}

const blanks = " \t"

// parseLine reads one line; false means that it lacks a key with a name.
func parseLine(text string) (Key, bool) {
	body := strings.Trim(strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"), blanks)
	if body == "" || body[0] == '#' || !plain(body) {
		return Key{}, false
	}
	var k Key
	first, rest := word(body)
	if !slices.Contains(Types(), first) {
		var ok bool
		if k.Options, rest, ok = options(body); !ok {
			return Key{}, false
		}
		first, rest = word(rest)
	}
	k.Type = first
	k.Key, k.Name = word(rest)
	return k, k.Name != "" && check(k.Type, k.Key) == nil
}

// word cuts the first word off; the rest has no blanks around it.
func word(s string) (first, rest string) {
	if i := strings.IndexAny(s, blanks); i >= 0 {
		return s[:i], strings.Trim(s[i:], blanks)
	}
	return s, ""
}

// options reads the options at the beginning of a line: they end at the first blank
// that is not in quotes.
func options(s string) (list []string, rest string, ok bool) {
	quoted, start := false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && s[i+1] == '"':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',':
			list = append(list, s[start:i])
			start = i + 1
		case strings.IndexByte(blanks, c) >= 0:
			list = append(list, s[start:i])
			return list, strings.Trim(s[i:], blanks), !slices.Contains(list, "")
		}
	}
	return nil, "", false
}

// check returns an error if the text is not a key of the type.
func check(typ, key string) error {
	if !slices.Contains(Types(), typ) {
		return fmt.Errorf("%q is no type of key; the types are %s", typ, strings.Join(Types(), ", "))
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(key)
	if err != nil || strings.ContainsAny(key, "\r\n") {
		return errors.New("the key is not in base64: it has to be what stands between the type and the comment in the .pub file")
	}
	if len(raw) < 4 || uint64(binary.BigEndian.Uint32(raw)) >= uint64(len(raw)-4) {
		return errors.New("the key is cut off")
	}
	if inside := string(raw[4 : 4+binary.BigEndian.Uint32(raw)]); inside != typ {
		return fmt.Errorf("the key is not of the type %s but of %q", typ, inside)
	}
	return nil
}

// plain reports whether a line is text without control characters.
func plain(s string) bool {
	return strings.ToValidUTF8(s, "\x00") == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// render returns the line of a key, without its end.
func render(k Key) (string, error) {
	if err := check(k.Type, k.Key); err != nil {
		return "", err
	}
	text := k.Type + " " + k.Key + " " + k.Name
	if len(k.Options) > 0 {
		text = strings.Join(k.Options, ",") + " " + text
	}
	if got, ok := parseLine(text); ok && got.Equal(k) {
		return text, nil
	}
	if k.Name == "" || !plain(k.Name) || strings.Trim(k.Name, blanks) != k.Name {
		return "", fmt.Errorf("%q can't be the name of a key: it has to be one line without blanks around it", k.Name)
	}
	return "", errors.New("an option has to be a word, or a word=\"value\", on one line, with \\\" for a quote in the value")
}
