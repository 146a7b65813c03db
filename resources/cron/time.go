package cron

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// checkTime refuses a time that systemd would not understand: it would take the
// timer for one without a time, and not start it. It does without systemd, as
// Validate may run on another machine. A time that systemd takes must pass: a
// refusal of one is a fault of this function.
func checkTime(trigger, text string) error {
	switch {
	case text == "" || trigger == "":
		return nil
	case trigger == "OnCalendar":
		if err := checkCalendar(text); err != nil {
			return fmt.Errorf("time %q: %w (systemd-analyze calendar shows what a time means)", text, err)
		}
	default:
		if _, ok := spanOf(text); !ok {
			return fmt.Errorf("time %q is no span of time, as 15min or 1h 30s", text)
		}
	}
	return nil
}

var (
	// These are the events of one word, as systemd.time(7) lists them.
	calendarWords = []string{"minutely", "hourly", "daily", "monthly", "weekly", "yearly", "annually", "quarterly", "semiannually", "semi-annually", "biannually", "bi-annually"}
	// Monday is the first, since a range of days must not go backwards.
	calendarDays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	// An event may also be a number of seconds since 1970, behind an @.
	calendarEpoch = lazyregexp.New(`^@[0-9]+$`)
	// Zones with a slash in the name are known by their form alone; the others are
	// listed.
	calendarZone = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)+$`)
)

// checkCalendar reads an event of a calendar: days of the week, a date, a time of
// day and a zone; each may be missing. The first word that fits no part is named in
// the error.
func checkCalendar(text string) error {
	words := strings.Fields(text)
	if n := len(words); n > 1 && isZone(words[n-1]) {
		words = words[:n-1]
	}
	if len(words) == 1 && slices.Contains(calendarWords, strings.ToLower(words[0])) {
		return nil
	}
	if len(words) > 0 && words[0][0] >= 'A' { // a letter
		if err := checkDays(words[0]); err != nil {
			return err
		}
		words = words[1:]
	}
	if len(words) == 1 && calendarEpoch.MatchString(words[0]) {
		return nil
	}
	if len(words) > 0 && strings.ContainsAny(words[0], "-~") {
		if err := checkDate(words[0]); err != nil {
			return err
		}
		words = words[1:]
	}
	if len(words) > 0 && strings.Contains(words[0], ":") {
		if err := checkParts(strings.Split(words[0], ":"), calendarTime); err != nil {
			return err
		}
		words = words[1:]
	}
	if len(words) > 0 {
		return fmt.Errorf("%q is not understood; it is written as Mon..Fri 2026-*-01 02:30:00 Europe/Berlin", words[0])
	}
	return nil
}

// calendarZones are the time zones without a slash in their names, as the tz database has them.
var calendarZones = strings.Fields(`CET CST6CDT Cuba EET EST EST5EDT Egypt Eire Factory GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong
	Iceland Iran Israel Jamaica Japan Kwajalein Libya MET MST MST7MDT NZ NZ-CHAT Navajo PRC PST8PDT Poland Portugal ROC ROK Singapore
	Turkey UCT UTC Universal W-SU WET Zulu`)

// isZone reports whether a word is a time zone. The zones of this machine do not
// count: the graph may be for another one, and a package may bring a zone. A wrong
// name of the right form passes, and systemd then refuses the timer.
func isZone(word string) bool {
	return strings.EqualFold(word, "UTC") || calendarZone.MatchString(word) || slices.Contains(calendarZones, word)
}

// checkDays reads days of the week and ranges of them. systemd takes whole names and
// their first three letters, and both .. and - for a range.
func checkDays(text string) error {
	for one := range strings.SplitSeq(strings.TrimSuffix(text, ","), ",") {
		from, to, ranged := strings.Cut(one, "..")
		if !ranged {
			from, to, ranged = strings.Cut(one, "-")
		}
		a, b := dayOf(from), dayOf(to)
		switch {
		case a < 0 || ranged && b < 0:
			return fmt.Errorf("%q is no day of the week", one)
		case ranged && a > b:
			return fmt.Errorf("%q goes backwards; a week begins with Monday", one)
		}
	}
	return nil
}

// dayOf returns the number of a day of the week, 0 for Monday; -1 for another word.
func dayOf(name string) int {
	return slices.IndexFunc(calendarDays, func(day string) bool {
		return strings.EqualFold(name, day) || strings.EqualFold(name, day[:3])
	})
}

// calendarPart is a part of a date or a time: its name, and the values that it has.
// Both ends belong to the range. The range is systemd's, which knows no year before
// 1970.
type calendarPart struct {
	name   string
	lo, hi float64
}

var (
	calendarTime = []calendarPart{{"hour", 0, 23}, {"minute", 0, 59}, {"second", 0, 59.999999}}
	calendarDate = []calendarPart{{"year", 1970, 2199}, {"month", 1, 12}, {"day", 1, 31}}
)

// checkDate reads [year-]month-day, with ~ in the place of the last dash for days that are
// counted from the end of the month.
func checkDate(text string) error {
	if i := strings.LastIndexByte(text, '~'); i >= 0 {
		text = text[:i] + "-" + text[i+1:]
	}
	parts := strings.Split(text, "-")
	if len(parts) == 2 {
		return checkParts(parts, calendarDate[1:])
	}
	if len(parts) != 3 {
		return fmt.Errorf("%q is no date", text)
	}
	return checkParts(parts, calendarDate)
}

// checkParts checks the parts of a date or a time in turn. of names the parts that
// there may be; the last ones may be missing, as seconds are. A star stands for any
// value.
func checkParts(parts []string, of []calendarPart) error {
	if len(parts) < 2 || len(parts) > len(of) {
		return fmt.Errorf("%q is no time of day", strings.Join(parts, ":"))
	}
	for i, text := range parts {
		if text == "*" {
			continue
		}
		for one := range strings.SplitSeq(text, ",") {
			if err := of[i].check(one); err != nil {
				return fmt.Errorf("%s %q: %w", of[i].name, text, err)
			}
		}
	}
	return nil
}

// check reads a value, a range, or one of them with a step. Its limits are those of
// systemd: a step must not be 0, and without a range it must not lead beyond the
// last value.
func (p calendarPart) check(text string) error {
	text, step, stepped := strings.Cut(text, "/")
	from, to, ranged := strings.Cut(text, "..")
	a, err := p.number(from)
	if err != nil {
		return err
	}
	b := a
	if ranged {
		b, err = p.number(to)
	}
	switch {
	case err != nil:
		return err
	case a > b:
		return errors.New("it goes backwards")
	case !stepped:
		return nil
	}
	every, err := p.digits(step)
	switch {
	case err != nil || every == 0:
		return fmt.Errorf("%q is no step", step)
	case !ranged && a+every > p.hi:
		return fmt.Errorf("a step of %s from %s leads beyond %v", step, from, p.hi)
	}
	return nil
}

// digits reads a number without a sign. Only seconds may have a fraction. It is not
// compared with the range.
func (p calendarPart) digits(s string) (float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.Trim(s, "0123456789.") != "" || p.name != "second" && strings.Contains(s, ".") {
		return 0, fmt.Errorf("%q is no number", s)
	}
	return n, nil
}

// number reads a value of the part, and refuses one outside of its range.
func (p calendarPart) number(s string) (float64, error) {
	n, err := p.digits(s)
	if err != nil {
		return 0, err
	}
	if p.name == "year" { // two digits stand for 1970 to 2069
		switch {
		case n < 70:
			n += 2000
		case n < 100:
			n += 1900
		}
	}
	if n < p.lo || n > p.hi {
		return 0, fmt.Errorf("%s is not from %v to %v", s, p.lo, p.hi)
	}
	return n, nil
}
