package trust

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/seal"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// identityFile is the file of the state folder with the identity of this host.
// The file has mode 0600, see seal.Open. Its holder reads the secrets of this host.
const identityFile = "age.key"

// Secrets encrypts secrets to the hosts of a topic, and reads those of this host; see NewSecrets. A Secrets of the two fields alone is
// an operator's, who has no identity of a host. It may be used by many goroutines.
type Secrets struct {
	World world.World
	// Readers returns the recipients of a topic that the operator has signed; see Operators.Readers. Set it before anything is encrypted.
	Readers func(ctx context.Context, topic string) ([]string, error)

	host     string   // empty for an operator
	topics   []string // of this host
	cert     string   // the file of the certificate by which the store knows this host; empty for none
	identity func() (seal.Identity, error)
}

// NewSecrets returns the secrets of a daemon. Its identity is made in the state folder dir at its first use, so a daemon without a store
// has none. Without a state folder it is one of this process, whose secrets are lost at its end.
func NewSecrets(w world.World, dir, host string, roles []string, cert string) *Secrets {
	path := filepath.Join(dir, identityFile)
	lost := keepBad(publishWait, func() error { return lostKey(w, host, path) })
	return &Secrets{World: w, host: host, topics: ObjectTopics(host, roles), cert: cert, identity: KeepGood(func() (seal.Identity, error) {
		if dir == "" {
			return seal.New()
		}
		// The folder may have been removed since the start, and the mode keeps other users out.
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return seal.Identity{}, err
		}
		return seal.Open(path, lost)
	})}
}

// ErrLostKey says that this host has had an identity, and has it no more.
var ErrLostKey = errors.New("the key of this host for secrets is lost")

// lostKey says whether a host without an identity has lost the one that it has told the store. A new one would read none of the secrets that are there,
// so that is the operator's decision.
func lostKey(w world.World, host, path string) error {
	select {
	case <-hosts.Used(w):
	default:
		return nil // the store is not there yet
	}
	kv, err := w.Get(context.Background(), seal.Key(host))
	if errors.Is(err, world.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("there is no %s, and while the store can't be asked it is not known whether this host has lost it: %w", path, err)
	}
	var had seal.Recipient
	_ = json.Unmarshal(kv.Value, &had) // the record is a loss, whatever stands in it
	return fmt.Errorf("%w: %s is gone, and the store has secrets for %.80q: restore it from a backup. If there is none, let the host make another key by: "+
		"(umask 077; echo new >%s); then give the secrets again, or have mgmt hosts admit encrypt them to it", ErrLostKey, path, had.Recipient, path)
}

// KeepGood returns a function that calls make until it has succeeded once, and then answers with that value.
// A full disk at the start thus takes no secret away for ever. It is callable from any goroutine.
// The lock is held while make runs, so make must not call the function.
func KeepGood[T any](make func() (T, error)) func() (T, error) {
	var mu sync.Mutex
	var good bool
	var kept T
	return func() (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if good {
			return kept, nil
		}
		v, err := make()
		if err == nil {
			kept, good = v, true
		}
		return v, err
	}
}

// keepBad returns a function that calls f, and answers with a failure of f for some time more. A store that is away thus holds up one secret of
// a graph, and not each. Its caller has a lock.
func keepBad(more time.Duration, f func() error) func() error {
	var err error
	var until time.Time
	return func() error {
		if err == nil || !(clock.System{}).Now().Before(until) {
			err = f()
			until = clock.System{}.Now().Add(more)
		}
		return err
	}
}

// Fill fills in the options of objects.
func (s *Secrets) Fill(o *model.Options) { o.Seal, o.Sealed = s.seal, seal.Is }

// seal encrypts to the hosts of a topic, as the operator has signed them. This host is one of them before it was admitted.
// The error seal.ErrNoReader says that no host of the topic was admitted yet.
func (s *Secrets) seal(ctx context.Context, topic string, clear schema.Secret) (string, error) {
	to, err := s.Readers(ctx, topic)
	if err != nil {
		return "", err
	}
	if s.host != "" && slices.Contains(s.topics, topic) {
		own, err := s.identity()
		if err != nil {
			return "", err
		}
		if !slices.Contains(to, own.Recipient()) {
			to = append(to, own.Recipient())
		}
	}
	return seal.Seal(to, clear.Reveal())
}

