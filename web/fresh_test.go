package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestPageIsFresh: the page that the program has in it is made of the sources.
func TestPageIsFresh(t *testing.T) {
	files, err := build("src")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not made of these sources (%v): go -C web run . makes it", name, err)
		}
	}
}
