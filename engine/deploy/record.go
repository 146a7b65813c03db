package deploy

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
)

// Errors of a deploy that a host refuses, for errors.Is. Each has a word in Code.
var (
	ErrRecord    = errors.New("the record of the deploy cannot be read")
	ErrUntrusted = errors.New("it is signed by a key that is not trusted here")
	ErrSignature = errors.New("the signature does not fit: it was altered after it was signed")
	ErrStore     = errors.New("it was not signed for this store")
	ErrExpired   = errors.New("the deploy has expired")
	ErrTopic     = errors.New("the deploy was signed for another topic")
	ErrReplay    = errors.New("it is older than the newest one that was accepted")
	ErrContent   = errors.New("the files of the deploy are not those that were signed")
	ErrGraph     = errors.New("the graph of the deploy cannot be put into effect")
)

// codes are the words for the errors, for programs.
var codes = []struct {
	err  error
	code string
}{
	{ErrRecord, "bad_record"},
	{ErrUntrusted, "untrusted_key"},
	{ErrSignature, "bad_signature"},
	{ErrStore, "wrong_store"},
	{ErrTopic, "wrong_topic"},
	{ErrExpired, "expired"},
	{ErrReplay, "old_number"},
	{ErrContent, "bad_content"},
	{ErrGraph, "bad_graph"},
}

// Code returns the word for an error, empty for another one.
func Code(err error) string {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return ""
}

// Manifest says what a deploy is. All of it is signed.
type Manifest struct {
	Store  string    `json:"store,omitempty"` // the id of the store; empty in a deploy of an older mgmt
	Topic  string    `json:"topic"`
	Number int64     `json:"number"` // from 1, in the topic
	Digest string    `json:"digest"` // of the content
	Size   int       `json:"size"`   // bytes of the content
	Parts  int       `json:"parts"`  // in how many keys it is
	BackTo int64     `json:"back_to,omitempty"`
	Graphs []string  `json:"graphs"`
	By     string    `json:"by"` // the operator, as USER@HOST
	Time   time.Time `json:"time"`
	// Expires bars the first acceptance by a host, and never a graph that runs. The zero time bars nothing.
	Expires time.Time `json:"expires,omitzero"`
	// Leaving counts for resources of the deploy that do not say it themselves, when they leave with a later one. A host with an older mgmt keeps their work.
	Leaving engine.Leaving `json:"leaving,omitempty"`
}

// Expired reports whether no further host accepts the deploy.
func (m Manifest) Expired(now time.Time) bool { return !m.Expires.IsZero() && now.After(m.Expires) }

// Record is a text with its signature, as it is stored: a Manifest, a StoreRecord or a HostRecord.
type Record struct {
	Manifest  string `json:"manifest"` // the JSON that is signed
	Key       string `json:"key"`      // the id of the key
	Signature []byte `json:"signature"`
}

// The first line of what is signed. It keeps the signature of one kind of record from standing for another.
const (
	ofDeploy = "mgmt deploy 1\n"
	ofStore  = "mgmt store 1\n"
	ofHost   = "mgmt host 1\n"
)

// sign signs the JSON of a value as a record of a kind.
func (k Key) sign(kind string, v any) (Record, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return Record{}, err
	}
	return Record{Manifest: string(text), Key: k.Public().ID, Signature: ed25519.Sign(k.private, []byte(kind+string(text)))}, nil
}

// Sign makes the record of a deploy.
func (k Key) Sign(m Manifest) (Record, error) { return k.sign(ofDeploy, m) }

// open reads the value of a record of a kind that one of the keys has signed.
func (r Record) open(trusted []Public, kind string, v any) error {
	i := slices.IndexFunc(trusted, func(k Public) bool { return k.ID == r.Key })
	switch {
	case i < 0:
		return fmt.Errorf("%w (key %.20q)", ErrUntrusted, r.Key)
	case !ed25519.Verify(trusted[i].key, []byte(kind+r.Manifest), r.Signature):
		return ErrSignature
	}
	if err := json.Unmarshal([]byte(r.Manifest), v); err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return nil
}

// Read returns the manifest, and checks no signature: it is for lists.
func (r Record) Read() (m Manifest, err error) {
	if err := json.Unmarshal([]byte(r.Manifest), &m); err != nil {
		return m, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return m, nil
}

// Verify returns the manifest if one of the keys has signed it for a topic and a number.
func (r Record) Verify(trusted []Public, topic string, number int64) (m Manifest, err error) {
	if err := r.open(trusted, ofDeploy, &m); err != nil {
		if errors.Is(err, ErrUntrusted) {
			err = fmt.Errorf("%w: add its public half to trusted_keys, or sign with another key", err)
		}
		return m, err
	}
	switch {
	case m.Topic != topic:
		return m, fmt.Errorf("%w: %.60q, and not %q", ErrTopic, m.Topic, topic)
	case m.Number != number:
		return m, fmt.Errorf("%w: it was signed as number %d, and stands at %d", ErrSignature, m.Number, number)
	case m.Number < 1 || m.Number > maxNumber || m.Size < 0 || m.Size > MaxBundle || m.Parts < 1 || m.Parts > MaxBundle/1024:
		return m, fmt.Errorf("%w: a figure in it cannot be", ErrRecord)
	}
	return m, nil
}
