package seal

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"filippo.io/age"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// Errors of this package, for errors.Is.
var (
	// ErrNotForUs tells that a text was sealed to other hosts.
	ErrNotForUs = errors.New("it is encrypted to other hosts: write it again, or give it to this one by mgmt hosts admit")
	// ErrNoReader tells that the operator has admitted no host of a topic.
	ErrNoReader = errors.New("no host of this topic was admitted with a key to encrypt it to: start mgmt there once, run mgmt hosts admit NAME, and write it again")
	// ErrOpenIdentity tells that other users can read the file with the identity.
	ErrOpenIdentity = errors.New("other users can read the identity of this host")
)

// The notation of a sealed text.
const (
	begin = "ENC[age,"
	end   = "]"
)

// Is reports whether a text is sealed.
func Is(text string) bool { return strings.HasPrefix(text, begin) && strings.HasSuffix(text, end) }

// Seal encrypts a text to recipients, of whom there is at least one. Equal texts have different results.
func Seal(recipients []string, clear string) (string, error) {
	if len(recipients) == 0 {
		return "", ErrNoReader
	}
	var to []age.Recipient
	for _, text := range recipients {
		r, err := age.ParseX25519Recipient(text)
		if err != nil {
			return "", fmt.Errorf("the recipient %.80q of a host cannot be read", text)
		}
		to = append(to, r)
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to...)
	if err == nil {
		_, err = io.WriteString(w, clear)
		err = errors.Join(err, w.Close())
	}
	return begin + base64.StdEncoding.EncodeToString(out.Bytes()) + end, err
}

// Identity reads the texts that are sealed to one host. Make it with New or Open.
type Identity struct{ id *age.X25519Identity }

// String hides the identity.
func (i Identity) String() string { return "identity of " + i.Recipient() }

// GoString hides the identity.
func (i Identity) GoString() string { return i.String() }

// Recipient returns the public half, to which others seal texts.
func (i Identity) Recipient() string {
	if i.id == nil {
		return ""
	}
	return i.id.Recipient().String()
}

// Unseal returns the clear text of a sealed one, and another text as it is. The error is ErrNotForUs where this host cannot read it.
func (i Identity) Unseal(text string) (string, error) {
	if !Is(text) {
		return text, nil
	}
	if i.id == nil {
		return "", ErrNotForUs
	}
	cipher, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(strings.TrimPrefix(text, begin), end))
	if err != nil {
		return "", errors.New("its cipher text is damaged: write it again")
	}
	r, err := age.Decrypt(bytes.NewReader(cipher), i.id)
	if none := (*age.NoIdentityMatchError)(nil); errors.As(err, &none) {
		return "", ErrNotForUs
	}
	if err != nil {
		return "", errors.New("its cipher text is damaged: write it again")
	}
	clear, err := io.ReadAll(r)
	if err != nil {
		return "", errors.New("its cipher text is damaged: write it again")
	}
	return string(clear), nil
}

// New makes an identity.
func New() (Identity, error) {
	id, err := age.GenerateX25519Identity()
	return Identity{id}, err
}

// Open reads the identity of a file, and makes the file where there is none and lost is nil or returns nil: it says why a missing file is the loss of an
// identity. A file with the word new alone, which is no secret, is the operator's order to make another one: it goes when the other one is there. The owner alone can read
// the file. Of several programs that make it at the same time one does, and all have that identity. An order is for one program: the daemon that has the state folder.
func Open(path string, lost func() error) (Identity, error) {
	i, err := parse(path)
	put := os.Link // which keeps a file that came meanwhile
	switch {
	case errors.Is(err, errOrdered):
		put = os.Rename
	case !errors.Is(err, fs.ErrNotExist):
		return i, err
	case lost != nil:
		if err := lost(); err != nil {
			return Identity{}, err
		}
	}
	if i, err = New(); err != nil {
		return i, err
	}
	switch err := write(path, i.id.String()+"\n", put); {
	case errors.Is(err, fs.ErrExist):
		return parse(path)
	case err != nil:
		return Identity{}, err
	}
	return i, nil
}

