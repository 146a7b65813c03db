package textlines

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func re(s string) *regexp.Regexp { return regexp.MustCompile(s) }

func TestApply(t *testing.T) {
	for name, c := range map[string]struct {
		edit         Edit
		before, want string
		removed      string
	}{
		"to the end":                 {Edit{Lines: []string{"b"}}, "a\n", "a\nb\n", ""},
		"into nothing":               {Edit{Lines: []string{"b"}}, "", "b\n", ""},
		"there already":              {Edit{Lines: []string{"a"}}, "x\na\ny\n", "x\na\ny\n", ""},
		"no end stays none":          {Edit{Lines: []string{"b"}}, "a", "a\nb", ""},
		"CRLF":                       {Edit{Lines: []string{"b"}}, "a\r\nc", "a\r\nc\r\nb", ""},
		"CRLF is no difference":      {Edit{Lines: []string{"a"}}, "a\r\n", "a\r\n", ""},
		"mixed ends stay":            {Edit{Lines: []string{"b"}}, "a\nc\r\n", "a\nc\r\nb\n", ""},
		"a return inside":            {Edit{Lines: []string{"b"}}, "a\rb", "a\rb\nb", ""},
		"several lines":              {Edit{Lines: []string{"a", "b"}}, "a\nx\nb\n", "a\nx\nb\na\nb\n", ""},
		"several lines there":        {Edit{Lines: []string{"a", "b"}}, "x\na\nb\n", "x\na\nb\n", ""},
		"above the first":            {Edit{Lines: []string{"n"}, Above: re("^a")}, "x\na1\na2\n", "x\nn\na1\na2\n", ""},
		"below the last":             {Edit{Lines: []string{"n"}, Below: re("^a")}, "a1\na2\nx\n", "a1\na2\nn\nx\n", ""},
		"below the last without end": {Edit{Lines: []string{"n"}, Below: re("^a")}, "x\na", "x\na\nn", ""},
		"no anchor":                  {Edit{Lines: []string{"n"}, Above: re("^q")}, "x\n", "x\nn\n", ""},
		"removed everywhere":         {Edit{Absent: true, Lines: []string{"a"}}, "a\nb\na\n", "b\n", "a a"},
		"removed, no end":            {Edit{Absent: true, Lines: []string{"b"}}, "a\nb", "a", "b"},
		"removed, nothing left":      {Edit{Absent: true, Lines: []string{"b"}}, "b", "", "b"},
		"a pair removed":             {Edit{Absent: true, Lines: []string{"a", "b"}}, "a\na\nb\nb\n", "a\nb\n", "a b"},
		"what is made by removing":   {Edit{Absent: true, Lines: []string{"a", "b"}}, "a\na\nb\nb\na\nb\n", "a\nb\n", "a b a b"},
		"removed by match":           {Edit{Absent: true, Match: re("^#")}, "#1\na\n#2\n", "a\n", "#1 #2"},
		"not there":                  {Edit{Absent: true, Lines: []string{"q"}}, "a", "a", ""},
		"the last match":             {Edit{Match: re("^p"), Lines: []string{"p=3"}}, "p=1\np=2\r\nx\n", "p=1\np=3\r\nx\n", "p=2"},
		"all matches":                {Edit{Match: re("^p"), All: true, Lines: []string{"p=3"}}, "p=1\np=3\np=2\n", "p=3\np=3\np=3\n", "p=1 p=2"},
		"no match":                   {Edit{Match: re("^p"), Lines: []string{"p=3"}, Below: re("x")}, "x\ny\n", "x\np=3\ny\n", ""},
		"a line unlike its match":    {Edit{Match: re("^#p"), Lines: []string{"p=3"}}, "#p\n#p\n", "#p\np=3\n", "#p"},
		"unlike, and there":          {Edit{Match: re("^#p"), Lines: []string{"p=3"}}, "#p\np=3\n", "#p\np=3\n", ""},
		"unlike, all":                {Edit{Match: re("^#p"), All: true, Lines: []string{"p=3"}}, "#p\np=3\n", "p=3\np=3\n", "#p"},
		"no UTF-8":                   {Edit{Lines: []string{"b"}}, "\xff\x00\n", "\xff\x00\nb\n", ""},
		"a new block":                {Edit{Begin: "<", End: ">", Lines: []string{"a", "b"}}, "x", "x\n<\na\nb\n>", ""},
		"a block":                    {Edit{Begin: "<", End: ">", Lines: []string{"a"}}, "x\n<\nq\nr\n>\ny\n", "x\n<\na\n>\ny\n", "q r"},
		"an empty block":             {Edit{Begin: "<", End: ">"}, "<\nq\n>\n", "<\n>\n", "q"},
		"a block into an empty one":  {Edit{Begin: "<", End: ">", Lines: []string{"a"}}, "<\r\n>\r\n", "<\r\na\r\n>\r\n", ""},
		"a right block":              {Edit{Begin: "<", End: ">", Lines: []string{"a"}}, "<\r\na\r\n>", "<\r\na\r\n>", ""},
		"two blocks":                 {Edit{Begin: "<", End: ">", Lines: []string{"a"}}, "<\na\n>\nx\n<\n>\n", "<\na\n>\nx\n", "< >"},
		"blocks removed":             {Edit{Begin: "<", End: ">", Absent: true}, "<\na\n>\nx\n", "x\n", "< a >"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.edit.Apply(c.before)
			if err != nil || got.Text != c.want || strings.Join(got.Removed, " ") != c.removed || got.Changed != (c.before != c.want) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestBrokenBlocks(t *testing.T) {
	e := Edit{Begin: "<", End: ">", Lines: []string{"a"}}
	for text, want := range map[string]string{
		"x\n<\na\n":          "line 2: a block begins and does not end",
		">\n":                "line 1: a block ends and does not begin",
		"<\n<\n>\n":          "line 1: a block begins and does not end",
		"<\n>\n>\n":          "line 3: a block ends and does not begin",
		"<\na\n>\nx\n<\nb\n": "line 5: a block begins and does not end",
	} {
		got, err := e.Apply(text)
		if err == nil || err.Error() != want || got.Changed || got.Text != text {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if _, _, err := e.Find(text); err == nil {
			t.Errorf("%q: Find says nothing", text)
		}
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		edit Edit
		want string // of the lines, - for none
	}{
		{Edit{Lines: []string{"b"}}, "b"},
		{Edit{Lines: []string{"b", "c"}}, "-"},
		{Edit{Lines: []string{"q"}}, "-"},
		{Edit{Match: re("^[ab]"), Lines: []string{"z"}}, "b"},
		{Edit{Match: re("^q"), Lines: []string{"a"}}, "a"},
		{Edit{Match: re("^q")}, "-"},
		{Edit{Begin: "<", End: ">"}, "c d"},
		{Edit{Begin: "{", End: "}"}, "-"},
	} {
		got, ok, err := c.edit.Find("a\nb\n<\nc\nd\n>\n")
		if s := strings.Join(got, " "); err != nil || ok != (c.want != "-") || ok && s != c.want {
			t.Errorf("%+v: %q %t %v", c.edit, got, ok, err)
		}
	}
}

// TestFindingQ18Groups: groups of the match are put into the line, and a line that would grow with each edit is refused.
func TestFindingQ18Groups(t *testing.T) {
	for _, c := range []struct{ match, line, text, want string }{
		{`^opts="(.*?)( audit=1)?"$`, `opts="$1 audit=1"`, "opts=\"quiet\"\n", "opts=\"quiet audit=1\"\n"},
		{`^opts="(.*?)( audit=1)?"$`, `opts="$1 audit=1"`, "opts=\"quiet audit=1\"\n", "opts=\"quiet audit=1\"\n"},
		{`^opts="(.*)"$`, `opts="$1 audit=1"`, "opts=\"quiet\"\n", "error: line 1: match finds the new line too, and would make another one of it"},
		{`^(?P<key>\w+)\s*=\s*(\w*)`, `${key}=${2}0`, "x\na = 1\n", "error: line 2: match finds the new line too"},
		{`^(?P<key>\w+)\s*:\s*(\w*)`, `${key}=${2}0 $$1`, "x\na : 1\n", "x\na=10 $1\n"},
		{`^(a)`, `$1`, "b\n", "b\n"},
		{`^(a)|b`, `<$1>`, "b\n", "<>\n"},
		{`^(a)b`, `b$1`, "ab1\nab2\n", "error: 2 lines match, and not the new one"},
		{`^(a) *b(.)`, `${1}b$2`, "a b1\na b2\n", "a b1\nab2\n"},
		{`^a`, `$1 ${x} $HOME $$`, "a\n", "$1 ${x} $HOME $\n"},
		{`^(a)`, `$10`, "a\n", "$10\n"},
	} {
		e := Edit{Match: re(c.match), Lines: []string{c.line}}
		e.Groups()
		got, err := e.Apply(c.text)
		if err != nil {
			got.Text = "error: " + err.Error()
		}
		if got.Text != c.want && (err == nil || !strings.HasPrefix(got.Text, c.want)) {
			t.Errorf("%s, %s: %q, want %q", c.match, c.line, got.Text, c.want)
		}
	}
}

// The laws of the package hold for every text and edit.
func TestLaws(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "b", "ab", "#a", "", "<", ">"})
	some := rapid.SampledFrom([]*regexp.Regexp{nil, re("a"), re("^#"), re("^$"), re("b$")})
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			b.WriteString(word.Draw(t, "word") + rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"))
		}
		b.WriteString(rapid.SampledFrom([]string{"", "a", "x\r"}).Draw(t, "tail"))
		before := b.String()
		e := Edit{
			Absent: rapid.Bool().Draw(t, "absent"), Match: some.Draw(t, "match"), All: rapid.Bool().Draw(t, "all"),
			Above: some.Draw(t, "above"), Lines: []string{rapid.SampledFrom([]string{"a", "b", "new"}).Draw(t, "line")},
		}
		if e.Match != nil && !e.Absent && rapid.Bool().Draw(t, "groups") {
			e.Match = rapid.SampledFrom([]*regexp.Regexp{re("^(a)(b?)$"), re("(b)|#(?P<n>.)"), re("^(.*?)b*$"), re("()")}).Draw(t, "of")
			e.Lines = []string{rapid.SampledFrom([]string{"$1", "$1b", "#${n}", "b$2", "$$", "a$3", "$1$1"}).Draw(t, "with")}
			e.Groups()
		}
		if e.Match == nil && rapid.Bool().Draw(t, "block") {
			e.Begin, e.End = "<", ">"
		}
		got, err := e.Apply(before)
		if err != nil {
			return
		}
		again, err := e.Apply(got.Text)
		if err != nil || again.Changed || again.Text != got.Text {
			t.Fatalf("a second edit of %q: %+v, %v", got.Text, again, err)
		}
		if got.Changed != (got.Text != before) {
			t.Fatalf("Changed is %t from %q to %q", got.Changed, before, got.Text)
		}
		if before != "" && got.Text != "" && !strings.HasSuffix("\n"+strings.ReplaceAll(got.Text, "\r", ""), "\n\n") && strings.HasSuffix(before, "\n") != strings.HasSuffix(got.Text, "\n") {
			t.Fatalf("the end: %q became %q", before, got.Text)
		}
		if before == "" && got.Text != "" && !strings.HasSuffix(got.Text, "\n") {
			t.Fatalf("a new text has no end: %q", got.Text)
		}
		// Lines unlike those that were removed or added are there in its order, byte for byte.
		about := slices.Concat(got.Removed, got.Put, e.Lines, []string{e.Begin, e.End})
		if rest, was := without(got.Text, about), without(before, about); !slices.Equal(rest, was) {
			t.Fatalf("from %q to %q: %q is not %q", before, got.Text, rest, was)
		}
	})
}

// without returns the lines that are none of some, with their ends but for the last one.
func without(s string, some []string) []string {
	t := parse(s)
	var out []string
	for _, l := range t.lines {
		if !slices.Contains(some, l.body) {
			out = append(out, l.body+l.end)
		}
	}
	if n := len(out); n > 0 {
		out[n-1] = strings.TrimRight(out[n-1], "\r\n")
	}
	return out
}
