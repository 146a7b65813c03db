package entries

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/resources/internal/keyring"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/provided"
)

const (
	aptKeyA   = "9E694A0A6AB6DA43DA678CA6C01A8E626F088CD3"
	aptKeyB   = "6BF72A2ADC8D83237D5833F8925A69BA112EC624"
	aptKeyOld = "69F39DA968C83EA47A26B5CA3DE427A2D5455EEE"
)

// keyData is a file with keys.
func keyData(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("../internal/keyring/testdata/" + name)
	kindtest.Must(t, err)
	return string(data)
}

// keyOf is one key of a file, in binary or as text.
func keyOf(t *testing.T, name, id string, armored bool) string {
	t.Helper()
	r, err := keyring.Read([]byte(keyData(t, name)))
	kindtest.Must(t, err)
	return string(r.Find(id).Bytes(armored))
}

func aptKeysAt(dir string) *aptKeys {
	return &aptKeys{folders: []string{dir + "/keyrings", dir + "/trusted"}, gpg: "gpg", client: keyClient()}
}

func aptKindAt(t *testing.T) (*provider.Kind, *kindtest.Place) {
	t.Helper()
	enginetest.Need(t, "gpg", "gnupg")
	var at kindtest.Place
	k, _ := kindtest.KindOf(t, aptKeyDefinition(), func() provider.Provider { return aptKeysAt(strings.TrimSuffix(at.Path("x"), "/x")) })
	return k, &at
}

func TestAptKeyEdits(t *testing.T) {
	k, at := aptKindAt(t)
	a, b, ab, old := keyOf(t, "ab.gpg", aptKeyA, false), keyOf(t, "ab.gpg", aptKeyB, false), keyData(t, "ab.gpg"), keyData(t, "old.asc")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/key.gpg":
			_, _ = w.Write([]byte(ab))
		case "/away":
			http.Redirect(w, r, "/key.gpg", http.StatusFound)
		case "/pks/lookup":
			if r.URL.Query().Get("search") == "0x"+aptKeyA && r.URL.Query().Get("op") == "get" {
				_, _ = w.Write([]byte(keyData(t, "a.asc")))
			}
		case "/html":
			_, _ = w.Write([]byte("<html>"))
		case "/much":
			_, _ = w.Write(make([]byte, maxKey+1))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(web.Close)
	type m = map[string]any
	own := "keyrings/" + aptKeyA + ".gpg"
	from := func(source string) m { return m{"source": source} }
	kindtest.RunEdits(t, k, func(t *testing.T, dir string) {
		at.Set(dir)
		kindtest.Lay(t, dir+"/a.asc", keyData(t, "a.asc"))
		kindtest.Lay(t, dir+"/ab.gpg", ab)
	}, []kindtest.Edit{
		{Name: "from a file", Title: aptKeyA, Values: from("$DIR/ab.gpg"), File: own, Before: "-", Want: a, Says: ""},
		{Name: "from text", Title: aptKeyA, Values: m{"content": keyData(t, "a.asc")}, File: own, Before: "-", Want: a, Says: ""},
		{Name: "a short id", Title: "0x6f088cd3", Values: from("$DIR/a.asc"), File: own, Before: "-", Want: a, Says: ""},
		{Name: "from the net", Title: aptKeyA, Values: from(web.URL + "/key.gpg"), File: own, Before: "-", Want: a, Says: ""},
		{Name: "from elsewhere on the net", Title: aptKeyA, Values: from(web.URL + "/away"), File: own, Before: "-", Want: a, Says: ""},
		{Name: "from a server", Title: aptKeyA, Values: m{"server": web.URL}, File: own, Before: "-", Want: a, Says: ""},
		{Name: "into a file", Title: aptKeyB + " in $DIR/trusted/x.gpg", Values: from("$DIR/ab.gpg"), File: "trusted/x.gpg", Before: a, Want: ab, Says: ""},
		{Name: "into a file of text", Title: aptKeyA + " in $DIR/trusted/x.asc", Values: from("$DIR/ab.gpg"), File: "trusted/x.asc", Before: "-", Want: keyData(t, "a.asc"), Says: ""},
		{Name: "any title", Title: "the key", Values: m{"id": aptKeyA, "source": "$DIR/ab.gpg"}, File: own, Before: "-", Want: a, Says: ""},
		{Name: "it is somewhere", Title: aptKeyA, Values: from("$DIR/no"), File: "trusted/x.gpg", Before: ab, Want: ab, Says: ""},
		{Name: "gone, with others left", Title: aptKeyA, Values: m{"ensure": "absent"}, File: "trusted/x.gpg", Before: ab, Want: b, Says: ""},

		{Name: "no source", Title: aptKeyA, Values: nil, File: "trusted/x.gpg", Before: b, Want: "", Says: "one of content, source and server"},
		{Name: "two sources", Title: aptKeyA, Values: m{"source": "$DIR/a.asc", "content": "x"}, File: "trusted/x.gpg", Before: b, Want: "", Says: "one of content, source and server"},
		{Name: "another key", Title: aptKeyOld, Values: from("$DIR/a.asc"), File: "trusted/x.gpg", Before: b, Want: "", Says: "but " + aptKeyA},
		{Name: "no key", Title: aptKeyA, Values: from(web.URL + "/html"), File: "trusted/x.gpg", Before: b, Want: "", Says: "BEGIN PGP"},
		{Name: "not there", Title: aptKeyA, Values: from(web.URL + "/none"), File: "trusted/x.gpg", Before: b, Want: "", Says: "404"},
		{Name: "too much", Title: aptKeyA, Values: from(web.URL + "/much"), File: "trusted/x.gpg", Before: b, Want: "", Says: "more than 4 MiB"},
		{Name: "no file", Title: aptKeyA, Values: from("$DIR/no"), File: "trusted/x.gpg", Before: b, Want: "", Says: "does not exist"},
		{Name: "a short id from the net", Title: "6f088cd3", Values: from(web.URL + "/key.gpg"), File: "trusted/x.gpg", Before: b, Want: "", Says: "all 40 digits"},
		{Name: "a scheme", Title: aptKeyA, Values: from("ftp://x/y"), File: "trusted/x.gpg", Before: b, Want: "", Says: "source"},
		{Name: "no id", Title: "6f088cd", Values: nil, File: "trusted/x.gpg", Before: b, Want: "", Says: "id"},
		{Name: "a line behind the id", Title: "the key", Values: m{"id": aptKeyA + "\n"}, File: "trusted/x.gpg", Before: b, Want: "", Says: "id"},
		{Name: "no folder", Title: aptKeyA + " in $DIR/no/x.gpg", Values: from("$DIR/a.asc"), File: "trusted/x.gpg", Before: b, Want: "", Says: "no does not exist; add file["},
		{Name: "a file that apt does not read", Title: aptKeyA + " in $DIR/trusted/x", Values: from("$DIR/a.asc"), File: "trusted/x.gpg", Before: b, Want: "", Says: "keyring"},
		{Name: "no keyring", Title: aptKeyA + " in $DIR/trusted/x.gpg", Values: from("$DIR/a.asc"), File: "trusted/x.gpg", Before: "what?", Want: "", Says: "BEGIN PGP"},
		{Name: "the keyring is a folder", Title: aptKeyA + " in $DIR/trusted/x.gpg", Values: from("$DIR/a.asc"), File: "trusted/x.gpg/y", Before: old, Want: "", Says: "not a plain file"},
	}, enginetest.WithHost(kindtest.RealHost(t)))
}

