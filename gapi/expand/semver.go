package expand

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// version is a version in the notation of semver.org.
type version struct {
	numbers [3]uint64
	before  []string // the parts of a pre-release; nil for a release
}

// parseVersion reads a version. A v in front of it is taken, and the text behind a plus has no rank.
func parseVersion(text string) (v version, err error) {
	// The notation has no v, and tags of git have one.
	core, _, _ := strings.Cut(strings.TrimPrefix(text, "v"), "+")
	core, pre, isPre := strings.Cut(core, "-")
	parts := strings.Split(core, ".")
	if len(parts) != len(v.numbers) || isPre && pre == "" {
		return v, wrongVersion(text)
	}
	for i, part := range parts {
		if v.numbers[i], err = strconv.ParseUint(part, 10, 64); err != nil || len(part) > 1 && part[0] == '0' {
			return v, wrongVersion(text)
		}
	}
	if isPre {
		v.before = strings.Split(pre, ".")
	}
	return v, nil
}

// wrongVersion is the error of every text without a version.
func wrongVersion(text string) error {
	return fmt.Errorf("%q is no version: write one such as 1.4.0 or 2.0.0-rc.1", text)
}

// compare ranks two versions.
func (v version) compare(o version) int {
	for i, n := range v.numbers {
		if c := cmp.Compare(n, o.numbers[i]); c != 0 {
			return c
		}
	}
	// A release comes after its pre-releases.
	if v.before == nil || o.before == nil {
		return cmp.Compare(btoi(v.before == nil), btoi(o.before == nil))
	}
	// The first part that differs decides; of two that begin alike, the longer one comes later.
	for i := range min(len(v.before), len(o.before)) {
		if c := comparePart(v.before[i], o.before[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(v.before), len(o.before))
}

// comparePart ranks parts of pre-releases: numbers by their value, and before words.
func comparePart(a, b string) int {
	x, errA := strconv.ParseUint(a, 10, 64)
	y, errB := strconv.ParseUint(b, 10, 64)
	switch {
	case errA == nil && errB == nil:
		return cmp.Compare(x, y)
	case errA == nil || errB == nil:
		return cmp.Compare(btoi(errA != nil), btoi(errB != nil))
	}
	return cmp.Compare(a, b)
}

// btoi makes a number of a condition, to rank it.
func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
