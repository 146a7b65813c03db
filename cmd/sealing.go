package cmd

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

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/seal"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// identityFile is the file of the state folder with the identity of this host.
// The file has mode 0600, see seal.Open. Its holder reads the secrets of this host.
const identityFile = "age.key"

// sealing encrypts secrets to the hosts of a topic, and reads those of this host.
// An operator without a daemon has one without an identity.
// It is safe for concurrent use: its fields are not altered, and identity has a lock.
type sealing struct {
	world    engine.World
	readers  func(ctx context.Context, topic string) ([]string, error) // the recipients of a topic that the operator has signed
	host     string                                                    // empty for an operator
	topics   []string                                                  // of this host
	cert     string                                                    // the file of the certificate by which the store knows this host; empty for none
	identity func() (seal.Identity, error)
}

// newSealing returns the sealing of a daemon. The identity is made at its first use, so that a daemon without a store has none.
// Without a state folder it is one of this process, whose secrets are lost at its end.
func newSealing(w engine.World, dir, host string, roles []string) *sealing {
	host = cmp.Or(host, hostname())
	path := filepath.Join(dir, identityFile)
	lost := keepBad(publishWait, func() error { return lostKey(w, host, path) })
	return &sealing{world: w, host: host, topics: topics(host, roles), identity: keepGood(func() (seal.Identity, error) {
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

// errLostKey says that this host has had an identity, and has it no more.
var errLostKey = errors.New("the key of this host for secrets is lost")

// lostKey says whether a host without an identity has lost the one that it has told the store. A new one would read none of the secrets that are there,
// so that is the operator's decision.
func lostKey(w engine.World, host, path string) error {
	select {
	case <-hosts.Used(w):
	default:
		return nil // the store is not there yet
	}
	kv, err := w.Get(context.Background(), seal.Key(host))
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("there is no %s, and while the store can't be asked it is not known whether this host has lost it: %w", path, err)
	}
	var had seal.Recipient
	_ = json.Unmarshal(kv.Value, &had) // the record is a loss, whatever stands in it
	return fmt.Errorf("%w: %s is gone, and the store has secrets for %.80q: restore it from a backup. If there is none, let the host make another key by: "+
		"(umask 077; echo new >%s); then give the secrets again, or have mgmt hosts admit encrypt them to it", errLostKey, path, had.Recipient, path)
}

// keepGood returns a function that calls make until it has succeeded once, and then answers with that value.
// A full disk at the start thus takes no secret away for ever. It is callable from any goroutine.
// The lock is held while make runs, so make must not call the function.
func keepGood[T any](make func() (T, error)) func() (T, error) {
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
		if err == nil || !(engine.SystemClock{}).Now().Before(until) {
			err = f()
			until = engine.SystemClock{}.Now().Add(more)
		}
		return err
	}
}

// set fills in the options of objects.
func (s *sealing) set(o *model.Options) { o.Seal, o.Sealed = s.seal, seal.Is }

// seal encrypts to the hosts of a topic, as the operator has signed them. This host is one of them before it was admitted.
// The error seal.ErrNoReader says that no host of the topic was admitted yet.
func (s *sealing) seal(ctx context.Context, topic string, clear schema.Secret) (string, error) {
	to, err := s.readers(ctx, topic)
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

// declare makes the declaration of an object, with its secrets in clear.
// A text that this host cannot decrypt is an error of that object alone: it is put aside, and
// others go on.
func (s *sealing) declare(o *model.Object) (*gapi.Declaration, error) {
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

// decrypts returns a function that tries the identity of the settings first, and then that of this host. So an operator can encrypt
// the secrets of a deploy to the recipient that a host has told. A new host then needs no identity that a person has made for it.
// named returns the function of the settings, nil where they name no identity. It is asked for each text, since a reload may name
// another one. The returned function may be called by many goroutines. Its error is that of the settings, where there is one.
func (s *sealing) decrypts(named func() func(string) (string, error)) func(string) (string, error) {
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

// recipient returns the recipient for the secrets of deploys: that of the identity of the settings, where they name one, and else that of this host.
// It is empty while the file with the identity cannot be read, as when a disk is full: the next report of the host has it then.
func (s *sealing) recipient(named string) string {
	id, err := s.identity()
	if named != "" {
		id, err = loadIdentity(named)
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

// publish writes the recipient of this host to the store, until that has worked once.
// It blocks until that, until ctx ends or the store is closed. The first failure is a warning, and the later ones are not told again. A lost key
// is told once as well, also after another failure: at boot the store is often not there yet.
func (s *sealing) publish(ctx context.Context, log *slog.Logger) {
	warned, lost := false, false
	for ctx.Err() == nil {
		own, err := s.identity()
		if err == nil {
			err = seal.Publish(ctx, s.world, seal.Recipient{Host: s.host, Recipient: own.Recipient(), Topics: s.topics, Certificate: certificateOf(s.cert)})
		}
		if err == nil || errors.Is(err, engine.ErrClosed) {
			return
		}
		switch {
		case errors.Is(err, errLostKey):
			if !lost {
				log.Error("this host reads no secret of objects, and none of a deploy that is encrypted to its key", "error", err)
			}
			lost = true
		case !warned && ctx.Err() == nil:
			warned = true
			log.Warn("the key of this host is not in the store: no secret can be encrypted to it", "error", err)
		}
		_ = engine.Sleep(ctx, engine.SystemClock{}, publishWait)
	}
}
