package plugin

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// record is the memory of mgmt about one thing, in a file of the resource's own folder. It has no property, so no secret.
type record struct {
	Version int    `json:"version"`
	ID      string `json:"id,omitempty"`      // that the provider has given; empty where there is no thing, or none is known
	Key     string `json:"key,omitempty"`     // the idempotency key of its creation
	Private string `json:"private,omitempty"` // a text that the provider wants to be kept

	// Creating says that a create with the key was about to be asked, and that its answer is not here. It is on the disk
	// before the question is sent.
	Creating bool `json:"creating,omitempty"`
	// Old is the thing that is to be deleted once another one is there in its place.
	Old *replaced `json:"old,omitempty"`

	Salt    string            `json:"salt,omitempty"`
	Written map[string]string `json:"written,omitempty"` // salted digests of values that cannot be read back
}

// replaced is a thing that another one has replaced.
type replaced struct {
	ID      string `json:"id"`
	Key     string `json:"key,omitempty"`
	Private string `json:"private,omitempty"`
}

// The record lies in the VarDir of its resource, which the engine removes when the name leaves the graph. So a thing whose
// resource has left is forgotten, and is found by its name if the resource comes back.
const (
	recordFile    = "provider.json"
	recordVersion = 1
)

// loadRecord reads the record of a folder; an empty one where there is none.
func loadRecord(dir string) (*record, error) {
	rec := &record{Version: recordVersion}
	text, err := os.ReadFile(filepath.Join(dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return rec, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, rec); err != nil || rec.Version != recordVersion {
		return nil, fmt.Errorf("the record %s/%s is damaged, or of a later mgmt; restore it, or remove it where the thing can be found by its name", dir, recordFile)
	}
	return rec, nil
}

// digest returns the digest of a value that cannot be read back. The salt is the record's own, so that equal secrets of two
// resources look different on the disk.
func (rec *record) digest(v any) string {
	if rec.Salt == "" {
		rec.Salt = rand.Text()
	}
	text, _ := json.Marshal(v)
	mac := hmac.New(sha256.New, []byte(rec.Salt))
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil))
}
