package mounttab

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// SplitOptions splits a list at its commas, but for those within double quotes.
func SplitOptions(s string) (list []string) {
	quoted, from := false, 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i < len(s) && s[i] == '"':
			quoted = !quoted
		case i == len(s) || s[i] == ',' && !quoted:
			if i > from {
				list = append(list, s[from:i])
			}
			from = i + 1
		}
	}
	return list
}

// flag is an option that every file system has and the kernel always shows: on is
// shown, or nothing is.
type flag struct {
	on, off string
	super   bool // shown among the options of the file system too, or only there
}

var flags = []flag{
	{"ro", "rw", true}, {"nosuid", "suid", false}, {"nodev", "dev", false}, {"noexec", "exec", false},
	{"nodiratime", "diratime", false}, {"nosymfollow", "symfollow", false},
	{"sync", "async", true}, {"dirsync", "", true},
}

// times are the ways to keep times of access. One of them is always on; strictatime where none is
// shown.
var times = []string{"relatime", "noatime", "strictatime"}

// implied are the flags that come with an option for ordinary users; those after it
// can undo them.
var implied = map[string][]string{
	"user": {"noexec", "nosuid", "nodev"}, "users": {"noexec", "nosuid", "nodev"},
	"owner": {"nosuid", "nodev"}, "group": {"nosuid", "nodev"},
}

// sealed are file systems that can't be written: whether ro is asked for makes no
// difference.
var sealed = []string{"iso9660", "squashfs", "erofs", "cramfs", "romfs"}

// Differ returns the options that the mount has otherwise than wanted, in the words that make it
// right: the options to ask for. An option that the kernel does not show counts as right. Those of
// a file system are its own, and not those of a folder that is bound elsewhere.
func Differ(want []string, m Mount) (fix []string) {
	on, super := wantedFlags(want), m.Super
	if Binds(want) {
		super = nil
	}
	for _, f := range flags {
		has := slices.Contains(m.Options, f.on) || f.super && slices.Contains(super, f.on)
		switch {
		case has == on[f.on], f.on == "ro" && slices.Contains(sealed, m.Type):
		case on[f.on]:
			fix = append(fix, f.on)
		case f.off != "":
			fix = append(fix, f.off)
		}
	}
	if t := wantedTime(want); t != shownTime(m.Options) {
		fix = append(fix, t)
	}
	for _, o := range want {
		key, value, ok := strings.Cut(o, "=")
		if ok && shows(super, key) && !showsValue(super, key, value) {
			fix = append(fix, o)
		}
	}
	return fix
}

// SameOptions reports whether two lists ask for the same. Their order makes no difference
// but where one option undoes another one.
func SameOptions(a, b []string) bool {
	a, b = Plain(a), Plain(b)
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))) &&
		maps.Equal(wantedFlags(a), wantedFlags(b)) && wantedTime(a) == wantedTime(b) && maps.Equal(wantedValues(a), wantedValues(b))
}

// wantedValues returns the value of each option that has one; later ones win.
func wantedValues(want []string) map[string]string {
	values := map[string]string{}
	for _, o := range want {
		if key, value, ok := strings.Cut(o, "="); ok {
			values[key] = value
		}
	}
	return values
}

// Binds reports whether the options make a folder appear in a second place.
func Binds(options []string) bool {
	return slices.Contains(options, "bind") || slices.Contains(options, "rbind")
}

// wantedFlags returns which flags are on; later options win.
func wantedFlags(want []string) map[string]bool {
	on := map[string]bool{}
	for _, o := range want {
		for _, i := range implied[o] {
			on[i] = true
		}
		for _, f := range flags {
			switch o {
			case f.on:
				on[o] = true
			case f.off:
				on[f.on] = false
			}
		}
	}
	return on
}

func wantedTime(want []string) string {
	t := times[0]
	for _, o := range want {
		switch {
		case slices.Contains(times, o):
			t = o
		case o == "norelatime" || o == "nostrictatime" || o == "atime":
			t = times[0]
		}
	}
	return t
}

func shownTime(options []string) string {
	for _, t := range times {
		if slices.Contains(options, t) {
			return t
		}
	}
	return "strictatime"
}

func shows(super []string, key string) bool {
	return slices.ContainsFunc(super, func(o string) bool { return strings.HasPrefix(o, key+"=") })
}

// showsValue reports whether a value is shown, in whatever notation. A value that depends on the
// machine, as a part of its memory or the name of a user, can't be told from another value.
func showsValue(super []string, key, value string) bool {
	return slices.ContainsFunc(super, func(o string) bool {
		k, has, ok := strings.Cut(o, "=")
		return ok && k == key && (has == value || vague(key, value) || sameNumber(key, has, value))
	})
}

func vague(key, value string) bool {
	_, err := strconv.Atoi(value)
	return strings.HasSuffix(value, "%") || err != nil && (key == "uid" || key == "gid")
}

// sameNumber reports whether two texts are the same number: 1g is 1048576k, and of a
// mode 0755 is 755.
func sameNumber(key, a, b string) bool {
	base := 10
	if strings.HasSuffix(key, "mode") || strings.HasSuffix(key, "mask") {
		base = 8
	}
	x, ok := number(a, base)
	y, both := number(b, base)
	return ok && both && x == y
}

func number(s string, base int) (uint64, bool) {
	s = strings.ToLower(s)
	shift := 0
	if i := strings.IndexAny(s, "kmgt"); i > 0 && i == len(s)-1 {
		shift = 10 * (1 + strings.IndexByte("kmgt", s[i]))
		s = s[:i]
	}
	n, err := strconv.ParseUint(s, base, 53)
	return n << shift, err == nil
}

// forOthers are options for the programs that mount, at boot or by hand: the kernel knows nothing
// of them.
var forOthers = []string{"auto", "noauto", "_netdev", "nofail", "defaults", "user", "users", "owner", "group", "nouser", "loop"}

// ForKernel returns the options by which a mount can be altered: options for the mounting program
// are left out, and so are options that name its source.
func ForKernel(options []string) []string {
	return slices.DeleteFunc(slices.Clone(options), func(o string) bool {
		key, _, _ := strings.Cut(o, "=")
		return slices.Contains(forOthers, key) || slices.Contains([]string{"bind", "rbind", "comment"}, key) || strings.HasPrefix(strings.ToLower(key), "x-")
	})
}
