package schema_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// notations are texts that a format takes, and texts that it refuses.
var notations = map[string][2][]string{
	"ip":        {{"192.0.2.1", "::", "2001:db8::1", "fe80::1%eth0", "fe80::1%br-lan.100", "::ffff:192.0.2.1"}, {"", "192.0.2", "192.0.2.256", "192.0.2.01", "host", "2001:db8::1/32", " ::1", "192.0.2.1%eth0", "fe80::1%", "fe80::1%a b", "fe80::1%a\nb", "::1%../x", "fe80::1%a%b", "1::2::3", "00001::", "::01.2.3.4", "٣.1.1.1"}},
	"cidr":      {{"192.0.2.0/24", "192.0.2.7/24", "::/0", "::ffff:192.0.2.0/120"}, {"", "192.0.2.0", "192.0.2.0/33", "192.0.2.0/", "::/129", "::/ 1", "192.0.2.0/024", "192.0.2.0/+4", "fe80::%eth0/10", "::/0\n"}},
	"mac":       {{"52:54:00:12:34:56", "52-54-00-aB-34-56", "02:00:5e:10:00:00:00:01", "02-00-5e-10-00-00-00-01"}, {"", "52:54:00:12:34", "52:54:00:12:34:5g", "52:54:00-12:34:56", "5254.0012.3456", "52:54:00:12:34:5:", "02:00:5e:10:00:00:01", "52:54:00:12:34:_6", "52:54:00:12:34:56\n"}},
	"portrange": {{"0", "22", "8000-8010", "1-65535", "0-65535", "5-5", "080"}, {"", "0-65536", "65536-65537", "1 - 2", "1_0", "٣", "65536", "-1", "10-5", "1-", "1-2-3", "a", "+1", "00000080"}},
	"uri": {{"https://example.org/a?b#c", "mailto:root@example.org", "file:///etc", "urn:x:y", "http://u:p@h:8080/a;b=c/%7Ex?q=/?&a=1#f?/", "http://[2001:db8::1]:80/", "a:b", "x:/%41"},
		{"", "http://a/\u00a0", "http://exämple.org/", "http://a/{b}", "http://a/<b>", "http://a/\"b\"", "http://a/b|c", "http://a/^", "http://a/`", "http://a\\b", "x:%zz", "x:%4", "http://a/?%zz", "http://a/#b#c",
			"http://a/[b]", "http://a/?b[]=1", "http://a@b@c/", "http://a<b>/", "http://[fe80::1%eth0]/", "http://[fe80::1%25eth0]/", "http://[a]/", "http://a:b/", "//a/b", "/etc", "example.org", "http:", "https://a b", "http://[", "1x:y"}},
	"email":  {{"root@example.org", "a.b+c@localhost", strings.Repeat("a", 64) + "@x"}, {"", ".a@x", "a.@x", "a..b@x", strings.Repeat("a", 65) + "@x", "a@" + strings.Repeat("x.", 128) + "x", "ä@x", "a@x\n", "a@x_y", "root", "@x", "a@", "a@-x", "a b@x", "Root <root@x>", "a@b@c", "a@x..y", "a@" + strings.Repeat("x", 64)}},
	"semver": {{"1.2.3", "0.0.0", "2.0.0-rc.1", "1.0.0+build.5", "1.0.0-0a.-.x-y+001.-", "1.0.0+a-b", "1.0.0+01", "1.0.0--", "99999999999999999999.0.0"}, {"", "1", "1.2", "1.2.3.4", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3+", "1.2.3+a+b", "1.2.3-ä", "1.2.-3", "1.2.3 ", "1.02.3", "1.2.03", "1.2.3\n", "1.2.3-+b", "1.2.3-٣"}},
}

// TestFormats: each notation takes what it should and refuses the rest, with its words and its
// place; and what JSON Schema says of it refuses nothing that is right.
func TestFormats(t *testing.T) {
	for name, format := range schema.Formats {
		words, ok := notations[name]
		if !ok {
			t.Errorf("the format %s is not tested", name)
			continue
		}
		ty := &schema.Type{Kind: schema.KindString, Format: name}
		re := regexp.MustCompile(format.Pattern)
		for _, s := range words[0] {
			if ds := schema.Check(ty, s); ds.Err() != nil {
				t.Errorf("%s %q: %v", name, s, ds)
			}
			if !re.MatchString(s) {
				t.Errorf("%s %q: the pattern for JSON Schema does not match", name, s)
			}
		}
		for _, s := range words[1] {
			_, ds := schema.Value(ty, str(s))
			if len(ds) != 1 || ds[0].Pos != str(s).Pos || !strings.HasPrefix(ds[0].Message, "the value must be "+format.One+", not the text ") {
				t.Errorf("%s %q: %v", name, s, ds)
			}
			if slices.Contains([]string{"mac", "semver"}, name) && re.MatchString(s) { // the expression is all of the check
				t.Errorf("%s %q: the pattern for JSON Schema matches", name, s)
			}
		}
		if err := schema.CheckPattern(format.Pattern); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type formatted struct {
	Addr  string            `yaml:"addr" mgmt:"format=ip"`
	Nets  []string          `yaml:"nets" mgmt:"format=cidr,max=2"`
	Word  string            `yaml:"word" mgmt:"required,pattern=^[a-z]{1,3}$"`
	Codes map[string]string `yaml:"codes" mgmt:"pattern=^x,?$"`
	Pass  schema.Secret     `yaml:"pass" mgmt:"pattern=^.{8,}$"`
	File  schema.Ref        `yaml:"file" mgmt:"target=file"`
	Share float64           `yaml:"share" mgmt:"min=0.5,max=1.5"`
	Old   string            `yaml:"old" deprecated:"use word"`
	Size  int               `yaml:"size" mgmt:"init,replaces"`
}

func TestTextAndTargets(t *testing.T) {
	var v formatted
	ds := schema.Decode(dict(
		"addr", str("x"),
		"nets", list(str("192.0.2.0/24"), str("y")),
		"word", str("abcd"),
		"codes", dict("k", str("y")),
		"pass", str("short"),
		"file", str("pkg[x]"),
		"share", flt("0.25"),
		"old", str("z"),
	), &v)
	want := []string{
		`g:1:9: addr must be an IP address such as 192.0.2.1 or 2001:db8::1, not the text "x"`,
		`nets[1] must be a network such as 192.0.2.0/24 or 2001:db8::/32, not the text "y"`,
		`g:3:9: word must be text that matches ^[a-z]{1,3}$, not the text "abcd"`,
		`g:1:9: codes.k must be text that matches ^x,?$, not the text "y"`,
		`g:5:9: pass must be secret text that matches ^.{8,}$, not that text`,
		`g:6:9: file must be a reference such as file[name], not the text "pkg[x]"`,
		`g:7:9: share must be a number from 0.5 to 1.5, not 0.25`,
		`g:8:1: warning: old is deprecated: use word`,
	}
	if diff := cmp.Diff(want, lines(ds)); diff != "" {
		t.Error(diff)
	}
	ds = schema.Decode(dict("addr", str("::1"), "nets", list(str("::/0")), "word", str("abc"), "codes", dict("k", str("x,")),
		"pass", str("longer than that"), "file", str("file[/x]"), "share", num("1")), &v)
	if len(ds) > 0 {
		t.Error(ds)
	}
	if !typeOf[formatted](t).Field("size").Replaces {
		t.Error("replaces is not read")
	}
}

func TestBadFormats(t *testing.T) {
	type broken struct {
		Format string     `mgmt:"format=ipp"`
		Int    int        `mgmt:"format=ip"`
		Num    int        `mgmt:"pattern=^a"`
		Re     string     `mgmt:"pattern=("`
		Enum   string     `mgmt:"enum=a|b,format=ip"`
		Case   string     `mgmt:"pattern=(?i)a"`
		Posix  string     `mgmt:"pattern=[[:alpha:]]"`
		Esc    string     `mgmt:"pattern=\\pL"`
		Close  string     `mgmt:"pattern=[]a]"`
		Target string     `mgmt:"target=file"`
		Ref    schema.Ref `mgmt:"target=file"`
		Float  float64    `mgmt:"min=1.5,max=1"`
	}
	_, err := schema.Of(&broken{})
	if err == nil {
		t.Fatal("no error")
	}
	want := strings.Split(strings.TrimSpace(`
schema_test.broken.Format: tag mgmt:"format=ipp": format "ipp" is not one of cidr, email, ip, mac, portrange, semver, uri
schema_test.broken.Int: tag mgmt:"format=ip": a format or a pattern is for text, not for a whole number
schema_test.broken.Num: tag mgmt:"pattern=^a": a format or a pattern is for text, not for a whole number
schema_test.broken.Re: tag mgmt:"pattern=(": the pattern is no regular expression: error parsing regexp: missing closing ): `+"`(`"+`
schema_test.broken.Enum: tag mgmt:"enum=a|b,format=ip": what has an enum has neither a format nor a pattern
schema_test.broken.Case: tag mgmt:"pattern=(?i)a": the pattern has (?i), which is not the same in Go and in JavaScript
schema_test.broken.Posix: tag mgmt:"pattern=[[:alpha:]]": the pattern has [[:a, which is not the same in Go and in JavaScript
schema_test.broken.Esc: tag mgmt:"pattern=\\pL": the pattern has \pL, which is not the same in Go and in JavaScript
schema_test.broken.Close: tag mgmt:"pattern=[]a]": the pattern has []a], which is not the same in Go and in JavaScript
schema_test.broken.Target: tag mgmt:"target=file": only a reference has a target, not text
schema_test.broken.Float: tag mgmt:"min=1.5,max=1": min is above max
`), "\n")
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}
