package keyring

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Facts are what gpg knows of a key.
type Facts struct {
	Type    string // rsa, dsa, ecc, ...
	Size    int    // in bits
	Created time.Time
	Expires time.Time // zero for never
	Expired bool
	Revoked bool
}

// ParseFacts reads what `gpg --show-keys --with-colons` prints, by fingerprint. Lines
// that it does not know it leaves out.
func ParseFacts(text string) (map[string]Facts, error) {
	all := map[string]Facts{}
	var pub *Facts
	for l := range strings.SplitSeq(text, "\n") {
		f := strings.Split(l, ":")
		switch {
		case f[0] == "pub":
			var err error
			if pub, err = parsePub(f); err != nil {
				return nil, fmt.Errorf("gpg has printed %.200q: %w", l, err)
			}
		case f[0] == "fpr" && pub != nil && len(f) > 9:
			all[f[9]], pub = *pub, nil
		case f[0] == "sub":
			pub = nil
		}
	}
	return all, nil
}

func parsePub(f []string) (*Facts, error) {
	if len(f) < 7 {
		return nil, fmt.Errorf("%d fields are too few", len(f))
	}
	size, err := strconv.Atoi(f[2])
	if err != nil {
		return nil, err
	}
	facts := &Facts{Type: algorithm(f[3]), Size: size, Expired: f[1] == "e", Revoked: f[1] == "r"}
	if facts.Created, err = seconds(f[5]); err != nil {
		return nil, err
	}
	facts.Expires, err = seconds(f[6])
	return facts, err
}

// algorithm returns the name of an algorithm by the number that gpg prints.
func algorithm(n string) string {
	switch n {
	case "1", "2", "3":
		return "rsa"
	case "16", "20":
		return "elgamal"
	case "17":
		return "dsa"
	case "18", "19", "22", "25", "26", "27", "28":
		return "ecc"
	}
	return "other"
}

func seconds(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(n, 0).UTC(), nil
}
