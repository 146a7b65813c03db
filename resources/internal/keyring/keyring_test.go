package keyring

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	keyA   = "9E694A0A6AB6DA43DA678CA6C01A8E626F088CD3"
	keyB   = "6BF72A2ADC8D83237D5833F8925A69BA112EC624"
	keyOld = "69F39DA968C83EA47A26B5CA3DE427A2D5455EEE"
)

func file(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func read(t testing.TB, data []byte) Ring {
	t.Helper()
	r, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func prints(r Ring) []string {
	var list []string
	for _, k := range r {
		list = append(list, k.Fingerprint)
	}
	return list
}

func TestRead(t *testing.T) {
	a, ab := file(t, "a.asc"), file(t, "ab.gpg")
	for name, c := range map[string]struct {
		data []byte
		want []string
	}{
		"nothing":         {nil, nil},
		"armor":           {a, []string{keyA}},
		"binary":          {ab, []string{keyA, keyB}},
		"text around":     {[]byte("hello\n" + string(a) + "\nbye\n" + string(file(t, "old.asc"))), []string{keyA, keyOld}},
		"lines as in DOS": {bytes.ReplaceAll(a, []byte("\n"), []byte("\r\n")), []string{keyA}},
		"headers":         {[]byte(strings.Replace(string(a), begin+"\n", begin+"\nComment: x\n", 1)), []string{keyA}},
	} {
		if got := prints(read(t, c.data)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := read(t, ab).Bytes(false); !bytes.Equal(got, ab) {
		t.Error("not the same bytes")
	}
	if got := read(t, a).Bytes(true); !bytes.Equal(got, a) {
		t.Errorf("not the same text: %s", got)
	}
}

func TestRefused(t *testing.T) {
	a, ab := string(file(t, "a.asc")), string(file(t, "ab.gpg"))
	for name, c := range map[string]struct{ data, says string }{
		"text":                 {"<html>", "BEGIN"},
		"no end":               {a[:200], "cut off"},
		"no base64":            {strings.Replace(a, "mDME", "m:!E", 1), "base64"},
		"cut":                  {ab[:len(ab)-1], "cut off"},
		"one byte":             {"\x99", "cut off"},
		"noise":                {"\xff\xff\xff\xff\xff\xff", "cut off"},
		"a length beyond":      {"\x9a\xff\xff\xff\xff", "cut off"},
		"a signature first":    {"\x88\x01x", "begin with"},
		"a secret key":         {"\x95\x00\x01x", "secret"},
		"a length of the disk": {"\x9b", "cut off"},
	} {
		if r, err := Read([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v", name, prints(r), err)
		}
	}
}

func TestIDs(t *testing.T) {
	r := read(t, file(t, "ab.gpg"))
	for _, id := range []string{keyA, "0x" + keyA, "0xc01a8e626f088cd3", "6F088CD3"} {
		if got := prints(r.Find(Canonical(id))); !slices.Equal(got, []string{keyA}) {
			t.Errorf("%s: %q", id, got)
		}
		if got := prints(r.Without(Canonical(id))); !slices.Equal(got, []string{keyB}) {
			t.Errorf("without %s: %q", id, got)
		}
	}
	for _, id := range []string{"", "D3", "6F088CD4", keyA[1:], keyOld} {
		if got := r.Find(id); len(got) != 0 {
			t.Errorf("%q: %q", id, prints(got))
		}
	}
}

// Keys of other versions are kept.
func TestOtherVersions(t *testing.T) {
	old := "\x99\x00\x03\x03ab"
	r := read(t, []byte(old+string(file(t, "ab.gpg"))))
	if got := prints(r); !slices.Equal(got, []string{"", keyA, keyB}) {
		t.Errorf("got %q", got)
	}
	if got := r.Without(keyA).Without(keyB).Bytes(false); string(got) != old {
		t.Errorf("left is %q", got)
	}
}

func TestFacts(t *testing.T) {
	at := time.Unix(1795255428, 0).UTC()
	for name, want := range map[string]map[string]Facts{
		"ab.colons": {
			keyA: {Type: "ecc", Size: 255, Created: at},
			keyB: {Type: "ecc", Size: 255, Created: at},
		},
		"old.colons": {keyOld: {Type: "rsa", Size: 2048, Created: at, Expires: at.Add(time.Second), Expired: true}},
	} {
		got, err := ParseFacts(string(file(t, name)))
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		for id, f := range want {
			if got[id] != f {
				t.Errorf("%s: %s is %+v", name, id, got[id])
			}
		}
	}
	for _, bad := range []string{"pub:u:x:1:K:1::", "pub:u:1", "pub:u:1:1:K:x::", "pub:u:1:1:K:1:x:"} {
		if got, err := ParseFacts(bad); err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
	if got, err := ParseFacts("pub:r:1024:17:K:1::\nsub:\nfpr:::::::::X:\nfpr:\n\ntru::1"); err != nil || len(got) != 0 {
		t.Errorf("the fingerprint of a subkey: %+v, %v", got, err)
	}
}

func TestLaws(t *testing.T) {
	all := append(read(t, file(t, "ab.gpg")), read(t, file(t, "old.asc"))...)
	all = append(all, read(t, []byte("\x99\x00\x03\x03ab\xc2\xc0\x01"+strings.Repeat("x", 193)))...)
	rapid.Check(t, func(t *rapid.T) {
		r := Ring(rapid.SliceOfN(rapid.SampledFrom(all), 0, 6).Draw(t, "ring"))
		for _, armored := range []bool{false, true} {
			again, err := Read(r.Bytes(armored))
			if err != nil || !slices.EqualFunc(again, r, func(a, b Key) bool { return a.Fingerprint == b.Fingerprint && bytes.Equal(a.Raw, b.Raw) }) {
				t.Fatalf("armored %t: %v", armored, err)
			}
		}
		less := r.Without(keyA)
		if len(less.Find(keyA)) != 0 || len(less)+len(r.Find(keyA)) != len(r) {
			t.Fatal("Without leaves or takes too much")
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(file(f, "a.asc"))
	f.Add(file(f, "ab.gpg"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read(data)
		if err != nil {
			return
		}
		again, err := Read(r.Bytes(true))
		if err != nil || !slices.Equal(prints(again), prints(r)) {
			t.Fatalf("%q, %v", prints(again), err)
		}
		if len(data) > 0 && data[0]&0x80 != 0 && !bytes.Equal(r.Bytes(false), data) {
			t.Fatal("not the same bytes")
		}
	})
}