// A file without any key left is removed.
func TestAptKeyLastOne(t *testing.T) {
	dir := t.TempDir()
	kindtest.Lay(t, dir+"/trusted/a.asc", keyData(t, "a.asc"))
	kindtest.Lay(t, dir+"/keyrings/a.gpg", keyOf(t, "ab.gpg", aptKeyA, false))
	k, at := aptKindAt(t)
	at.Set(dir)
	r := kindtest.Filled(t, k, aptKeyA, map[string]any{"ensure": "absent"})
	f := kindtest.Begin(t, k.Name(), r, enginetest.WithHost(kindtest.RealHost(t)))
	kindtest.Want(t, f, r, "deleted")
	kindtest.Want(t, f, r, "")
	for _, folder := range []string{"/trusted", "/keyrings"} {
		if left, err := os.ReadDir(dir + folder); len(left) != 0 || err != nil {
			t.Errorf("in %s there is %v, %v", folder, left, err)
		}
	}
}

func aptRecords(t *testing.T, p *aptKeys, f provider.Filter) (got, errs []string) {
	t.Helper()
	rt := &provider.Runtime{Host: kindtest.RealHost(t), Log: provider.NewLogger(provider.LogOptions{})}
	for r, err := range p.Get(t.Context(), rt, f) {
		if err != nil {
			errs = append(errs, err.Error())
			continue
		}
		got = append(got, strings.Join([]string{provided.Str(r, "title"), provided.Str(r, "type"), provided.Str(r, "created"), provided.Str(r, "expiry")}, "|"))
		if r["expired"] != (provided.Str(r, "fingerprint") == aptKeyOld) || r["revoked"] != false || r["size"] == int64(0) {
			t.Errorf("got %v", r)
		}
	}
	slices.Sort(got)
	return got, errs
}

