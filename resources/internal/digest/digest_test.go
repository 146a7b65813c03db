package digest_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/resources/internal/digest"
)

// The sums of "hello".
const (
	sum256 = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	sum512 = "sha512:9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca72323c3d99ba5c11d7c7acc6e14b8c5da0c4663475c2e5c3adef46f73bcdec043"
)

func TestDigest(t *testing.T) {
	for want, sum := range map[string]string{"": sum256, sum256: sum256, strings.ToUpper(sum256): sum256, sum512: sum512} {
		d, err := digest.New(want)
		if err != nil {
			t.Fatal(err)
		}
		n, err := digest.Copy(t.Context(), d, strings.NewReader("hello"))
		if n != 5 || err != nil || d.String() != sum || d.Want != strings.ToLower(want) {
			t.Errorf("%q: %d bytes, %v, %s, wants %q", want, n, err, d, d.Want)
		}
	}
	if got := digest.OfText("hello"); got != sum256 {
		t.Error(got)
	}
}

func TestBrokenDigests(t *testing.T) {
	for text, want := range map[string]string{
		"md5:5d41402abc4b2a76b9719d911017c592": "md5 can be forged, give sha256 or sha512",
		"sha1:":                                "sha1 can be forged",
		"crc32:00":                             "has to begin with sha256 or sha512 and a colon",
		sum256[7:]:                             "has to begin with sha256 or sha512 and a colon",
		"sha256:":                              "a sha256 has 64 digits",
		sum256 + "00":                          "a sha256 has 64 digits",
		"sha512:" + sum256[7:]:                 "a sha512 has 128 digits",
		sum256[:len(sum256)-1] + "g":           "a sha256 has 64 digits, from 0 to f",
	} {
		if _, err := digest.New(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestCopyEnds: a content without an end is copied until the context ends, and the error is its cause.
func TestCopyEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("it took too long")
	endless := readFunc(func(p []byte) (int, error) {
		cancel(stop)
		return len(p), nil
	})
	if n, err := digest.Copy(ctx, io.Discard, endless); n == 0 || !errors.Is(err, stop) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
