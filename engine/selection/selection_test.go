package selection_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/selection"
)

var item = selection.Named

func TestFindingQ9Selects(t *testing.T) {
	motd := item("file[/etc/motd]")
	site := item("file[/etc/nginx/sites/shop]")
	site.Module, site.Labels, site.Rest, site.State = "web.shop", map[string]string{"tier": "front", "big": ""}, "failed", "running"
	for _, c := range []struct {
		text       string
		motd, site bool
	}{
		{"file", true, true},
		{"svc", false, false},
		{"*", true, true},
		{"file[/etc/motd]", true, false},
		{"file[/etc/nginx/*]", false, true},
		{"file[/etc/nginx/]", false, false},
		{"*[*/shop]", false, true},
		{"f*e[/etc/*o*]", true, true},
		{"file[**]", true, true},
		{"module:web", false, true},
		{"module:web.shop", false, true},
		{"module:we", false, false},
		{"module:web.*", false, true},
		{"module:*", false, true},
		{"label:tier=front", false, true},
		{"label:tier=back", false, false},
		{"label:tier", false, true},
		{"label:t*=f*", false, true},
		{"label:big=", false, true},
		{"state:failed", false, true},
		{"state:running", false, true},
		{"state:ok", false, false},
		{"file & state:failed", false, true},
		{"file[/etc/motd] , module:web & state:failed", true, true},
		{"svc,file&module:web", false, true},
		{"module:web&svc,file[*motd]", true, false},
		{`file[/etc/mot\d]`, true, false},
		{`file[/etc/\*]`, false, false},
		{"\tfile [/etc/motd]\n", true, false},
	} {
		s, err := selection.Parse(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if s.Match(motd) != c.motd || s.Match(site) != c.site {
			t.Errorf("%q selects motd: %t, site: %t", c.text, s.Match(motd), s.Match(site))
		}
	}
}

// TestFindingQ9Names has names that look like more than one term.
func TestFindingQ9Names(t *testing.T) {
	for _, name := range []string{
		"a", "*", "**", "a,b", "a & b", "a],file[b", "[ -f x ] && y", "$a[1]", `\`, `a\`, `\*]`, "]", "[", " a ", "module:web", "état", "\xff", "a\n]\n,",
	} {
		id := "exec[" + name + "]"
		s, err := selection.Of(id, func(is string) bool { return is == id })
		if err != nil || !s.Match(item(id)) || s.Match(item("exec[other]")) || s.Match(item("exec[a,file[b]")) {
			t.Errorf("%q: %v", id, err)
		}
		if got, ok := s.ID(); !ok || got != id {
			t.Errorf("%q is selected as %q, %t", id, got, ok)
		}
		again, err := selection.Parse(selection.Exact(id).String())
		if err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("%q is written as %q: %v", id, s, err)
		}
	}
	// A name with brackets is read without a backslash, also where no such resource is known.
	if s, err := selection.Parse("exec[echo $a[1] b], exec[[ -f x ]]"); err != nil || !s.Match(item("exec[echo $a[1] b]")) || !s.Match(item("exec[[ -f x ]]")) {
		t.Error(s, err)
	}
	for _, several := range []string{"file", "file[a*]", "file[a],file[b]", "file[a]&state:ok", "module:a", "*[a]", "f*[a]"} {
		if s, err := selection.Parse(several); err != nil {
			t.Error(err)
		} else if id, ok := s.ID(); ok {
			t.Errorf("%q is %q alone", several, id)
		}
	}
}

func TestFindingQ9Errors(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "character 1: a term is missing: write a kind",
		"file,":            "character 6: a term is missing",
		"file&&svc":        "character 6: a term is missing",
		"é, &":             "character 4: a term is missing",
		"file[/etc":        `character 5: the "[" has no "]" before the end of the term: write kind[name]`,
		"file[/etc]x":      `character 5: the "[" has no "]"`,
		"[/etc]":           `character 1: there is no kind before the name: write *[...]`,
		"file[]":           "character 5: the name is empty: write [*]",
		"modul:web":        `character 1: "modul:" is no word of a selection: did you mean "module:web"?`,
		"file, stat=ok":    `character 7: "stat=" is no word of a selection: did you mean "state:ok"?`,
		"label=a":          `did you mean "label:a"?`,
		"module:":          `character 8: nothing follows "module:"`,
		"label:=a":         `character 7: nothing follows "label:"`,
		"file&state:faild": `character 12: "faild" is no state: did you mean "failed"?`,
		"state:o*":         `character 7: "o*" is no state`,
		"state:zzz":        `"zzz" is no state: write one of starting,`,
		`file\`:            `character 5: the backslash stands before nothing`,
		`file[a\`:          `character 7: the backslash stands before nothing`,

		strings.Repeat("x,", 256) + "x": "character 513: more than 256 terms: use a pattern",
	} {
		if _, err := selection.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestFindingQ9SelectsNothing(t *testing.T) {
	some := []selection.Item{item("file[/etc/nginx/nginx.conf]"), item("file[/etc/nginx/mime.types]"), item("file[/etc/motd]"), item("svc[nginx]")}
	some[0].Module, some[0].Labels = "web", map[string]string{"tier": "front"}
	for text, want := range map[string]string{
		"fil":                    `there is no kind "fil", did you mean "file"?`,
		"pkg":                    `there is no kind "pkg", there is file, svc`,
		"file[/etc/ngnix/*]":     `there is no name of file "/etc/ngnix/*", there is /etc/nginx/mime.types, /etc/nginx/nginx.conf, /etc/motd`,
		"svc[nginks]":            `did you mean "nginx"?`,
		"module:wep":             `there is no module "wep", did you mean "web"?`,
		"label:tier=frond":       `there is no label "tier=frond", did you mean "tier=front"?`,
		"label:role":             `there is no label "role", there is tier=front`,
		"state:failed":           "no resource is failed",
		"svc & module:web":       "no resource fits all of its terms at once",
		"fil,svc[nginks],fil[a]": `did you mean "file"?; there is no name of svc`,
	} {
		s, err := selection.Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := s.None(text, some).Error(); !strings.Contains(got, want) || !strings.Contains(got, "selects nothing") {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	s, _ := selection.Parse("module:web")
	if got := s.None("module:web", nil).Error(); got != `the selection "module:web" selects nothing: there is no module` {
		t.Error(got)
	}
}

// FuzzParse: no text makes Parse panic, and what it takes it writes and takes again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"file[/etc/*]", "a&b,c", "label:a=b", "state:ok", `\`, "exec[[ -f x ]]&module: a b ", "label:\\==*", "module:*a*", "x\\:y"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := selection.Parse(text)
		if err != nil {
			if !strings.Contains(err.Error(), "character ") {
				t.Fatal(err)
			}
			return
		}
		again, err := selection.Parse(s.String())
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Fatalf("%q is written as %q: %v", text, s, err)
		}
		s.Match(item("file[/etc/motd]"))
	})
}

// TestFindingQ9Model compares selections with a naive reading of their parts.
func TestFindingQ9Model(t *testing.T) {
	word := rapid.StringOfN(rapid.SampledFrom([]rune("ab,&]*[\\ =/.")), 1, 4, -1)
	states := []string{"ok", "failed"}
	escaped := func(text string) string { // each character but the star
		var b strings.Builder
		for _, c := range text {
			if c != '*' {
				b.WriteByte('\\')
			}
			b.WriteRune(c)
		}
		return b.String()
	}
	fits := func(pattern, text string) bool {
		return regexp.MustCompile(`(?s)^` + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + `$`).MatchString(text)
	}
	rapid.Check(t, func(t *rapid.T) {
		i := selection.Item{
			Kind: word.Draw(t, "kind"), Name: word.Draw(t, "name"), Module: word.Draw(t, "module"),
			Labels: map[string]string{word.Draw(t, "key"): word.Draw(t, "value")},
			Rest:   rapid.SampledFrom(states).Draw(t, "rest"), State: rapid.SampledFrom(states).Draw(t, "state"),
		}
		var texts []string
		any := false
		for range rapid.IntRange(1, 3).Draw(t, "any") {
			var terms []string
			every := true
			for range rapid.IntRange(1, 3).Draw(t, "all") {
				a, b := word.Draw(t, "a"), word.Draw(t, "b")
				var text string
				var is bool
				switch rapid.IntRange(0, 4).Draw(t, "term") {
				case 0:
					text, is = escaped(a), fits(a, i.Kind)
				case 1:
					text, is = escaped(a)+"["+escaped(b)+"]", fits(a, i.Kind) && fits(b, i.Name)
				case 2:
					text = "module:" + escaped(a)
					steps := strings.Split(i.Module, ".")
					for n := range steps {
						is = is || fits(a, strings.Join(steps[:n+1], "."))
					}
				case 3:
					text = "label:" + escaped(a) + "=" + escaped(b)
					for key, value := range i.Labels {
						is = is || fits(a, key) && fits(b, value)
					}
				default:
					state := rapid.SampledFrom(states).Draw(t, "asked")
					text, is = "state:"+state, state == i.Rest || state == i.State
				}
				terms, every = append(terms, text), every && is
			}
			texts, any = append(texts, strings.Join(terms, "&")), any || every
		}
		text := strings.Join(texts, ",")
		s, err := selection.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if s.Match(i) != any {
			t.Fatalf("%q (%s) and %+v: %t", text, s, i, !any)
		}
	})
}
