package crontab

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/internal/sorted"
)

// Field is one of the five times of a job.
type Field struct {
	Name     string
	Min, Max int
	words    []string // for the values from Min on
}

// Fields returns the five times in the order of a line.
func Fields() [5]Field {
	return [5]Field{
		{Name: "minute", Max: 59},
		{Name: "hour", Max: 23},
		{Name: "monthday", Min: 1, Max: 31},
		{Name: "month", Min: 1, Max: 12, words: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
		{Name: "weekday", Max: 7, words: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
	}
}

// Every is the time that is always.
const Every = "*"

// Canonical returns the one form of a time: numbers for names, sorted, each once, 0 for
// Sunday, * for whatever begins with it and has no step, and for absent, which is
// the word of catalogs for it. Parts are between commas.
func (f Field) Canonical(text string) (string, error) {
	if strings.EqualFold(strings.TrimSpace(text), "absent") {
		return Every, nil
	}
	var parts []part
	for s := range strings.SplitSeq(text, ",") {
		p, ok := f.part(strings.TrimSpace(s))
		if !ok {
			return "", f.errorf(s)
		}
		parts = append(parts, p)
	}
	sorted.Func(parts, part.compare)
	parts = slices.Compact(parts)
	if slices.Contains(parts, part{star: true, step: 1}) {
		return Every, nil
	}
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = p.String()
	}
	return strings.Join(out, ","), nil
}

func (f Field) errorf(text string) error {
	example := fmt.Sprintf("%d, %d-%d, */5 or *", f.Min, f.Min, f.Min+3)
	if f.words != nil {
		example += ", or " + f.words[1]
	}
	return fmt.Errorf("%q is no %s: it has to be of numbers from %d to %d, such as %s", text, f.Name, f.Min, f.Max, example)
}

// part is one of several times.
type part struct {
	star   bool
	lo, hi int
	step   int
}

func (p part) compare(o part) int {
	if p.star != o.star {
		if p.star {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(p.lo, o.lo), cmp.Compare(p.hi, o.hi), cmp.Compare(p.step, o.step))
}

func (p part) String() string {
	s := Every
	switch {
	case p.star:
	case p.lo == p.hi:
		return strconv.Itoa(p.lo)
	default:
		s = fmt.Sprintf("%d-%d", p.lo, p.hi)
	}
	if p.step > 1 {
		s += "/" + strconv.Itoa(p.step)
	}
	return s
}

func (f Field) part(s string) (p part, ok bool) {
	span, step, stepped := strings.Cut(s, "/")
	p.step = 1
	if stepped {
		if p.step, ok = number(step); !ok || p.step < 1 || p.step > f.Max {
			return p, false
		}
	}
	if span == Every {
		p.star = true
		return p, true
	}
	lo, hi, ranged := strings.Cut(span, "-")
	if !ranged {
		hi = lo
	}
	if p.lo, ok = f.value(lo); !ok {
		return p, false
	}
	if p.hi, ok = f.value(hi); !ok || p.hi < p.lo || stepped && !ranged {
		return p, false
	}
	if f.Name == "weekday" && p.lo == 7 {
		p.lo, p.hi = 0, 0
	}
	if p.lo == p.hi {
		p.step = 1
	}
	return p, true
}

// value reads a number or a name.
func (f Field) value(s string) (int, bool) {
	if i := slices.Index(f.words, strings.ToLower(s)); i >= 0 {
		return i + f.Min, true
	}
	n, ok := number(s)
	return n, ok && n >= f.Min && n <= f.Max
}

// number reads one or two digits.
func number(s string) (int, bool) {
	if len(s) == 0 || len(s) > 2 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// Specials returns the special times.
func Specials() []string {
	return []string{"reboot", "yearly", "monthly", "weekly", "daily", "hourly"}
}

// Special returns the one form of a special time: without an @, yearly for annually,
// daily for midnight.
func Special(text string) (string, error) {
	s := strings.ToLower(strings.TrimPrefix(text, "@"))
	switch s {
	case "annually":
		s = "yearly"
	case "midnight":
		s = "daily"
	}
	if !slices.Contains(Specials(), s) {
		return "", fmt.Errorf("%q is no special time: it has to be one of %s", text, strings.Join(Specials(), ", "))
	}
	return s, nil
}
