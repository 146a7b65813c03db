package entries

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func TestLineSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "line", Received: []string{"content"}, Prepare: kindtest.WriteInto("f", "a = 1\nb = 2\n"),
		New: func(_ *testing.T, dir string) engine.Res {
			return &Line{File: dir + "/f", Content: "a = 3", Match: "^a ", State: Exists}
		},
		Drifts: map[string]func(*testing.T, string){
			"altered": kindtest.WriteInto("f", "a = 4\nb = 2\n"),
			"gone":    kindtest.WriteInto("f", "b = 2\n"),
		},
		Variants: map[string]func(engine.Res){
			"absent": func(r engine.Res) { *r.(*Line) = Line{File: "/f", Content: "x", State: Absent} },
		},
	})
}

func TestLineBlockSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "line", Received: []string{"content"}, Host: kindtest.RealHost,
		New: func(_ *testing.T, dir string) engine.Res {
			return &Line{File: dir + "/f", Content: "1\n2", Marker: "# {mark} it", Create: true}
		},
		Drifts: map[string]func(*testing.T, string){
			"emptied": kindtest.WriteInto("f", "# BEGIN it\n# END it\n"),
			"removed": func(t *testing.T, dir string) { kindtest.Must(t, os.Remove(dir+"/f")) },
		},
	})
}

func TestLineAbsentSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "line", Prepare: kindtest.WriteInto("f", "x\ny\n"),
		New: func(_ *testing.T, dir string) engine.Res {
			return &Line{File: dir + "/f", Content: "x", State: Absent}
		},
		Drifts: map[string]func(*testing.T, string){"back": kindtest.WriteInto("f", "y\nx\n")},
	})
}

func TestLineAppendSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "line", Received: []string{"content"}, Prepare: kindtest.WriteInto("f", "x"),
		New: func(_ *testing.T, dir string) engine.Res {
			return &Line{File: dir + "/f", Content: "y", Below: "^x"}
		},
		Drifts: map[string]func(*testing.T, string){"gone": kindtest.WriteInto("f", "x\n")},
	})
}

// ownName is the name of the user who runs the tests.
func ownName() string { return files.UserName(uint32(os.Geteuid()), "") }

func TestLineParameters(t *testing.T) {
	for name, c := range map[string]struct {
		before string // - for none
		res    Line
		what   string // DIR stands for the folder of the test
		want   string
	}{
		"added":             {"a\n", Line{Content: "b"}, `content: (none) -> "b"`, "f 0644 a\nb\n"},
		"made":              {"-", Line{Content: "b\n", Create: true}, `file: (none) -> "made with mode 0644, owner ` + ownName() + `" content: (none) -> "b"`, "f 0644 b\n"},
		"missing":           {"-", Line{Content: "b"}, "error: DIR/f does not exist; create: true makes it", ""},
		"missing, not made": {"-", Line{Content: "b", State: Absent}, "", ""},
		"replaced":          {"a=1\r\nb", Line{Content: "a=2", Match: "^a="}, `content: "a=1" -> "a=2"`, "f 0644 a=2\r\nb"},
		"removed":           {"a\nb\na\n", Line{Content: "a", State: Absent}, `content: "a\na" -> (none)`, "f 0644 b\n"},
		"removed by match":  {"#1\nb\n", Line{Match: "^#", State: Absent}, `content: "#1" -> (none)`, "f 0644 b\n"},
		"with a group":      {"a  = 1\n", Line{Content: "$1 = 2", Match: `^(\w+)\s*=`}, `content: "a  = 1" -> "a = 2"`, "f 0644 a = 2\n"},
		"no group":          {"b\n", Line{Content: "$1 = 2", Match: `^(a)\s*=`}, "", "f 0644 b\n"},
		"a growing line":    {"a=1\n", Line{Content: "${1}0", Match: `^(a=.*)`}, "error: DIR/f: line 1: match finds the new line too, and would make another one of it: let it match what the line adds, outside of the group", "f 0644 a=1\n"},
		"a block":           {"a\n", Line{Content: "x", Marker: "<{mark}>"}, `content: (none) -> "x"`, "f 0644 a\n<BEGIN>\nx\n<END>\n"},
		"an empty block":    {"a\n", Line{Marker: "<{mark}>"}, `marker created`, "f 0644 a\n<BEGIN>\n<END>\n"},
		"a block gone":      {"a\n<BEGIN>\nx\n<END>", Line{Marker: "<{mark}>", State: Absent}, `marker deleted`, "f 0644 a"},
		"half a block":      {"a\n<BEGIN>\n", Line{Marker: "<{mark}>"}, `error: DIR/f, line 2: a block begins and does not end; the marks are "<BEGIN>" and "<END>"`, "f 0644 a\n<BEGIN>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.before != "-" {
				kindtest.Lay(t, dir+"/f", c.before)
				kindtest.Must(t, unix.Chmod(dir+"/f", 0o644))
			}
			r := c.res
			r.File = dir + "/f"
			f := kindtest.Begin(t, "line", &r)
			kindtest.Want(t, f, &r, strings.ReplaceAll(c.what, "DIR", dir))
			if got := kindtest.Have(t, dir+"/f"); got != c.want {
				t.Errorf("it is %q", got)
			}
			if !strings.HasPrefix(c.what, "error") {
				kindtest.Want(t, f, &r, "")
			}
		})
	}
}

