package backends

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// anyLine makes lines as they may stand in a database: entries, comments, blanks, those of
// other services, and damaged ones.
func anyLine() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[a-f]:x:[0-9]{1,3}:[a-z]{0,3}`),
		rapid.StringMatching(`#[ -~]{0,10}`),
		rapid.StringMatching(`[+-][a-z]{0,3}:{0,6}`),
		rapid.StringMatching(`[ -~]{0,12}`),
	)
}

// TestTableKeepsTheRest: whatever is done with one name, all lines of others stay as they
// are, in their order.
func TestTableKeepsTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(anyLine()).Draw(t, "lines")
		text := strings.Join(lines, "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end")
		table := parseTable(text)
		if table.String() != text {
			t.Fatalf("%q became %q", text, table)
		}
		for range rapid.IntRange(1, 5).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "put") {
				fields := []string{"a", rapid.StringMatching(`[0-9]{1,2}`).Draw(t, "field")}
				table.put(fields)
				if got := parseTable(table.String()).get("a"); !slices.Equal(got, fields) {
					t.Fatalf("put %q, got %q in %q", fields, got, table)
				}
			} else {
				table.remove("a")
				if parseTable(table.String()).get("a") != nil {
					t.Fatalf("it is still there: %q", table)
				}
			}
			if got, want := without(table.String(), "a"), without(text, "a"); !slices.Equal(got, want) {
				t.Fatalf("others were altered:\n%q\n%q", want, got)
			}
		}
	})
}

// without returns the lines of others than a name.
func without(text, name string) (rest []string) {
	for line := range strings.Lines(text) {
		if nameOf(line) != name {
			rest = append(rest, strings.TrimSuffix(line, "\n"))
		}
	}
	return rest
}

func TestTableEnds(t *testing.T) {
	for text, want := range map[string]string{
		"":                "n:1\n",
		"a:1":             "a:1\nn:1\n",
		"a:1\n+\n":        "a:1\nn:1\n+\n",
		"a:1\n+@x::\n-y:": "a:1\nn:1\n+@x::\n-y:",
		"n:0":             "n:1",
		"n:0\nb:2\nn:5\n": "n:1\nb:2\nn:5\n",
	} {
		table := parseTable(text)
		table.put([]string{"n", "1"})
		if got := table.String(); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
	table := parseTable("a:1\nb:2\na:3\nab:4\na b\n")
	table.rename("b", "c")
	if table.remove("a"); table.String() != "c:2\nab:4\na b\n" {
		t.Errorf("it is %q", table)
	}
}

// TestHashesAreChecked: what is no hash is refused and not shown.
func TestHashesAreChecked(t *testing.T) {
	for _, hash := range []string{"", "secret", "correct horse", "$6", "$6$", "$6$a\nb", "$1$a:b", "averyplaintxt"} {
		if err := CheckHash(hash); err == nil || hash != "" && strings.Contains(err.Error(), hash) {
			t.Errorf("%q: %v", hash, err)
		}
	}
	for _, hash := range []string{"!", "*", "!*", "*LK*", "$5$rounds=5000$abc$def", "$2b$12$abcdef"} {
		if err := CheckHash(hash); err != nil {
			t.Errorf("%q: %v", hash, err)
		}
	}
}

func TestDays(t *testing.T) {
	for day, want := range map[string]int{"1970-01-01": 0, "2031-02-03": 22313, "2000-03-01": 11017} {
		if n, err := dayOf(day); err != nil || n != want || dayText(n) != day {
			t.Errorf("%s is %d, and back %s (%v)", day, n, dayText(n), err)
		}
	}
	for _, day := range []string{"", "1969-12-31", "2030-02-30", "0", "never"} {
		if CheckDay(day) == nil {
			t.Errorf("%q passes", day)
		}
	}
}
