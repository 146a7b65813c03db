package keyring

import (
	"encoding/base64"
	"errors"
	"strings"
)

const (
	begin = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
	end   = "-----END PGP PUBLIC KEY BLOCK-----"
)

// dearmor returns the contents of all blocks of a text, one after the other. The text around them
// is not looked at.
func dearmor(text string) ([]byte, error) {
	var raw []byte
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for n := 0; ; n++ {
		_, rest, ok := strings.Cut(text, begin+"\n")
		if !ok && n > 0 {
			return raw, nil
		}
		if !ok {
			return nil, errors.New("it is no file of public keys: it is neither binary nor has it the line " + begin)
		}
		body, after, ok := strings.Cut(rest, end)
		if !ok {
			return nil, errors.New("it is cut off: the line " + end + " is missing")
		}
		data, err := block(body)
		if err != nil {
			return nil, err
		}
		raw, text = append(raw, data...), after
	}
}

// block decodes the text between two lines: headers, an empty line, base64, and a checksum, which
// is not looked at, since it protects from nothing.
func block(body string) ([]byte, error) {
	var b strings.Builder
	headers := true
	for l := range strings.SplitSeq(body, "\n") {
		l = strings.TrimSpace(l)
		switch {
		case headers && strings.Contains(l, ": "):
		case l == "":
			headers = false
		case strings.HasPrefix(l, "="):
		default:
			headers = false
			b.WriteString(l)
		}
	}
	raw, err := base64.StdEncoding.DecodeString(b.String())
	if err != nil {
		return nil, errors.New("the text between the lines of a public key is not in base64")
	}
	return raw, nil
}

const perLine = 64

func armor(raw []byte) []byte {
	text := base64.StdEncoding.EncodeToString(raw)
	var b strings.Builder
	b.WriteString(begin + "\n\n")
	for len(text) > 0 {
		n := min(perLine, len(text))
		b.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	b.WriteString("=" + base64.StdEncoding.EncodeToString(crc24(raw)) + "\n" + end + "\n")
	return []byte(b.String())
}

// crc24 is the checksum that older programs want to see.
func crc24(data []byte) []byte {
	crc := uint32(0xb704ce)
	for _, d := range data {
		crc ^= uint32(d) << 16
		for range 8 {
			if crc <<= 1; crc&0x1000000 != 0 {
				crc ^= 0x1864cfb
			}
		}
	}
	return []byte{byte(crc >> 16), byte(crc >> 8), byte(crc)}
}
