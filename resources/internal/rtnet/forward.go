package rtnet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Forwarding says whether an interface passes on packets for other machines. As a finding, On says
// that at least one family does so, and Off that one family does not. As a wish, On and Off hold
// for all families, and none leaves the state alone.
type Forwarding struct{ On, Off bool }

// Wanted returns what is wanted; nil for what it is.
func Wanted(on *bool) Forwarding {
	if on == nil {
		return Forwarding{}
	}
	return Forwarding{On: *on, Off: !*on}
}

// forwardFiles are those of an interface, one for each family. A kernel may lack the second one.
func forwardFiles(name string) []string {
	return []string{"/proc/sys/net/ipv4/conf/" + name + "/forwarding", "/proc/sys/net/ipv6/conf/" + name + "/forwarding"}
}

// forwarding reads what there is.
func forwarding(name string) (f Forwarding, err error) {
	for _, path := range forwardFiles(name) {
		text, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return f, err
		case strings.TrimSpace(string(text)) == "0":
			f.Off = true
		default:
			f.On = true
		}
	}
	return f, nil
}

// setForwarding makes it so for all families that there are.
func setForwarding(name string, want Forwarding) error {
	value := "0"
	if want.On {
		value = "1"
	}
	for _, path := range forwardFiles(name) {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			_, err = f.WriteString(value)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return fmt.Errorf("forwarding of %s: %w", name, err)
		}
	}
	return nil
}
