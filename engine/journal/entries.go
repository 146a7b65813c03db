package journal

import (
	"encoding/binary"
	"math"
)

// Entries are kept in chunks: a header, then one after the other
//
//	time since the one before in ns (varint), and resource, outcome and data,
//	each with its length before it (uvarint)
//
// The ids of a chunk follow each other; the first one is its key.

const (
	chunkHeader = 4 + 8 + 8 // number of entries, earliest and latest time in ns, little endian
	chunkSize   = 4 << 10   // from which on a chunk is complete
	maxEntry    = 256 << 10 // bytes
)

// span is what is known of a chunk without reading it.
type span struct {
	first       uint64
	n           uint32
	early, late int64 // ns since 1970
	size        int
}

// last returns the id of the last entry.
func (s span) last() uint64 { return s.first + uint64(s.n) - 1 }

// chunk is one in memory. Bytes in buf never change, so a copy
// of the struct is a chunk of its own; only the header is written by flush.
type chunk struct {
	span
	buf   []byte
	prev  int64  // the time of the last entry
	saved uint32 // so many entries are stored
}

func newChunk(first uint64) *chunk {
	return &chunk{span: span{first: first, early: math.MaxInt64, late: math.MinInt64},
		buf: make([]byte, chunkHeader, chunkSize+chunkSize/4)}
}

func (c *chunk) add(at int64, e *Entry) {
	b := binary.AppendVarint(c.buf, at-c.prev)
	b = append(binary.AppendUvarint(b, uint64(len(e.Resource))), e.Resource...)
	b = append(binary.AppendUvarint(b, uint64(len(e.Outcome))), e.Outcome...)
	c.buf = append(binary.AppendUvarint(b, uint64(len(e.Data))), e.Data...)
	c.prev, c.n, c.size = at, c.n+1, len(c.buf)
	c.early, c.late = min(c.early, at), max(c.late, at)
}

func (c *chunk) complete() bool { return len(c.buf) >= chunkSize }

// encode writes the header and returns the chunk as it is stored.
func (c *chunk) encode() []byte {
	binary.LittleEndian.PutUint32(c.buf, c.n)
	binary.LittleEndian.PutUint64(c.buf[4:], uint64(c.early))
	binary.LittleEndian.PutUint64(c.buf[12:], uint64(c.late))
	return c.buf[:len(c.buf):len(c.buf)]
}

// spanOf reads the header of a stored chunk.
func spanOf(first uint64, b []byte) (span, bool) {
	if len(b) < chunkHeader {
		return span{}, false
	}
	s := span{
		first: first, n: binary.LittleEndian.Uint32(b), size: len(b),
		early: int64(binary.LittleEndian.Uint64(b[4:])), late: int64(binary.LittleEndian.Uint64(b[12:])),
	}
	return s, s.n > 0
}

// raw is an entry within its chunk.
type raw struct {
	id                      uint64
	at                      int64
	resource, outcome, data []byte
}

// entries appends the entries of a chunk of n.
func entries(to []raw, first uint64, n uint32, b []byte) ([]raw, bool) {
	r, at := reader{b: b[chunkHeader:]}, int64(0)
	for i := range n {
		at += r.varint()
		e := raw{id: first + uint64(i), at: at, resource: r.bytes(), outcome: r.bytes(), data: r.bytes()}
		if r.bad {
			return to, false
		}
		to = append(to, e)
	}
	return to, true
}

type reader struct {
	b   []byte
	bad bool
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	r.skip(n)
	return v
}

func (r *reader) bytes() []byte {
	size, n := binary.Uvarint(r.b)
	r.skip(n)
	if size > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	v := r.b[:size:size]
	r.b = r.b[size:]
	return v
}

func (r *reader) skip(n int) {
	if n <= 0 {
		r.bad, n = true, 0
	}
	r.b = r.b[n:]
}
