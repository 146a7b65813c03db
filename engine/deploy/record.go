package deploy

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Errors of a deploy that a host refuses, for errors.Is. Each has a word in Code.
var (
	ErrRecord    = errors.New("the record of the deploy cannot be read")
	ErrUntrusted = errors.New("the deploy is signed by a key that this host does not trust")
	ErrSignature = errors.New("the signature does not fit the deploy: it was altered after it was signed")
	ErrTopic     = errors.New("the deploy was signed for another topic")
	ErrReplay    = errors.New("the deploy is older than the one in effect")
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
	{ErrTopic, "wrong_topic"},
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
	Topic  string    `json:"topic"`
	Number int64     `json:"number"` // from 1, in the topic
	Digest string    `json:"digest"` // of the content
	Size   int       `json:"size"`   // bytes of the content
	Parts  int       `json:"parts"`  // in how many keys it is
	BackTo int64     `json:"back_to,omitempty"`
	Graphs []string  `json:"graphs"`
	By     string    `json:"by"` // the operator, as USER@HOST
	Time   time.Time `json:"time"`
}

// Record is a Manifest with its signature, as it is stored.
type Record struct {
	Manifest  string `json:"manifest"` // the JSON that is signed
	Key       string `json:"key"`      // the id of the key
	Signature []byte `json:"signature"`
}

// signed is what a signature is made over. The word before the manifest keeps a signature for something else apart.
func signed(manifest string) []byte { return []byte("mgmt deploy 1\n" + manifest) }

// Sign makes the record of a deploy.
func (k Key) Sign(m Manifest) (Record, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return Record{}, err
	}
	return Record{Manifest: string(text), Key: k.Public().ID, Signature: ed25519.Sign(k.private, signed(string(text)))}, nil
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
	err = fmt.Errorf("%w (key %.20q): add its public half to trusted_keys, or sign with another key", ErrUntrusted, r.Key)
	for _, k := range trusted {
		if k.ID != r.Key {
			continue
		}
		if err = nil; !ed25519.Verify(k.key, signed(r.Manifest), r.Signature) {
			err = ErrSignature
		}
		break
	}
	if err != nil {
		return m, err
	}
	if m, err = r.Read(); err != nil {
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