// Declare makes the declaration of an object, with its secrets in clear.
// A text that this host cannot decrypt is an error of that object alone: it is put aside, and
// others go on.
func (s *Secrets) Declare(o *model.Object) (*gapi.Declaration, error) {
	clear, err := o.Unseal(func(text string) (string, error) {
		if !seal.Is(text) {
			return text, nil
		}
		own, err := s.identity()
		if err != nil {
			return "", err
		}
		return own.Unseal(text)
	})
	if err != nil {
		return nil, err
	}
	return native.Declaration(clear)
}

// Decrypts returns a function that tries the identity of the settings first, and then that of this host. So an operator can encrypt
// the secrets of a deploy to the recipient that a host has told. A new host then needs no identity that a person has made for it.
// named returns the function of the settings, nil where they name no identity. It is asked for each text, since a reload may name
// another one. The returned function may be called by many goroutines. Its error is that of the settings, where there is one.
func (s *Secrets) Decrypts(named func() func(string) (string, error)) func(string) (string, error) {
	return func(text string) (string, error) {
		var first error
		if unseal := named(); unseal != nil {
			clear, err := unseal(text)
			if err == nil {
				return clear, nil
			}
			first = err
		}
		own, err := s.identity()
		if err != nil {
			return "", cmp.Or(first, err)
		}
		clear, err := own.Unseal(text)
		if err != nil {
			return "", cmp.Or(first, err)
		}
		return clear, nil
	}
}

// Recipient returns the recipient for the secrets of deploys: that of the identity of the settings, where they name one, and else that of this host.
// It is empty while the file with the identity cannot be read, as when a disk is full: the next report of the host has it then.
func (s *Secrets) Recipient(named string) string {
	id, err := s.identity()
	if named != "" {
		id, err = LoadIdentity(named)
	}
	if err != nil {
		return ""
	}
	return id.Recipient()
}

// certificateOf returns the first certificate of a file, nil where it has none. The connection to the store tells of a faulty file.
func certificateOf(path string) []byte {
	text, err := gapi.ReadSmall(path)
	block, _ := pem.Decode(text)
	if path == "" || err != nil || block == nil {
		return nil
	}
	return block.Bytes
}

// publishWait is the time between two tries to publish.
const publishWait = 5 * time.Second

// Publish writes the recipient of this host to the store, until that has worked once.
// It blocks until that, until ctx ends or the store is closed. The first failure is a warning, and the later ones are not told again. A lost key
// is told once as well, also after another failure: at boot the store is often not there yet.
func (s *Secrets) Publish(ctx context.Context, log *slog.Logger) {
	warned, lost := false, false
	for ctx.Err() == nil {
		own, err := s.identity()
		if err == nil {
			err = seal.Publish(ctx, s.World, seal.Recipient{Host: s.host, Recipient: own.Recipient(), Topics: s.topics, Certificate: certificateOf(s.cert)})
		}
		if err == nil || errors.Is(err, world.ErrClosed) {
			return
		}
		switch {
		case errors.Is(err, ErrLostKey):
			if !lost {
				log.Error("this host reads no secret of objects, and none of a deploy that is encrypted to its key", "error", err)
			}
			lost = true
		case !warned && ctx.Err() == nil:
			warned = true
			log.Warn("the key of this host is not in the store: no secret can be encrypted to it", "error", err)
		}
		_ = clock.Sleep(ctx, clock.System{}, publishWait)
	}
}

// UnsealBy returns a function that decrypts by the identity in a file. It reads the file at the first secret, and again after a
// failure: the key may come later than the daemon. The function is callable from any goroutine.
func UnsealBy(path string) func(text string) (string, error) {
	identity := KeepGood(func() (seal.Identity, error) { return LoadIdentity(path) })
	return func(text string) (string, error) {
		id, err := identity()
		if err != nil {
			return "", err
		}
		return id.Unseal(text)
	}
}

// LoadIdentity reads the identity in a file.
func LoadIdentity(path string) (seal.Identity, error) {
	if err := gapi.Answers(path); err != nil {
		return seal.Identity{}, err
	}
	return seal.Load(path)
}

// ObjectTopics returns the topics of the objects that a host reads: hosts.Topics, and that of an object without one.
func ObjectTopics(host string, roles []string) []string {
	return append([]string{""}, hosts.Topics(host, roles)...)
}