// errOrdered says that a file has the word new in the place of an identity. An empty file does not mean that: a damaged one is kept.
var errOrdered = errors.New("another identity is to be made")

// parse reads a file that has an identity and nothing else.
func parse(path string) (Identity, error) {
	text, err := read(path)
	text = strings.TrimSpace(text)
	switch {
	case text == "new": // in a file of any mode: a shell keeps that of the file before
		return Identity{}, fmt.Errorf("%s: %w", path, errOrdered)
	case errors.Is(err, ErrOpenIdentity):
		return Identity{}, fmt.Errorf("%w, or write the word new into it and give all secrets for this host again", err)
	case err != nil:
		return Identity{}, err
	}
	id, err := age.ParseX25519Identity(text)
	if err != nil {
		return Identity{}, fmt.Errorf("%s has no identity of age: restore it, or write the word new into it and give all secrets for this host again", path)
	}
	return Identity{id}, nil
}

// Load reads the identity of a file, which may be one of age-keygen with its comments. Its owner alone may read the file, and a missing one is an
// error.
func Load(path string) (Identity, error) {
	text, err := read(path)
	if err != nil {
		return Identity{}, err
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if id, err := age.ParseX25519Identity(line); err == nil {
			return Identity{id}, nil
		}
		break
	}
	return Identity{}, fmt.Errorf("%s has no identity of age, which begins with AGE-SECRET-KEY-1", path)
}

// read returns the text of a file, also with the error ErrOpenIdentity.
func read(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if mode := info.Mode().Perm(); err == nil && mode&0o077 != 0 && runtime.GOOS != "windows" {
		err = fmt.Errorf("%s: %w (mode %04o): chmod 600 it", path, ErrOpenIdentity, mode)
	}
	return string(text), err
}

// write makes the file at one stroke, by putting a finished one in its place.
func write(path, text string, put func(from, to string) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(text)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err // a file that is not whole stays out
	}
	return put(tmp.Name(), path)
}

// Recipient is the record of a host: what it says of itself. It gives the host no right: nothing is sealed to a recipient that the operator has not
// admitted (engine/deploy: HostRecord).
type Recipient struct {
	Host      string   `json:"host"`
	Recipient string   `json:"recipient"`
	Topics    []string `json:"topics"` // whose objects it reads, as it says itself; an older mgmt believed it
	// Certificate is the one by which the host is known to the store, in DER. Its serial is revoked when the host is removed.
	Certificate []byte `json:"certificate,omitempty"`
}

// Prefix is that of the keys of recipients.
const Prefix = "recipients/"

// Key is the key of the record of a host.
func Key(host string) string { return Prefix + url.PathEscape(host) }

// Publish writes the record of a host.
func Publish(ctx context.Context, w world.World, r Recipient) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, _, err = w.Txn(ctx, nil, []world.Op{{Key: Key(r.Host), Value: text}})
	return err
}

// Hosts returns the records of all hosts, sorted by their names. A record that cannot be read, and one whose recipient is none of age, is
// left out: it must keep no secret from the other hosts, and its host publishes another one at its next start.
func Hosts(ctx context.Context, w world.World) (list []Recipient, err error) {
	for o := (world.ListOptions{Limit: 500}); ; {
		p, err := w.List(ctx, Prefix, o)
		if err != nil {
			return nil, err
		}
		for _, kv := range p.KVs {
			var r Recipient
			if json.Unmarshal(kv.Value, &r) != nil || kv.Key != Key(r.Host) {
				continue
			}
			if _, err := age.ParseX25519Recipient(r.Recipient); err == nil {
				list = append(list, r)
			}
		}
		if !p.More || len(p.KVs) == 0 {
			sorted.Func(list, func(a, b Recipient) int { return strings.Compare(a.Host, b.Host) })
			return list, nil
		}
		o.At, o.After = p.Revision, p.KVs[len(p.KVs)-1].Key
	}
}
