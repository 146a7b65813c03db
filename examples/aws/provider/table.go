package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/reactivegraph/mgmt/provider"
)

// table is the work on one type. It keeps all things of the type in one file of JSON, by their IDs. It has both
// types of the example, since their work is the same. The stubs give it the properties as structs.
//
// All methods may be called by many goroutines at once.
type table[T any] struct {
	provider.Defaults[T]

	path   string
	prefix string              // of the IDs
	id     func(v *T) **string // the output that has the ID

	mu sync.Mutex // around each reading and writing of the file
}

// thing is one entry of the file.
type thing[T any] struct {
	Name       string `json:"name"`
	Key        string `json:"key"` // of its creation
	Properties *T     `json:"properties"`
}

// newTable returns a table whose file is in a folder that is there. The file is made with the first thing.
func newTable[T any](folder, prefix string, id func(*T) **string) *table[T] {
	return &table[T]{path: filepath.Join(folder, prefix+".json"), prefix: prefix, id: id}
}

// Create makes a thing. The same key makes the same thing again, so it is never there twice.
func (t *table[T]) Create(_ context.Context, c *provider.Call, in *T) (*T, error) {
	sum := sha256.Sum256([]byte(c.Key + "\x00" + c.Name))
	c.ID = t.prefix + "-" + hex.EncodeToString(sum[:4])
	return t.put(c, in)
}

// Get finds a thing by its ID, by the key of its creation, or by its name.
func (t *table[T]) Get(_ context.Context, c *provider.Call, _ *T) (*T, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, err := t.load()
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		it := all[id]
		switch {
		case c.ID != "" && id != c.ID:
		case c.ID == "" && c.Key != "" && it.Key != c.Key:
		case c.ID == "" && c.Key == "" && it.Name != c.Name:
		default:
			c.ID = id
			return it.Properties, nil
		}
	}
	return nil, nil
}

// Update gives a thing other properties. Its ID stays.
func (t *table[T]) Update(_ context.Context, c *provider.Call, _, wanted *T) (*T, error) {
	return t.put(c, wanted)
}

// Delete removes a thing, if it is there.
func (t *table[T]) Delete(_ context.Context, c *provider.Call, _ *T) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, err := t.load()
	if err != nil {
		return err
	}
	delete(all, c.ID)
	return t.save(all)
}

// List yields all things in the order of their IDs.
func (t *table[T]) List(context.Context) iter.Seq2[provider.Item[T], error] {
	return func(yield func(provider.Item[T], error) bool) {
		t.mu.Lock()
		all, err := t.load()
		t.mu.Unlock()
		if err != nil {
			yield(provider.Item[T]{}, err)
			return
		}
		for _, id := range slices.Sorted(maps.Keys(all)) {
			if !yield(provider.Item[T]{Name: all[id].Name, ID: id, Properties: all[id].Properties}, nil) {
				return
			}
		}
	}
}

// put writes a thing with its ID as an output.
func (t *table[T]) put(c *provider.Call, in *T) (*T, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, err := t.load()
	if err != nil {
		return nil, err
	}
	out := *in
	*t.id(&out) = new(c.ID)
	key := c.Key
	if key == "" {
		key = all[c.ID].Key
	}
	all[c.ID] = thing[T]{c.Name, key, &out}
	return &out, t.save(all)
}

// load reads the file. Without one there are no things.
func (t *table[T]) load() (map[string]thing[T], error) {
	all := map[string]thing[T]{}
	text, err := os.ReadFile(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", t.path, err)
	}
	return all, nil
}

// save replaces the file at once, so a crash leaves the old one or the new one.
func (t *table[T]) save(all map[string]thing[T]) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(t.path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(t.path+".new", t.path)
}
