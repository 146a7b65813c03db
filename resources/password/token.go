package password

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
	"github.com/reactivegraph/mgmt/resources/internal/private"
)

// kept is what was found of an earlier password. Nothing in it but the password
// itself is a secret.
// It is made anew by each look, and never kept between two runs.
type kept struct {
	password schema.Secret   // empty when there is none that can be used
	mode     fs.FileMode     // of the file
	changes  []engine.Change // that a new one is, when this one can't be used
}

// unfit says why a password that was kept can't be used.
type unfit struct {
	reason string
	change engine.Change
}

func (u *unfit) Error() string { return u.reason }

// look finds the password that is kept, here or in the file.
func (x *Res) look() (kept, error) {
	if !x.Saved {
		return kept{password: x.held, mode: private.Mode, changes: x.created()}, nil
	}
	data, info, err := private.ReadInfo(x.init, tokenFile)
	switch {
	case err != nil && info == nil:
		return kept{}, err
	case info == nil:
		return kept{changes: x.created()}, nil
	}
	var password string
	if err == nil {
		password, err = x.parse(data)
	}
	if err == nil {
		return kept{password: schema.NewSecret(password), mode: info.Mode()}, nil
	}
	if !x.CheckRecovery {
		return kept{}, fmt.Errorf("the password that was kept can't be used (check_recovery is off): %w", err)
	}
	x.init.Logf("the password that was kept can't be used, it is made anew: %v", err)
	if u, ok := errors.AsType[*unfit](err); ok {
		return kept{changes: []engine.Change{u.change}}, nil
	}
	return kept{changes: x.created()}, nil
}

// created tells of a new password, by all that may be known of it.
func (x *Res) created() []engine.Change {
	list := []engine.Change{{Verb: engine.Created}, {Field: "length", To: x.Length}}
	if x.Charset != "" {
		list = append(list, engine.Change{Field: "charset", To: x.Charset})
	}
	return list
}

// parse returns the password of a token if x would have made this token. Its errors show nothing of
// the password.
func (x *Res) parse(data []byte) (string, error) {
	password, err := parseToken(data)
	if err != nil {
		return "", err
	}
	runes, charset := []rune(password), x.charset()
	switch n := len(runes); {
	case n != x.Length:
		return "", &unfit{
			fmt.Sprintf("it has %d characters, not %d", n, x.Length),
			engine.Change{Field: "length", From: n, To: x.Length},
		}
	case slices.ContainsFunc(runes, func(r rune) bool { return !slices.Contains(charset, r) }):
		return "", &unfit{
			"it has characters that are not in the charset",
			engine.Change{Field: "charset", From: engine.Unknown, To: string(charset)},
		}
	}
	return password, nil
}

// keep puts the password where look finds it.
func (x *Res) keep(password schema.Secret) error {
	if !x.Saved {
		x.held = password
		return nil
	}
	return private.Write(x.init, tokenFile, formatToken(password.Reveal()), true)
}

// tokenHeader is the first line of a token; the password and its sum follow.
const tokenHeader = "mgmt password 1"

// formatToken returns the content of the file.
func formatToken(password string) []byte {
	return fmt.Appendf(nil, "%s\n%s\n%s\n", tokenHeader, password, tokenSum(password))
}

// parseToken returns the password of a token that is whole. Its errors show nothing of the token.
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

// tokenSum returns the sum of a password, in hexadecimal. The header is part of it, so a file of another version is refused.
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
