package httpd

import (
	"bytes"
	"fmt"
	"io"
)

// The most bytes that a client of another machine takes of it.
const (
	MaxAnswer = 64 << 20 // of an answer that it holds as a whole
	MaxRecord = 16 << 20 // of a record in a stream or a long list, which may be of any length
)

// minObjects is how many objects of JSON an answer may have, however short it may be. An empty object takes a hundred times the memory of its text, so they
// are counted apart, one for 64 bytes.
const minObjects = 1 << 20

// LongError says that a server sends more than a client takes.
type LongError struct{ Most int }

// Error implements error.
func (e *LongError) Error() string {
	return fmt.Sprintf("more than %d MiB or %d objects came in one piece: ask for less, or on the machine of the daemon itself", e.Most>>20, objectsOf(e.Most))
}

func objectsOf(most int) int { return max(most/64, minObjects) }

// Bound reads an answer up to a number of bytes, and fails with a *LongError behind that.
type Bound struct {
	in                   io.Reader
	most, bytes, objects int
}

// NewBound returns a Bound of so many bytes.
func NewBound(in io.Reader, most int) *Bound { return &Bound{in: in, most: most} }

// Next begins to count anew: a record of a stream has ended. What a decoder has read ahead counts for the record before.
func (b *Bound) Next() { b.bytes, b.objects = 0, 0 }

// Read implements io.Reader.
func (b *Bound) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	b.bytes += n
	b.objects += bytes.Count(p[:n], []byte("{"))
	if b.bytes > b.most || b.objects > objectsOf(b.most) {
		return 0, &LongError{b.most}
	}
	return n, err
}
