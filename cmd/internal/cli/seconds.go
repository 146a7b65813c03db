package cli

import (
	"fmt"
	"strconv"
	"time"
)

// Seconds is a flag that takes a duration, or a bare integer of seconds.
type Seconds time.Duration

// String implements pflag.Value. Zero is the empty text, so that help shows no default.
func (s *Seconds) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (s *Seconds) Type() string { return "duration" }

// Set implements pflag.Value.
// Negative times are refused. A bare number has 32 bits, which are 68 years.
func (s *Seconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	if n, e := strconv.ParseInt(text, 10, 32); e == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a duration, write 5s, 2m30s or a number of seconds", text)
	}
	*s = Seconds(d)
	return nil
}
