package keyring

import (
	"crypto/sha1" // what fingerprints of version 4 are made of
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Key is a public key with all that belongs to it.
type Key struct {
	Fingerprint string // 40 hexadecimal digits in upper case; empty where the version is not 4
	Raw         []byte
}

// Ring is a list of keys.
type Ring []Key

// The packets that matter, by tag.
const (
	tagSecretKey    = 5
	tagPublicKey    = 6
	tagSecretSubkey = 7
)

// Read reads a file: in binary, or with armor. An empty one holds no keys.
func Read(data []byte) (Ring, error) {
	if len(data) == 0 {
		return nil, nil
	}
	if data[0]&0x80 == 0 {
		var err error
		if data, err = dearmor(string(data)); err != nil {
			return nil, err
		}
	}
	var ring Ring
	for len(data) > 0 {
		tag, body, size, err := packet(data)
		switch {
		case err != nil:
			return nil, err
		case tag == tagSecretKey || tag == tagSecretSubkey:
			return nil, errors.New("it holds a secret key: export the public one")
		case tag == tagPublicKey:
			ring = append(ring, Key{Fingerprint: fingerprint(body)})
		case len(ring) == 0:
			return nil, fmt.Errorf("it does not begin with a public key, but with a packet of sort %d", tag)
		}
		last := &ring[len(ring)-1]
		last.Raw = append(last.Raw, data[:size]...)
		data = data[size:]
	}
	return ring, nil
}

var errCut = errors.New("it is no file of public keys, or it is cut off")

// packet reads the packet at the beginning: its sort, its content, and the size of the whole.
func packet(data []byte) (tag int, body []byte, size int, err error) {
	if len(data) < 2 || data[0]&0x80 == 0 {
		return 0, nil, 0, errCut
	}
	var head, n int
	if data[0]&0x40 != 0 {
		tag = int(data[0] & 0x3f)
		head, n = newLength(data[1:])
	} else {
		tag = int(data[0] >> 2 & 0xf)
		head, n = oldLength(data[0]&3, data[1:])
	}
	if head == 0 || n < 0 || n > len(data)-1-head {
		return 0, nil, 0, errCut
	}
	size = 1 + head + n
	return tag, data[1+head : size], size, nil
}

// newLength reads the length of a packet of the new form, and of how many bytes it is; 0 for a form
// that keys do not have.
func newLength(d []byte) (head, n int) {
	switch first := int(d[0]); {
	case first < 192:
		return 1, first
	case first < 224 && len(d) >= 2:
		return 2, (first-192)<<8 + int(d[1]) + 192
	case first == 255 && len(d) >= 5:
		return 5, number(d[1:5])
	}
	return 0, 0
}

// oldLength is newLength for the old form.
func oldLength(sort byte, d []byte) (head, n int) {
	head = 1 << sort
	if sort == 3 || len(d) < head {
		return 0, 0
	}
	return head, number(d[:head])
}

func number(d []byte) (n int) {
	for _, b := range d {
		n = n<<8 | int(b)
	}
	return n
}

func fingerprint(body []byte) string {
	if len(body) == 0 || body[0] != 4 || len(body) > 0xffff {
		return ""
	}
	h := sha1.New()
	_, _ = h.Write([]byte{0x99, byte(len(body) >> 8), byte(len(body))})
	_, _ = h.Write(body)
	return strings.ToUpper(hex.EncodeToString(h.Sum(nil)))
}

// Canonical returns the one form of an id: upper case without 0x.
func Canonical(id string) string {
	id = strings.ToUpper(id)
	return strings.TrimPrefix(id, "0X")
}

// Is reports whether the key has the id, which is in canonical form: the fingerprint,
// or the last 8 or 16 digits of it.
func (k Key) Is(id string) bool {
	switch len(id) {
	case 8, 16, 40:
		return k.Fingerprint != "" && strings.HasSuffix(k.Fingerprint, id)
	}
	return false
}

// Find returns the keys that have the id. That more than one has a short one happens;
// the same key may also be there twice.
func (r Ring) Find(id string) Ring {
	return slices.Collect(func(yield func(Key) bool) {
		for _, k := range r {
			if k.Is(id) && !yield(k) {
				return
			}
		}
	})
}

// Without returns the ring less the keys that have the id.
func (r Ring) Without(id string) Ring {
	return slices.DeleteFunc(slices.Clone(r), func(k Key) bool { return k.Is(id) })
}

// Bytes returns the ring as a file.
func (r Ring) Bytes(armored bool) []byte {
	var raw []byte
	for _, k := range r {
		raw = append(raw, k.Raw...)
	}
	if armored && len(raw) > 0 {
		return armor(raw)
	}
	return raw
}
