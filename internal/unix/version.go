package unix

import (
	"strconv"
	"strings"
)

// KernelSince reports whether the kernel is of this version or a later one. It is false where that is not known.
func KernelSince(major, minor int) bool {
	var u Utsname
	if Uname(&u) != nil {
		return false
	}
	first, rest, _ := strings.Cut(ByteSliceToString(u.Release[:]), ".")
	second, _, _ := strings.Cut(rest, ".")
	second = strings.TrimRight(second, "+-abcdefghijklmnopqrstuvwxyz")
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(second)
	return errA == nil && errB == nil && (a > major || a == major && b >= minor)
}
