package deploy

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
)

// Key signs deploys. It is never printed: only its file has it.
type Key struct{ private ed25519.PrivateKey }

// Public is a key that hosts trust.
type Public struct {
	ID  string // the beginning of the sha256 of the key
	key ed25519.PublicKey
}

// Blocks of the files, which other programs can read: openssl genpkey -algorithm ed25519 makes such a key, too.
const (
	privateBlock = "PRIVATE KEY"
	publicBlock  = "PUBLIC KEY"
)

// NewKey makes a key.
func NewKey() (Key, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	return Key{private}, err
}

// String hides the key.
func (k Key) String() string { return "key " + k.Public().ID }

// GoString hides the key.
func (k Key) GoString() string { return k.String() }

// Public returns the half that hosts trust.
func (k Key) Public() Public {
	public, _ := k.private.Public().(ed25519.PublicKey)
	return publicOf(public)
}

func publicOf(key ed25519.PublicKey) Public {
	sum := sha256.Sum256(key)
	return Public{ID: hex.EncodeToString(sum[:8]), key: key}
}

// WriteKey writes a new private key, that only its owner can read, and its public half with the ending .pub.
// A file that is there is never replaced: a lost key is lost for ever. No file is written where one of the two is there, and
// none is left where one of the two cannot be written.
func WriteKey(path string, k Key) error {
	private, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return errors.New("the key cannot be encoded")
	}
	if err := create(path, 0o600, &pem.Block{Type: privateBlock, Bytes: private}); err != nil {
		return err
	}
	if err := WritePublic(path+".pub", k.Public()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// WritePublic writes the public half of a key. A file that is there is never replaced.
func WritePublic(path string, p Public) error {
	public, err := x509.MarshalPKIXPublicKey(p.key)
	if err != nil {
		return err
	}
	return create(path, 0o644, &pem.Block{Type: publicBlock, Bytes: public})
}

func there(path string) error {
	return fmt.Errorf("%s is there already, and a key is never replaced: name another file, or move it away", path)
}

// create writes a file that is not there yet. A part of it is never left: it would be in the way of the next try.
func create(path string, mode fs.FileMode, block *pem.Block) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return there(path)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(pem.Encode(f, block), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// maxKeyFile bounds a file with a key, in bytes.
const maxKeyFile = 64 << 10

// ReadKey reads a private key. A file that others than its owner can read is refused.
func ReadKey(path string) (Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return Key{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Key{}, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return Key{}, fmt.Errorf("%s: %w (mode %04o): chmod 600 it, and think of whether it has been read already", path, ErrOpenKey, mode)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return Key{}, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != privateBlock {
		return Key{}, fmt.Errorf("%s has no private key: make one with mgmt deploy keygen", path)
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := any.(ed25519.PrivateKey)
	if err != nil || !ok {
		return Key{}, fmt.Errorf("%s has no ed25519 key: make one with mgmt deploy keygen", path)
	}
	return Key{private}, nil
}

// ErrOpenKey tells that others than its owner can read a file with a private key.
var ErrOpenKey = errors.New("other users can read this private key")

// ReadPublic reads the public keys in a text, one block after the other. Text between them is passed over. A damaged block is
// an error, since a host that lacks one of its keys would refuse deploys.
func ReadPublic(text []byte) (keys []Public, err error) {
	begun := bytes.Count(text, []byte("-----BEGIN "))
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		if block.Type == privateBlock {
			return nil, errors.New("it has a private key: a host needs the public half alone, which is in the file with the ending .pub")
		}
		any, err := x509.ParsePKIXPublicKey(block.Bytes)
		public, ok := any.(ed25519.PublicKey)
		if err != nil || !ok || block.Type != publicBlock {
			return nil, errors.New("it has a block that is no public ed25519 key, as mgmt deploy keygen writes it")
		}
		keys, text = append(keys, publicOf(public)), rest
	}
	if len(keys) < begun {
		return nil, fmt.Errorf("one of its %d keys is damaged: copy it again from the file that mgmt deploy keygen wrote", begun)
	}
	if len(keys) == 0 {
		return nil, errors.New("it has no public key, as mgmt deploy keygen writes it")
	}
	return keys, nil
}
