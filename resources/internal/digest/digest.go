package digest

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// Digest is a checksum that is being made, and the wanted one. Contents are written to it.
type Digest struct {
	hash.Hash
	Name string // sha256 or sha512
	Want string // in lower case; empty for any
}

// New returns the Digest of a wanted checksum; SHA-256 for the empty one. A checksum that can be forged is refused.
func New(checksum string) (*Digest, error) {
	name, digits, _ := strings.Cut(strings.ToLower(checksum), ":")
	d := &Digest{Name: name, Want: strings.ToLower(checksum)}
	switch name {
	case "", "sha256":
		d.Hash, d.Name = sha256.New(), "sha256"
	case "sha512":
		d.Hash = sha512.New()
	case "md5", "sha1":
		return nil, fmt.Errorf("checksum: %s can be forged, give sha256 or sha512", name)
	default:
		return nil, errors.New("checksum has to begin with sha256 or sha512 and a colon")
	}
	if b, err := hex.DecodeString(digits); checksum != "" && (err != nil || len(b) != d.Size()) {
		return nil, fmt.Errorf("checksum: a %s has %d digits, from 0 to f", name, 2*d.Size())
	}
	return d, nil
}

// SHA256 returns a Digest that wants nothing.
func SHA256() *Digest { return &Digest{Hash: sha256.New(), Name: "sha256"} }

// OfText is the SHA-256 of a text.
func OfText(s string) string {
	d := SHA256()
	_, _ = io.WriteString(d, s) // a hash takes all
	return d.String()
}

// String is the checksum of what was written, as New reads it.
func (d *Digest) String() string { return d.Name + ":" + hex.EncodeToString(d.Sum(nil)) }

// Copy copies until the end, or until the context ends.
func Copy(ctx context.Context, w io.Writer, r io.Reader) (int64, error) {
	return io.Copy(w, until{ctx, r})
}

// until reads until the context ends.
type until struct {
	ctx context.Context
	io.Reader
}

func (r until) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}
