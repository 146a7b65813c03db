package unix_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// TestRandomRead: all bytes are filled, also more than one call of the kernel gives, and no two
// reads are equal.
func TestRandomRead(t *testing.T) {
	unix.RandomRead(nil)
	seen := map[string]bool{}
	for range 1000 {
		b := make([]byte, 16)
		unix.RandomRead(b)
		if seen[string(b)] {
			t.Fatalf("%x came twice", b)
		}
		seen[string(b)] = true
	}
	big := make([]byte, 40<<20) // a call gives at most 32 MiB less one byte
	unix.RandomRead(big)
	var bits [256]int
	for _, c := range big {
		bits[c]++
	}
	for c, n := range bits { // of 163,840 each, with a deviation of 404
		if n < 160_000 || n > 167_000 {
			t.Errorf("the byte %#x came %d times", c, n)
		}
	}
	if tail := string(big[len(big)-64:]); tail == strings.Repeat("\x00", 64) {
		t.Error("the end was not filled")
	}
}

// TestRandomText: a text is fit for a file name, each letter comes, and texts made at once differ.
func TestRandomText(t *testing.T) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	seen, letters := map[string]bool{}, map[rune]bool{}
	for range 8 {
		wg.Go(func() {
			for range 200 {
				text := unix.RandomText()
				mu.Lock()
				if len(text) != 26 || seen[text] || strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
					t.Errorf("%q", text)
				}
				seen[text] = true
				for _, c := range text {
					letters[c] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(letters) != 32 {
		t.Errorf("%d letters came", len(letters))
	}
}
