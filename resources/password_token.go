package resources

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// kept is what was found of an earlier password. Nothing in it but the password
// itself is a secret.
type kept struct {
	password schema.Secret // empty when there is none that can be used
	mode     fs.FileMode   // of the file
	verb     engine.Verb   // of the change that makes a new one
}

// from is the old value of the change: something there was, unless it is
// created.
func (k kept) from() any {
	if k.verb == engine.Created {
		return nil
	}
	return schema.NewSecret("old")
}

// look finds the password that is kept, here or in the file.
func (x *PasswordRes) look() (kept, error) {
	if !x.Saved {
		return kept{password: x.held, mode: privateMode, verb: engine.Created}, nil
	}
	data, info, err := readPrivateInfo(x.init, tokenFile)
	switch {
	case err != nil && info == nil:
		return kept{}, err
	case info == nil:
		return kept{verb: engine.Created}, nil
	}
	if err == nil {
		var password string
		if password, err = parseToken(data); err == nil {
			err = x.fits(password)
		}
		if err == nil {
			return kept{password: schema.NewSecret(password), mode: info.Mode()}, nil
		}
	}
	if !x.CheckRecovery {
		return kept{}, fmt.Errorf("the password that was kept can't be used (check_recovery is off): %w", err)
	}
	x.init.Logf("the password that was kept can't be used, it is made anew: %v", err)
	return kept{verb: engine.Updated}, nil
}

// fits says why a password is not one that x would have made, without showing
// anything of it.
func (x *PasswordRes) fits(password string) error {
	runes, charset := []rune(password), x.charset()
	if len(runes) != x.Length {
		return fmt.Errorf("it has %d characters, not %d", len(runes), x.Length)
	}
	if slices.ContainsFunc(runes, func(r rune) bool { return !slices.Contains(charset, r) }) {
		return errors.New("it has characters that are not in the charset")
	}
	return nil
}

// keep puts the password where look finds it.
func (x *PasswordRes) keep(password schema.Secret) error {
	if !x.Saved {
		x.held = password
		return nil
	}
	return writePrivate(x.init, tokenFile, formatToken(password.Reveal()), true)
}

// tokenHeader is the first line of a token; the password and its sum follow.
const tokenHeader = "mgmt password 1"

func formatToken(password string) []byte {
	return fmt.Appendf(nil, "%s\n%s\n%s\n", tokenHeader, password, tokenSum(password))
}

// parseToken returns the password of a token that is whole. Its errors show
// nothing of what was read.
func parseToken(data []byte) (string, error) {
	lines := strings.Split(string(bytes.TrimSuffix(data, []byte("\n"))), "\n")
	switch {
	case len(lines) != 3 || lines[0] != tokenHeader:
		return "", errors.New("the file is damaged")
	case lines[2] != tokenSum(lines[1]):
		return "", errors.New("the file is damaged: its sum is wrong")
	}
	return lines[1], nil
}

func tokenSum(password string) string {
	sum := sha256.Sum256([]byte(tokenHeader + "\n" + password))
	return hex.EncodeToString(sum[:])
}

// makePassword chooses each character on its own, all with the same chance.
func makePassword(charset []rune, length int) (schema.Secret, error) {
	n := big.NewInt(int64(len(charset)))
	runes := make([]rune, length)
	for i := range runes {
		j, err := rand.Int(rand.Reader, n)
		if err != nil {
			return schema.Secret{}, err
		}
		runes[i] = charset[j.Int64()]
	}
	return schema.NewSecret(string(runes)), nil
}