func TestLineRefuses(t *testing.T) {
	for want, r := range map[string]Line{
		`file is empty`:                              {Content: "x"},
		`not absolute`:                               {File: "f", Content: "x"},
		`file "/a/../b" has ..`:                      {File: "/a/../b", Content: "x"},
		`has a control character`:                    {File: "/a\nb", Content: "x"},
		`ends in a slash`:                            {File: "/a/", Content: "x"},
		`state is "on"`:                              {File: "/a", Content: "x", State: "on"},
		`content is missing`:                         {File: "/a"},
		`match: error parsing`:                       {File: "/a", Content: "x", Match: "("},
		`above: error parsing`:                       {File: "/a", Content: "x", Above: "["},
		`above and below exclude`:                    {File: "/a", Content: "x", Above: "a", Below: "b"},
		`match and marker exclude`:                   {File: "/a", Content: "x", Match: "a", Marker: "{mark}"},
		`all_matches needs a match`:                  {File: "/a", Content: "x", AllMatches: true},
		`if_missing and keep make no sense`:          {File: "/a", Content: "$1", Match: "(a)", Keep: true},
		`content has several lines, and match`:       {File: "/a", Content: "x\ny", Match: "a"},
		`what matches is removed, content`:           {File: "/a", Content: "x", Match: "a", State: Absent},
		`content has a return`:                       {File: "/a", Content: "x\ry"},
		`content has a NUL`:                          {File: "/a", Content: "x\x00"},
		`marker has to have {mark} in it, once`:      {File: "/a", Content: "x", Marker: "# it"},
		`marker has to be one line`:                  {File: "/a", Content: "x", Marker: "{mark}\n"},
		`content has a line in it that is a mark of`: {File: "/a", Content: "END", Marker: "{mark}"},
	} {
		if err := r.Validate(); !strings.Contains(kindtest.ErrText(err), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	err := (&Line{File: "f", State: "on", Above: "(", Below: ")", AllMatches: true}).Validate()
	if got := strings.Count(kindtest.ErrText(err), "\n"); got != 6 {
		t.Errorf("not all errors at once: %v", err)
	}
}

// TestFindingQ18Lint: a number that is no group of the match is warned of, unless it was received.
func TestFindingQ18Lint(t *testing.T) {
	for content, want := range map[string]string{
		"$1 ${2} $$3 $HOME": "content has ${2} in it, and match has 1 groups, so it is written as it is; put in brackets what match finds, or write $${2}",
		"$1":                "",
		"root:$6$salt":      "content has $6 in it, and match has 1 groups, so it is written as it is; put in brackets what match finds, or write $$6",
	} {
		r := &Line{File: "/f", Content: content, Match: "(a)"}
		kindtest.Must(t, r.Validate())
		var got strings.Builder
		for _, d := range r.Lint() {
			got.WriteString(d.Message)
		}
		if got.String() != want {
			t.Errorf("%s: %s", content, got.String())
		}
	}
	if found := (&Line{File: "/f", Content: "$1"}).Lint(); found != nil {
		t.Error(found)
	}
}

// Lines of one file that are written at the same time are all there in the end.
//
// Seen failing with: internal/files/shared.go, Lock: without l.Lock().
func TestLinesTogether(t *testing.T) {
	dir := t.TempDir()
	kindtest.Lay(t, dir+"/f", "first\n")
	kindtest.Must(t, os.Symlink("f", dir+"/link"))
	shared := files.New(nil)
	defer func() { kindtest.Must(t, shared.Close()) }()
	var wg sync.WaitGroup
	errs := make([]error, 40)
	for i := range errs {
		r := &Line{File: dir + []string{"/f", "/link"}[i%2], Content: fmt.Sprintf("line %d", i)}
		kindtest.Begin(t, "line", r, enginetest.WithShared(shared))
		wg.Go(func() { _, errs[i] = r.CheckApply(t.Context(), true) })
	}
	wg.Wait()
	kindtest.Must(t, errors.Join(errs...))
	got, err := os.ReadFile(dir + "/f")
	kindtest.Must(t, err)
	for i := range errs {
		if !strings.Contains(string(got), fmt.Sprintf("line %d\n", i)) {
			t.Errorf("line %d is lost", i)
		}
	}
	if shared.Locked() != 0 {
		t.Errorf("locks are left: %d", shared.Locked())
	}
}

// What somebody else writes meanwhile is not lost either.
func TestLineMeetsAnotherWriter(t *testing.T) {
	dir := t.TempDir()
	kindtest.Lay(t, dir+"/f", "a\n")
	r := &Line{File: dir + "/f", Content: "b"}
	f := kindtest.Begin(t, "line", r)
	f.OnChange(func(engine.Change) { kindtest.Lay(t, dir+"/f", "a\nother\n") })
	_, err := r.CheckApply(t.Context(), true)
	kindtest.Must(t, err)
	kindtest.WantFile(t, dir+"/f", "a\nother\nb\n")
}

func TestLineKeepsTheFile(t *testing.T) {
	dir := t.TempDir()
	kindtest.Lay(t, dir+"/f", "a\n")
	kindtest.Must(t, unix.Chmod(dir+"/f", 0o4755))
	kindtest.Must(t, unix.Setxattr(dir+"/f", "user.note", []byte("x"), 0))
	kindtest.Must(t, os.Symlink("f", dir+"/link"))
	r := &Line{File: dir + "/link", Content: "b"}
	f := kindtest.Begin(t, "line", r)
	kindtest.Want(t, f, r, `content: (none) -> "b"`)
	var st unix.Stat_t
	kindtest.Must(t, unix.Stat(dir+"/f", &st))
	n, err := unix.Getxattr(dir+"/f", "user.note", nil)
	if st.Mode&0o7777 != 0o4755 || n != 1 || err != nil {
		t.Errorf("mode %o, attribute %d %v", st.Mode, n, err)
	}
	if to, err := os.Readlink(dir + "/link"); to != "f" || err != nil {
		t.Errorf("the link is %q, %v", to, err)
	}
	kindtest.WantFile(t, dir+"/f", "a\nb\n")
}

// A line that was received from a secret makes a file that nobody else can read, is not
// shown, nor is what it replaces, nor is what is copied from there.
func TestLineSecret(t *testing.T) {
	dir := t.TempDir()
	shared := files.New(nil)
	defer func() { kindtest.Must(t, shared.Close()) }()
	r := &Line{File: dir + "/f", Content: "key = hidden-text", Match: "^key", Create: true}
	f := kindtest.Begin(t, "line", r, enginetest.WithShared(shared))
	f.SetRecv(map[string]*engine.Send{"content": {Res: schema.Ref{Kind: "password", Name: "p"}, Secret: true}})
	got := kindtest.Verbs(t, f, r, true)
	if st, err := os.Stat(dir + "/f"); err != nil || st.Mode() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
	kindtest.Lay(t, dir+"/f", "key = other-text\n")
	got += kindtest.Verbs(t, f, r, true)
	if strings.Contains(got, "-text") || !strings.Contains(got, "secret") {
		t.Errorf("it says %s", got)
	}
	if !shared.HoldsSecret([]string{dir + "/f"}) {
		t.Error("nobody else knows that there is a secret in it")
	}
}

// What another kind has made is not purged.
func TestLineIsNotPurged(t *testing.T) {
	dir := t.TempDir()
	shared := files.New(nil)
	defer func() { kindtest.Must(t, shared.Close()) }()
	r := &Line{File: dir + "/d/f", Content: "a", Create: true}
	d := &file.Res{Path: dir + "/d/", Recurse: true, Purge: true}
	fd := kindtest.Begin(t, "file", d, enginetest.WithShared(shared))
	f := kindtest.Begin(t, "line", r, enginetest.WithShared(shared))
	kindtest.Verbs(t, fd, d, true)
	kindtest.Verbs(t, f, r, true)
	kindtest.Lay(t, dir+"/d/other", "")
	if got := kindtest.Verbs(t, fd, d, true); !strings.Contains(got, `entries["other"]`) || strings.Contains(got, `"f"`) {
		t.Errorf("purged: %s", got)
	}
	kindtest.WantFile(t, dir+"/d/f", "a\n")
}

func TestLineClashes(t *testing.T) {
	x := "x"
	line := func(r Line) *Line { r.File = "/f"; r.SetKind("line"); return &r }
	for name, c := range map[string]struct {
		a    *Line
		b    engine.Res
		want string
	}{
		"two lines":         {line(Line{Content: "a"}), line(Line{Content: "b"}), ""},
		"the same line":     {line(Line{Content: "a"}), line(Line{Content: "a"}), ""},
		"there and gone":    {line(Line{Content: "a"}), line(Line{Content: "a", State: Absent}), "one wants it there, the other one wants it gone"},
		"gone by match":     {line(Line{Content: "#a"}), line(Line{Match: "^#", State: Absent}), "one removes what the other one wants there"},
		"gone by another":   {line(Line{Content: "a"}), line(Line{Match: "^#", State: Absent}), ""},
		"one match":         {line(Line{Content: "a=1", Match: "^a"}), line(Line{Content: "a=2", Match: "^a"}), "they want different lines in the place of the one that matches"},
		"two matches":       {line(Line{Content: "a=1", Match: "^a"}), line(Line{Content: "b=2", Match: "^b"}), ""},
		"one block":         {line(Line{Content: "a", Marker: "{mark}"}), line(Line{Content: "b", Marker: "{mark}"}), `they want different contents in the block "{mark}"`},
		"a block, and gone": {line(Line{Content: "a", Marker: "{mark}"}), line(Line{State: Absent, Marker: "{mark}"}), "one wants it there, the other one wants it gone"},
		"two blocks":        {line(Line{Content: "a", Marker: "{mark}"}), line(Line{Content: "b", Marker: "{mark}2"}), ""},
		"a file":            {line(Line{Content: "a"}), &file.Res{Path: "/f", Content: &x}, "the file has a content of its own, and the line writes one too"},
		"a file's mode":     {line(Line{Content: "a"}), &file.Res{Path: "/f", Mode: "0600"}, ""},
		"a file that goes":  {line(Line{Content: "a"}), &file.Res{Path: "/f", State: Absent}, "the file wants nothing there, and the line writes a file"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := kindtest.ErrText(c.a.Clashes(c.b)); got != c.want {
				t.Errorf("%q", got)
			}
			if got := kindtest.ErrText(c.b.(engine.ClashingRes).Clashes(c.a)); got != c.want {
				t.Errorf("the other way: %q", got)
			}
		})
	}
}

// What a line undoes, and what it can't.
func TestLineReversed(t *testing.T) {
	for name, c := range map[string]struct {
		before string
		res    Line
		want   string // after it was undone, or the error
	}{
		"added":          {"a", Line{Content: "b"}, "a"},
		"there before":   {"a\nb\n", Line{Content: "b"}, "a\nb\n"},
		"replaced":       {"x\na=1\ny", Line{Content: "a=2", Match: "^a"}, "x\na=1\ny"},
		"a group":        {"a = 1$\ny", Line{Content: "$1=2", Match: `^(\w+) =`}, "a = 1$\ny"},
		"no group":       {"y\n", Line{Content: "$1=2", Match: "^(a)"}, "error: no line matched, so nothing was replaced"},
		"a literal one":  {"$1=2\ny\n", Line{Content: "$1=2", Match: "^(a)"}, "error: no line matched, so nothing was replaced"},
		"a dollar":       {"y\n", Line{Content: "a$$", Match: "^a"}, "y\n"},
		"added by match": {"x\n", Line{Content: "a=2", Match: "^a"}, "x\n"},
		"a block":        {"x\n", Line{Content: "1", Marker: "{mark}"}, "x\n"},
		"another block":  {"BEGIN\n2\n3\nEND\n", Line{Content: "1", Marker: "{mark}"}, "BEGIN\n2\n3\nEND\n"},
		"removed":        {"x\ny\n", Line{Content: "x", State: Absent}, "error: where the lines stood that it removes is not kept"},
		"nothing to do":  {"y\n", Line{Content: "x", State: Absent}, "y\n"},
		"all":            {"a\na\n", Line{Content: "b", Match: "a", AllMatches: true}, "error: the lines that all become the same one are not kept"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			kindtest.Lay(t, dir+"/f", c.before)
			r := c.res
			r.File = dir + "/f"
			f := kindtest.Begin(t, "line", &r)
			was, err := r.Read(t.Context())
			kindtest.Must(t, err)
			undo, err := r.Reversed(was)
			if err != nil {
				if got := "error: " + err.Error(); got != c.want {
					t.Error(got)
				}
				return
			}
			kindtest.Verbs(t, f, &r, true)
			u := undo.(*Line)
			kindtest.Verbs(t, kindtest.Begin(t, "line", u), u, true)
			kindtest.WantFile(t, dir+"/f", c.want)
		})
	}
}