func TestAptKeyGet(t *testing.T) {
	enginetest.Need(t, "gpg", "gnupg")
	dir := t.TempDir()
	kindtest.Lay(t, dir+"/keyrings/ab.gpg", keyData(t, "ab.gpg"))
	kindtest.Lay(t, dir+"/trusted/old.asc", keyData(t, "old.asc"))
	kindtest.Lay(t, dir+"/trusted/readme", "no key")
	kindtest.Lay(t, dir+"/trusted/bad.gpg", "no key")
	got, errs := aptRecords(t, aptKeysAt(dir), provider.Filter{All: true})
	want := []string{
		aptKeyOld + " in " + dir + "/trusted/old.asc|rsa|2026-11-21|2026-11-21",
		aptKeyB + " in " + dir + "/keyrings/ab.gpg|ecc|2026-11-21|",
		aptKeyA + " in " + dir + "/keyrings/ab.gpg|ecc|2026-11-21|",
	}
	if !slices.Equal(got, want) || errs != nil {
		t.Errorf("got %q, %q", got, errs)
	}
	some := provider.Filter{Names: []provider.Name{
		provider.NameOf("6F088CD3", ""), provider.NameOf(aptKeyOld, ""), provider.NameOf(aptKeyOld, dir+"/keyrings/ab.gpg"),
		provider.NameOf("00000000", ""), provider.NameOf(aptKeyB, dir+"/trusted/bad.gpg"), provider.NameOf(aptKeyB, dir+"/none.gpg"),
	}}
	got, errs = aptRecords(t, aptKeysAt(dir), some)
	if want := []string{aptKeyOld + "|rsa|2026-11-21|2026-11-21", "6F088CD3|ecc|2026-11-21|"}; !slices.Equal(got, want) || len(errs) != 1 || !strings.Contains(errs[0], "bad.gpg") {
		t.Errorf("got %q, %q", got, errs)
	}
}

// Without gpg nothing can be said of a key; where there is none, it is not needed.
func TestAptKeyWithoutGPG(t *testing.T) {
	dir := t.TempDir()
	p := aptKeysAt(dir)
	p.gpg = dir + "/gpg"
	all := provider.Filter{All: true}
	if got, errs := aptRecords(t, p, all); len(got)+len(errs) != 0 {
		t.Errorf("got %q, %q", got, errs)
	}
	kindtest.Lay(t, dir+"/keyrings/ab.gpg", keyData(t, "ab.gpg"))
	if got, errs := aptRecords(t, p, all); len(got) != 0 || len(errs) != 1 || !strings.Contains(errs[0], "install it") {
		t.Errorf("got %q, %q", got, errs)
	}
}

func TestAptKeyAmbiguous(t *testing.T) {
	list := []held{{"x", keyring.Key{Fingerprint: aptKeyA}}, {"y", keyring.Key{Fingerprint: aptKeyB[:32] + aptKeyA[32:]}}}
	if _, _, err := (aptKeyName{id: aptKeyA[32:]}).findIn(list); err == nil || !strings.Contains(err.Error(), "all 40 digits") {
		t.Errorf("got %v", err)
	}
	if s, ok, err := (aptKeyName{id: aptKeyA}).findIn(append(list, list...)); !ok || err != nil || s.file != "x" {
		t.Errorf("got %v, %t, %v", s, ok, err)
	}
}

// What gpg is given for a home is removed again.
func TestAptKeyLeavesNothing(t *testing.T) {
	enginetest.Need(t, "gpg", "gnupg")
	dir, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	kindtest.Lay(t, dir+"/keyrings/ab.gpg", keyData(t, "ab.gpg"))
	if got, _ := aptRecords(t, aptKeysAt(dir), provider.Filter{All: true}); len(got) != 2 {
		t.Errorf("got %q", got)
	}
	if left, err := os.ReadDir(temp); len(left) != 0 || err != nil {
		t.Errorf("left is %v, %v", left, err)
	}
}

// Who begins with https does not end with http.
func TestKeyRedirects(t *testing.T) {
	to := func(address string) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		kindtest.Must(t, err)
		return r
	}
	check := keyClient().CheckRedirect
	for _, c := range []struct {
		from, to string
		via      int
		ok       bool
	}{{"http://a", "http://b", 1, true}, {"http://a", "https://b", 1, true}, {"https://a", "https://b", 1, true}, {"https://a", "http://b", 1, false}, {"http://a", "http://b", 5, false}} {
		if err := check(to(c.to), slices.Repeat([]*http.Request{to(c.from)}, c.via)); (err == nil) != c.ok {
			t.Errorf("from %s to %s: %v", c.from, c.to, err)
		}
	}
}

func TestKeyServers(t *testing.T) {
	q := "/pks/lookup?op=get&options=mr&search=0xAB"
	for server, want := range map[string]string{
		"keys.example.com": "https://keys.example.com" + q, "hkps://a:8443": "https://a:8443" + q, "hkp://a": "http://a:11371" + q,
		"hkp://a:80": "http://a:80" + q, "http://a": "http://a" + q, "https://a": "https://a" + q,
	} {
		if got := lookup(server, "AB"); got != want {
			t.Errorf("%s: %s", server, got)
		}
	}
}
