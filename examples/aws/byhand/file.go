package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// file keeps all things of one type, by their IDs.
type file[T any] struct {
	path, prefix string
	mu           sync.Mutex
}

// thing is one entry of the file.
type thing[T any] struct {
	Name       string `json:"name"`
	Key        string `json:"key"`
	Properties *T     `json:"properties"`
}

// newFile returns a file in a folder that is there. The file is made with the first thing.
func newFile[T any](folder, prefix string) *file[T] {
	return &file[T]{path: filepath.Join(folder, prefix+".json"), prefix: prefix}
}

// id returns the same ID for the same creation.
func (f *file[T]) id(r *request) string {
	sum := sha256.Sum256([]byte(r.Key + "\x00" + r.Name))
	return f.prefix + "-" + hex.EncodeToString(sum[:4])
}

// find returns the thing that a request is about; nil where there is none. The ID counts before the key, and the key before the name.
func (f *file[T]) find(r *request) (string, *T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all, err := f.load()
	if err != nil {
		return "", nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		it := all[id]
		switch {
		case r.ID != "" && id != r.ID:
		case r.ID == "" && r.Key != "" && it.Key != r.Key:
		case r.ID == "" && r.Key == "" && it.Name != r.Name:
		default:
			return id, it.Properties, nil
		}
	}
	return "", nil, nil
}

// put writes a thing. An update has no key, so that of the creation stays.
func (f *file[T]) put(id string, r *request, v *T) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	all, err := f.load()
	if err != nil {
		return err
	}
	key := r.Key
	if key == "" {
		key = all[id].Key
	}
	all[id] = thing[T]{r.Name, key, v}
	return f.save(all)
}

// drop removes a thing. It is no error where there is none.
func (f *file[T]) drop(id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	all, err := f.load()
	if err != nil {
		return err
	}
	delete(all, id)
	return f.save(all)
}

// list returns all things with their properties.
func (f *file[T]) list(bag func(*T) map[string]any) ([]item, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all, err := f.load()
	items := []item{}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		items = append(items, item{all[id].Name, id, bag(all[id].Properties)})
	}
	return items, err
}

// load reads the file. Without one there are no things. The caller holds mu.
func (f *file[T]) load() (map[string]thing[T], error) {
	all := map[string]thing[T]{}
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return all, nil
}

// save replaces the file at once, so a crash leaves the old one or the new one.
func (f *file[T]) save(all map[string]thing[T]) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(f.path+".new", f.path)
}
