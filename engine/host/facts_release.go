package host

import (
	"cmp"
	"strconv"
	"strings"
)

// distribution is what facts say of one.
type distribution struct {
	name, family, release string
	major                 int
	finger                string
}

// distributions are those whose names and families cannot be derived, by the ID of
// their os-release.
var distributions = map[string]struct{ name, family string }{
	"debian": {"Debian", "Debian"}, "ubuntu": {"Ubuntu", "Debian"}, "raspbian": {"Raspbian", "Debian"}, "devuan": {"Devuan", "Debian"},
	"linuxmint": {"Mint", "Debian"}, "kali": {"Kali", "Debian"}, "pop": {"Pop", "Debian"}, "elementary": {"elementary OS", "Debian"},
	"fedora": {"Fedora", "RedHat"}, "rhel": {"RedHat", "RedHat"}, "centos": {"CentOS", "RedHat"}, "rocky": {"Rocky", "RedHat"},
	"almalinux": {"AlmaLinux", "RedHat"}, "ol": {"OEL", "RedHat"}, "amzn": {"Amazon", "RedHat"}, "scientific": {"ScientificLinux", "RedHat"},
	"cloudlinux": {"CloudLinux", "RedHat"}, "virtuozzo": {"VirtuozzoLinux", "RedHat"}, "openeuler": {"openEuler", "RedHat"},
	"xenenterprise": {"XCP-ng", "RedHat"},
	"alpine":        {"Alpine", "Alpine"}, "postmarketos": {"postmarketOS", "Alpine"},
	"arch": {"Arch", "Arch"}, "archarm": {"Arch", "Arch"}, "manjaro": {"Manjaro", "Arch"}, "artix": {"Artix", "Arch"}, "endeavouros": {"EndeavourOS", "Arch"},
	"opensuse-leap": {"SUSE", "Suse"}, "opensuse-tumbleweed": {"SUSE", "Suse"}, "opensuse-microos": {"SUSE", "Suse"}, "opensuse": {"SUSE", "Suse"},
	"sles": {"SUSE", "Suse"}, "sled": {"SUSE", "Suse"}, "sle-micro": {"SUSE", "Suse"}, "suse": {"SUSE", "Suse"},
	"gentoo": {"Gentoo", "Gentoo"}, "void": {"Void", "Void"}, "slackware": {"Slackware", "Slackware"}, "nixos": {"NixOS", "NixOS"},
}

// parseOSRelease reads the assignments of an os-release file: those of a shell, without expansion.
// A line without an assignment is left out; of two the last counts.
func parseOSRelease(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		if !ok || key == "" || strings.HasPrefix(line, "#") {
			continue
		}
		out[key] = unquote(value)
	}
	return out
}

// unquote reads a value in the quotes of a shell, or in none.
func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		quote := s[0]
		if s = s[1 : len(s)-1]; quote == '\'' {
			return s
		}
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// distributionOf names the distribution that an os-release file describes. An unknown distribution
// has the name that it gives itself, and the family of the first known name in ID_LIKE; without
// such a name it is a family of its own.
func distributionOf(r map[string]string) distribution {
	id := strings.ToLower(r["ID"])
	known, ok := distributions[id]
	d := distribution{name: known.name, family: known.family}
	if !ok {
		d.name = cmp.Or(r["NAME"], r["ID"])
		d.family = cmp.Or(familyLike(r["ID_LIKE"]), d.name)
	}
	d.release = cmp.Or(r["VERSION_ID"], r["BUILD_ID"])
	if d.release == "" && d.name != "" {
		d.release = "rolling"
	}
	first, _, _ := strings.Cut(d.release, ".")
	if n, err := strconv.Atoi(strings.TrimLeft(first, "vV")); err == nil && n >= 0 {
		d.major = n
	}
	d.finger = finger(d)
	return d
}

func familyLike(like string) string {
	for id := range strings.FieldsSeq(strings.ToLower(like)) {
		if known, ok := distributions[id]; ok {
			return known.family
		}
	}
	return ""
}

// newest bounds first numbers of versions: more is the date of a snapshot.
const newest = 1_000_000

// finger is the name with the part of the version that tells two releases apart. Releases of Ubuntu
// have the same first number for a year. Snapshots of rolling distributions are not told apart.
func finger(d distribution) string {
	switch {
	case d.name == "Ubuntu":
		return d.name + "-" + d.release
	case d.major > 0 && d.major < newest:
		return d.name + "-" + strconv.Itoa(d.major)
	}
	return d.name
}
