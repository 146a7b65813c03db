package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// side is one of two checkouts that are compared: its benchmark, its program and its folder.
// The folder at is where its rows run: the rows of the scheduler need the sources.
type side struct{ self, binary, at string }

// sideOf is the checkout in a folder, where `make build` and
// `go build -o bin/bench ./integration/bench` have been run.
// An error names the missing file.
func sideOf(tree string) (side, error) {
	tree, err := filepath.Abs(tree)
	s := side{self: filepath.Join(tree, "bin", "bench"), binary: filepath.Join(tree, "bin", "mgmt"), at: tree}
	for _, p := range []string{s.self, s.binary} {
		if _, serr := os.Stat(p); err == nil {
			err = serr
		}
	}
	return s, err
}

// comparison is what to compare: how many pairs of each row, and where the files are.
// Both sides work in the same folder dir, one after the other.
type comparison struct {
	dir      string
	ours     side
	theirs   side
	pairs    int
	quick    bool
	words    []string
	mostMore float64 // how many percent more than theirs a figure of ours may be
}

// compare runs each row in pairs, one of each side, whose order alternates, and prints for every
// number of its figure the medians and the difference in percent. It reports whether no row
// failed and no number is more than mostMore above the other side's. Every number is a cost.
func (c comparison) compare(w io.Writer) bool {
	fmt.Fprintf(w, "# %d pairs, medians\n\nMeasured on %s, %s.\n\n", c.pairs, machine(), time.Now().Format(time.DateOnly))
	fmt.Fprintln(w, "| row | number | other | this | difference | |\n| --- | --- | --- | --- | --- | --- |")
	good := true
	for _, r := range rows() {
		if chosen(r.name, c.words) {
			good = c.row(w, r.name) && good
		}
	}
	return good
}

// The order of the sides alternates, so that a machine that warms up favours neither. A
// figure with fewer numbers on one side is shown and not judged.
func (c comparison) row(w io.Writer, name string) (good bool) {
	var ours, theirs [][]number
	for i := range c.pairs {
		order := []side{c.theirs, c.ours}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		for _, s := range order {
			res := s.spawn(name, c.dir, c.quick)
			if res.Err != "" {
				fmt.Fprintf(w, "| %s | | | | | **failed** in %s: %s |\n", name, s.at, strings.ReplaceAll(res.Err, "\n", " "))
				return false
			}
			if s == c.ours {
				ours = append(ours, numbers(res.Figure))
			} else {
				theirs = append(theirs, numbers(res.Figure))
			}
		}
	}
	good = true
	for i, n := range ours[0] {
		a, aOK := medianAt(theirs, i)
		b, bOK := medianAt(ours, i)
		if !aOK || !bOK {
			fmt.Fprintf(w, "| %s | %d | | | | not in all figures |\n", name, i+1)
			continue
		}
		more, verdict := percentMore(a, b), "ok"
		if more > c.mostMore {
			verdict, good = "**more**", false
		}
		fmt.Fprintf(w, "| %s | %d | %s | %s | %+.1f %% | %s |\n", name, i+1, number{a, n.unit}, number{b, n.unit}, more, verdict)
	}
	return good
}

// A cost that was 0 has no percentage; it counts as unchanged.
func percentMore(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return 100 * (b - a) / a
}

// number is one number of a figure; times are in nanoseconds, with the unit ns.
// Only its position in the figure joins it to a number of the other side.
type number struct {
	value float64
	unit  string
}

// String writes a number as a row prints it, so the columns of a comparison read like the figures.
func (n number) String() string {
	if n.unit == "ns" {
		return round(time.Duration(n.value))
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", n.value, n.unit))
}

var (
	// A figure is text for people; these find its numbers with the units that rows print.
	timeText   = regexp.MustCompile(`^([0-9.]+(h|ms|µs|ns|m|s))+$`)
	numberText = regexp.MustCompile(`\b[0-9][0-9.]*(?:(?:h|ms|µs|ns|m|s)(?:[0-9][0-9.]*(?:ms|µs|ns|m|s))*\b| ?(?:KiB|MiB|MB|%|x)| )?`)
)

// numbers returns all numbers of a figure: "1.5s = 2.25 x" has a time and a ratio.
// Commas that group digits would split a number, so they are taken out first.
func numbers(figure string) []number {
	var list []number
	figure = strings.ReplaceAll(figure, ",", " ")
	for _, text := range numberText.FindAllString(figure, -1) {
		text = strings.TrimSpace(text)
		if timeText.MatchString(text) {
			if d, err := time.ParseDuration(text); err == nil {
				list = append(list, number{float64(d), "ns"})
				continue
			}
		}
		digits := strings.TrimRight(strings.TrimRight(text, "KiMB%x "), ".")
		if v, err := strconv.ParseFloat(digits, 64); err == nil {
			list = append(list, number{v, strings.TrimSpace(strings.TrimPrefix(text, digits))})
		}
	}
	return list
}

// medianAt returns the median of the numbers in one place, if all have one there.
// A figure such as "failed" has none, and then no median would be honest.
func medianAt(lists [][]number, i int) (float64, bool) {
	var values []float64
	for _, l := range lists {
		if i >= len(l) {
			return 0, false
		}
		values = append(values, l[i].value)
	}
	slices.Sort(values)
	return values[len(values)/2], true
}