// TestLineGoesBack: what comes back takes the place of whatever matches now, so that it
// does not matter which edit of the graph was made last. Seen failing with own
// returning the line itself.
func TestLineGoesBack(t *testing.T) {
	was := &Line{File: "/f", State: Exists, Content: "b=2"}
	for match, want := range map[string]string{"^b=": "^b=", "^#b=": `^b=3\.1$`} {
		undo, err := (&Line{File: "/f", Content: "b=3.1", Match: match}).Reversed(was)
		if err != nil {
			t.Fatal(err)
		}
		if u := undo.(*Line); u.Match != want || u.Content != "b=2" || u.State != Exists {
			t.Errorf("of match %s there is %+v", match, u)
		}
	}
}

// TestFindingE5LineModes: what a line that matches, or its absence, means.
func TestFindingE5LineModes(t *testing.T) {
	for name, c := range map[string]struct {
		before string
		res    Line
		want   string // after it; or the error
	}{
		"there, and another matches": {"a=2\na=1\n", Line{Content: "a=2", Match: "^a=", IfMissing: true}, "a=2\na=1\n"},
		"not there":                  {"a=1\n", Line{Content: "a=2", Match: "^a=", IfMissing: true}, "a=2\n"},
		"several":                    {"a=1\na=3\n", Line{Content: "a=2", Match: "^a=", OneMatch: true}, "error: PATH: 2 lines match, and one is allowed"},
		"several to remove":          {"a=1\na=3\n", Line{State: Absent, Match: "^a=", OneMatch: true}, "error: PATH: 2 lines match, and one is allowed"},
		"one to remove":              {"a=1\nb\n", Line{State: Absent, Match: "^a=", OneMatch: true}, "b\n"},
		"several places":             {"s\ns\n", Line{Content: "x", Below: "^s", OneMatch: true}, "error: PATH: 2 lines match, and one is allowed"},
		"several places, and there":  {"s\ns\nx\n", Line{Content: "x", Below: "^s", OneMatch: true}, "s\ns\nx\n"},
		"kept":                       {"a=1\n", Line{Content: "a=2", Match: "^a=", Keep: true}, "a=1\n"},
		"nothing to keep":            {"b\n", Line{Content: "a=2", Match: "^a=", Keep: true}, "b\na=2\n"},
		"not added":                  {"b\n", Line{Content: "a=2", Match: "^a=", NoAdd: true}, "b\n"},
		"replaced, not added":        {"a=1\n", Line{Content: "a=2", Match: "^a=", NoAdd: true}, "a=2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir() + "/f"
			kindtest.Put(t, path, c.before)
			r := c.res
			r.File = path
			got := kindtest.Verbs(t, kindtest.Begin(t, "line", &r), &r, true)
			if !strings.HasPrefix(got, "error") {
				b, err := os.ReadFile(path)
				kindtest.Must(t, err)
				got = string(b)
			}
			if want := strings.ReplaceAll(c.want, "PATH", path); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
