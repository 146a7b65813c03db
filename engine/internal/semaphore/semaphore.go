package semaphore

import (
	"fmt"
	"strconv"
	"strings"
)

// Shared splits the name of a semaphore that hosts share: all/NAME, or group:ROLE/NAME. Every other name is that of
// a semaphore of one daemon.
func Shared(name string) (topic, rest string, ok bool) {
	topic, rest, ok = strings.Cut(name, "/")
	role, group := strings.CutPrefix(topic, "group:")
	return topic, rest, ok && rest != "" && (topic == "all" || group && role != "")
}

// Parse splits name or name:count. The count is 1 when absent. See Shared for the names.
func Parse(s string) (name string, count int, err error) {
	if topic, rest, shared := Shared(s); shared {
		name, count, err = parse(rest)
		return topic + "/" + name, count, err
	}
	return parse(s)
}

func parse(s string) (name string, count int, err error) {
	name, num, ok := strings.Cut(s, ":")
	count = 1
	if ok {
		if count, err = strconv.Atoi(num); err != nil || count < 1 {
			return "", 0, fmt.Errorf("semaphore %q: the count %q must be a whole number above 0", s, num)
		}
	}
	if name == "" {
		return "", 0, fmt.Errorf("semaphore %q has no name, write name or name:count", s)
	}
	if !ok && strings.Trim(name, "0123456789") == "" {
		return "", 0, fmt.Errorf("semaphore %q is a number alone: a count stands behind a name, write name:%s; a semaphore that is called so is %s:1", s, name, name)
	}
	return name, count, nil
}
