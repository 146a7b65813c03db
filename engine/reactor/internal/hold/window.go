package hold

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Window is a time of the week. The zero value is all of it.
type Window struct {
	text  string
	days  [7]bool // on which it begins, from Sunday on
	from  int     // minutes since midnight
	until int     // the same; where it is not after from, of the next day
	place *time.Location
}

// Windows are the times in which something may be changed: always, if there are none.
type Windows []Window

var dayNames = [7]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// ParseWindow reads days, a time of day and a place, as in "mon-fri 08:00-17:00 Europe/Berlin". Days may be listed (sat,sun) or left out,
// and so may the place, for the time of this machine. A window that ends at or before its begin ends on the next day.
func ParseWindow(s string) (w Window, err error) {
	words := strings.Fields(s)
	w = Window{text: strings.Join(words, " "), place: time.Local}
	if len(words) > 0 && !strings.Contains(words[0], ":") {
		if err := w.parseDays(words[0]); err != nil {
			return Window{}, err
		}
		words = words[1:]
	} else {
		w.days = [7]bool{true, true, true, true, true, true, true}
	}
	if len(words) == 0 || len(words) > 2 {
		return Window{}, fmt.Errorf(`%q is no window: write days, times and a place, as in "mon-fri 08:00-17:00 Europe/Berlin"`, s)
	}
	from, until, ok := strings.Cut(words[0], "-")
	if !ok {
		return Window{}, fmt.Errorf("%q has no end: write as in 08:00-17:00", words[0])
	}
	if w.from, err = minutes(from); err == nil {
		w.until, err = minutes(until)
	}
	if err == nil && w.from == dayLen {
		err = fmt.Errorf("%q begins at the end of a day: write 00:00 and the next day", words[0])
	}
	if err != nil {
		return Window{}, err
	}
	if len(words) == 2 {
		if w.place, err = time.LoadLocation(words[1]); err != nil {
			return Window{}, fmt.Errorf("%q is no place with a time of its own: write as in Europe/Berlin or UTC: %w", words[1], err)
		}
	}
	return w, nil
}

// ParseWindows reads windows, separated by semicolons; off or nothing for none.
func ParseWindows(s string) (ws Windows, err error) {
	if s == "" || s == "off" {
		return nil, nil
	}
	for part := range strings.SplitSeq(s, ";") {
		w, err := ParseWindow(part)
		if err != nil {
			return nil, err
		}
		ws = append(ws, w)
	}
	return ws, nil
}

func (w *Window) parseDays(list string) error {
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		i, j := slices.Index(dayNames[:], strings.ToLower(first)), slices.Index(dayNames[:], strings.ToLower(last))
		if i < 0 || j < 0 {
			return fmt.Errorf("%q names no days: write mon, mon-fri or sat,sun", part)
		}
		for w.days[i] = true; i != j; w.days[i] = true {
			i = (i + 1) % 7
		}
	}
	return nil
}

const dayLen = 24 * 60 // minutes

// minutes reads a time of day. 24:00 is the end of the day.
func minutes(s string) (int, error) {
	if s == "24:00" {
		return dayLen, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0, fmt.Errorf("%q is no time of day: write as in 08:00", s)
	}
	return t.Hour()*60 + t.Minute(), nil
}

// String writes what ParseWindow reads.
func (w Window) String() string { return w.text }

// String writes what ParseWindows reads.
func (ws Windows) String() string {
	if len(ws) == 0 {
		return "off"
	}
	words := make([]string, len(ws))
	for i, w := range ws {
		words[i] = w.String()
	}
	return strings.Join(words, "; ")
}

// open reports whether a moment is in the window, by the clock at its place. So a window in an hour that is missing or comes twice, when
// the clock is put forward or back, is as long as the clock says.
func (w Window) open(now time.Time) bool {
	now = now.In(w.place)
	today, at := now.Weekday(), now.Hour()*60+now.Minute()
	if w.from < w.until {
		return w.days[today] && w.from <= at && at < w.until
	}
	return w.days[today] && w.from <= at || w.days[(today+6)%7] && at < w.until
}

// next returns when the window begins next.
func (w Window) next(now time.Time) time.Time {
	y, m, d := now.In(w.place).Date()
	for {
		begin := time.Date(y, m, d, 0, w.from, 0, 0, w.place)
		if begin.After(now) && w.days[begin.Weekday()] {
			return begin
		}
		d++
	}
}

// Shut reports whether nothing may be changed now, and for how long not.
func (ws Windows) Shut(now time.Time) (left time.Duration, shut bool) {
	for i, w := range ws {
		if w.open(now) {
			return 0, false
		}
		if d := w.next(now).Sub(now); i == 0 || d < left {
			left = d
		}
	}
	return left, len(ws) > 0
}

// ShutError is the error of a run that wants to change something outside of the windows. Nothing was changed.
type ShutError struct {
	Windows Windows
	For     time.Duration // until one begins
}

func (e *ShutError) Error() string { return "nothing may be changed now, only " + e.Windows.String() }
