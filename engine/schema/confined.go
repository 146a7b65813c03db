package schema

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"log/slog"
)

// Confined is text that only some users of the machine may read, such as the content of
// a file of mode 0600. It does not count as a secret, but a log or a socket may have
// more readers than the file. A kind gives it to Init.Change in place of the text; the
// engine shows a Digest. By itself it prints, logs and marshals as its length only. The
// zero Confined is the empty text. It is immutable, and a copy shares the text.
type Confined struct {
	text *string
	size int64
}

// NewConfined returns s as confined text.
func NewConfined(s string) Confined { return Confined{&s, int64(len(s))} }

// NewConfinedSum returns confined text of a known checksum and length in bytes, without
// the text. The checksum stands for the text in a Digest.
func NewConfinedSum(sum string, size int64) Confined { return Confined{&sum, size} }

// Digest returns the digest that may be shown: the same for the same text and key. The
// key is random. Without it, a reader cannot find a short text by trying. It hashes the
// whole text at each call.
func (c Confined) Digest(key []byte) Digest {
	h := hmac.New(sha256.New, key)
	if c.text != nil {
		h.Write([]byte(*c.text))
	}
	// Twelve bytes are enough to tell texts of one run apart.
	return Digest{Sum: fmt.Sprintf("%x", h.Sum(nil)[:12]), Size: c.size}
}

// Reveal returns the text, or the checksum that stands for it. The calling function must not show it.
func (c Confined) Reveal() string {
	if c.text == nil {
		return ""
	}
	return *c.text
}

// String returns the length in words.
func (c Confined) String() string { return fmt.Sprintf("(hidden, %d bytes)", c.size) }

// Format prints the length under every verb.
func (c Confined) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// MarshalText writes the length; it serves JSON and YAML too.
func (c Confined) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// LogValue logs the length.
func (c Confined) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Digest stands for text that is not shown. Two of one run of the program are equal if
// the texts are. Digests of two runs can't be compared: each run has a key of its own.
type Digest struct {
	Sum  string // in hex, of HMAC-SHA-256 with the key of the run, cut
	Size int64  // of the text, in bytes
}

// String returns the sum and the length, as (sha256:1f0c..., keyed, 123 bytes).
func (d Digest) String() string {
	return fmt.Sprintf("(sha256:%s keyed, %d bytes)", d.Sum, d.Size)
}

// MarshalText writes the same; it serves JSON and YAML too.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
