package deploy_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/deploy"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pair writes a new key, and returns the path of its private half and the texts of both.
func pair(t *testing.T) (path string, private, public []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "k")
	must(t, deploy.WriteKey(path, newKey(t)))
	private, err := os.ReadFile(path)
	must(t, err)
	public, err = os.ReadFile(path + ".pub")
	must(t, err)
	return path, private, public
}

// elliptic256 returns the halves of a key of another algorithm, in the same kinds of blocks.
func elliptic256(t *testing.T) (private, public []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	private, err = x509.MarshalPKCS8PrivateKey(k)
	must(t, err)
	public, err = x509.MarshalPKIXPublicKey(&k.PublicKey)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
}

// TestBadPrivateKeys: what is no private key of this kind is refused with its path and a way out, and none of it is shown.
func TestBadPrivateKeys(t *testing.T) {
	path, private, public := pair(t)
	other, _ := elliptic256(t)
	secret := strings.Split(string(private), "\n")[1]
	for name, test := range map[string]struct {
		text []byte
		want string
	}{
		"empty":             {nil, "has no private key: make one with mgmt deploy keygen"},
		"text":              {[]byte("hello"), "has no private key"},
		"the public half":   {public, "has no private key"},
		"cut":               {private[:len(private)-5], "has no private key"},
		"not base64":        {bytes.Replace(private, []byte(secret), []byte("?"+secret[1:]), 1), "has no private key"},
		"damaged":           {bytes.Replace(private, []byte(secret), []byte("AAAA"+secret[4:]), 1), "has no ed25519 key"},
		"another algorithm": {other, "has no ed25519 key: make one with mgmt deploy keygen"},
		"behind too much":   {append(bytes.Repeat([]byte("#\n"), 40<<10), private...), "has no private key"},
	} {
		must(t, os.WriteFile(path, test.text, 0o600))
		_, err := deploy.ReadKey(path)
		if err == nil || !strings.Contains(err.Error(), path+" "+test.want) || strings.Contains(err.Error(), secret[8:]) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if _, err := deploy.ReadKey(path + ".none"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path+".none") {
		t.Errorf("a missing file: %v", err)
	}
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o700))
	if _, err := deploy.ReadKey(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a folder: %v", err)
	}
	must(t, os.WriteFile(path, append([]byte("a note\n"), private...), 0o600))
	if _, err := deploy.ReadKey(path); err != nil {
		t.Errorf("a key below a note: %v", err)
	}
}

// TestBadPublicKeys: one bad block among good ones is told, since a host without one of its keys refuses deploys.
func TestBadPublicKeys(t *testing.T) {
	_, private, public := pair(t)
	_, _, second := pair(t)
	_, other := elliptic256(t)
	line := bytes.Split(public, []byte("\n"))[1]
	join := func(texts ...[]byte) []byte { return slices.Concat(texts...) }
	for name, test := range map[string]struct {
		text []byte
		want string // a part of the error; empty for two keys
	}{
		"two":                   {join(public, second), ""},
		"two, with notes":       {join([]byte("the first\n"), public, []byte("\nthe second\n"), second, []byte("the end\n")), ""},
		"empty":                 {nil, "it has no public key"},
		"text":                  {[]byte("hello\n"), "it has no public key"},
		"a private one":         {join(public, private), "the file with the ending .pub"},
		"another algorithm":     {join(public, other), "no public ed25519 key"},
		"another kind of block": {join(public, bytes.ReplaceAll(second, []byte("PUBLIC KEY"), []byte("CERTIFICATE"))), "no public ed25519 key"},
		"the last one cut":      {join(public, second[:len(second)-8]), "is damaged"},
		"the first one damaged": {join(bytes.Replace(public, line, line[1:], 1), second), "is damaged"},
		"one without an end":    {join(public[:len(public)-40], []byte("\n"), second), "is damaged"},
	} {
		keys, err := deploy.ReadPublic(test.text)
		if test.want == "" && (err != nil || len(keys) != 2) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || keys != nil) {
			t.Errorf("%s: %v, %v", name, keys, err)
		}
	}
}

// TestPresentFilesStay: no function replaces a file, and none removes a file that it has not made.
func TestPresentFilesStay(t *testing.T) {
	path, private, public := pair(t)
	k := newKey(t)
	for name, write := range map[string]func() error{
		"a pair":                func() error { return deploy.WriteKey(path, k) },
		"a public half":         func() error { return deploy.WritePublic(path+".pub", k.Public()) },
		"through a link":        func() error { return deploy.WriteKey(link(t, path), k) },
		"a public half by link": func() error { return deploy.WritePublic(link(t, path), k.Public()) },
	} {
		if err := write(); err == nil || !strings.Contains(err.Error(), "a key is never replaced: name another file, or move it away") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, private) {
		t.Errorf("the private half is %q: %v", now, err)
	}
	if now, err := os.ReadFile(path + ".pub"); err != nil || !bytes.Equal(now, public) {
		t.Errorf("the public half is %q: %v", now, err)
	}
	none := filepath.Join(t.TempDir(), "none", "k")
	if err := deploy.WriteKey(none, k); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in no folder: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v: %v", info.Mode(), err)
	}
}

// link returns a new link to a file.
func link(t *testing.T, to string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(to, path))
	return path
}
