package seal_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/seal"
)

// TestOneIdentityOfManyStarts: programs that start at the same time in one state folder all get the identity of the file.
func TestOneIdentityOfManyStarts(t *testing.T) {
	for range 20 {
		path := filepath.Join(t.TempDir(), "identity")
		got, errs := make([]seal.Identity, 8), make([]error, 8)
		var all sync.WaitGroup
		begin := make(chan struct{})
		for i := range got {
			all.Go(func() {
				<-begin
				got[i], errs[i] = seal.Open(path, nil)
			})
		}
		close(begin)
		all.Wait()
		for i := range got {
			if errs[i] != nil || got[i].Recipient() != got[0].Recipient() {
				t.Fatalf("start %d has %s, %v; the first has %s", i, got[i], errs[i], got[0])
			}
		}
		list, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(list) != 1 {
			t.Fatalf("the folder has %v, %v", list, err)
		}
	}
}

// TestFilesOfIdentities: contents of a file in, what Open and Load say out. No error shows the file.
func TestFilesOfIdentities(t *testing.T) {
	id, err := seal.Open(filepath.Join(t.TempDir(), "id"), nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "file")
	if _, err := seal.Open(path, nil); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(string(raw))
	for text, want := range map[string][2]bool{ // whether Open and Load take it
		key: {true, true}, key + "\n": {true, true}, " " + key + "\r\n": {true, true}, "# created: today\n# public key\n" + key + "\n": {false, true}, "\n\n" + key: {true, true},
		"": {false, false}, "\n": {false, false}, "# nothing\n": {false, false}, "canary": {false, false}, "canary\n" + key: {false, false}, key[:len(key)-1]: {false, false}, id.Recipient(): {false, false},
		strings.Repeat("#canary\n", 1000) + key: {false, false}, // longer than an identity ever is
	} {
		at := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for i, read := range []func(string) (seal.Identity, error){func(path string) (seal.Identity, error) { return seal.Open(path, nil) }, seal.Load} {
			got, err := read(at)
			if (err == nil) != want[i] || err != nil && (!strings.Contains(err.Error(), at) || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "SECRET-KEY-1Q")) {
				t.Errorf("%.60q, reader %d: %v", text, i, err)
			}
			if err == nil && (got.Recipient() == id.Recipient() || strings.Contains(fmt.Sprintf("%v %+v %#v %s", got, got, got, got), "SECRET")) {
				t.Errorf("%.60q is the identity %v", text, got)
			}
		}
		if now, err := os.ReadFile(at); err != nil || string(now) != text {
			t.Errorf("%.60q was altered to %.60q, %v", text, now, err)
		}
	}
	if _, err := seal.Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("Load of no file:", err)
	}
	if _, err := seal.Open(filepath.Join(t.TempDir(), "none", "id"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error("Open in no folder:", err)
	}
	if runtime.GOOS == "windows" {
		return // which has no such modes
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660, 0o777, 0o610} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		for _, read := range []func(string) (seal.Identity, error){func(path string) (seal.Identity, error) { return seal.Open(path, nil) }, seal.Load} {
			if _, err := read(path); !errors.Is(err, seal.ErrOpenIdentity) || !strings.Contains(err.Error(), fmt.Sprintf("%04o", mode)) {
				t.Errorf("mode %04o: %v", mode, err)
			}
		}
	}
}

// TestSealedTexts: each text comes back for its readers and for no other one, and a damaged one is refused without a word of it.
func TestSealedTexts(t *testing.T) {
	var ids []seal.Identity
	for range 3 {
		id, err := seal.New()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	rapid.Check(t, func(t *rapid.T) {
		clear := rapid.String().Draw(t, "clear")
		readers := rapid.SliceOfNDistinct(rapid.IntRange(0, 2), 1, 3, rapid.ID).Draw(t, "readers")
		var to []string
		for _, i := range readers {
			to = append(to, ids[i].Recipient())
		}
		text, err := seal.Seal(to, clear)
		if err != nil || !seal.Is(text) || len(clear) > 8 && strings.Contains(text, clear) {
			t.Fatalf("%q is sealed as %q, %v", clear, text, err)
		}
		for i, id := range ids {
			reads := false
			for _, r := range readers {
				reads = reads || r == i
			}
			got, err := id.Unseal(text)
			if reads != (err == nil) || reads && got != clear || !reads && (!errors.Is(err, seal.ErrNotForUs) || got != "") {
				t.Fatalf("reader %d of %v: %q, %v", i, readers, got, err)
			}
		}
		body := []byte(strings.TrimSuffix(strings.TrimPrefix(text, "ENC[age,"), "]"))
		raw, err := base64.StdEncoding.DecodeString(string(body))
		if err != nil {
			t.Fatal(err)
		}
		raw[len(raw)-1-rapid.IntRange(0, 15).Draw(t, "byte")] ^= 1
		if got, err := ids[readers[0]].Unseal("ENC[age," + base64.StdEncoding.EncodeToString(raw) + "]"); err == nil || got != "" || len(clear) > 8 && strings.Contains(err.Error(), clear) {
			t.Fatalf("a damaged text is read as %q, %v", got, err)
		}
	})
	for _, text := range []string{"", "plain", "ENC[age,", "ENC[other,x]", "x ENC[age,x]"} {
		if got, err := ids[0].Unseal(text); err != nil || got != text {
			t.Errorf("%q is no sealed text, and is read as %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"ENC[age,]", "ENC[age,!]", "ENC[age,eA==]"} {
		if got, err := ids[0].Unseal(text); err == nil || got != "" {
			t.Errorf("%q is read as %q", text, got)
		}
	}
	var none seal.Identity
	if text, _ := seal.Seal([]string{ids[0].Recipient()}, "x"); !errors.Is(second(none.Unseal(text)), seal.ErrNotForUs) || none.Recipient() != "" {
		t.Error("no identity reads a text")
	}
	if _, err := seal.Seal(nil, "canary"); !errors.Is(err, seal.ErrNoReader) {
		t.Error("a text for nobody:", err)
	}
	if _, err := seal.Seal([]string{ids[0].Recipient(), "age1nothing"}, "canary"); err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "age1nothing") {
		t.Error("a recipient that is none:", err)
	}
}

func second[T any](_ T, err error) error { return err }
