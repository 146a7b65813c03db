package values

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// TableSeen has as key a vertex and a field, and as value the digest of the value that the vertex
// has last acted on.
const TableSeen = "seen"

const keySep = "\x00"

// Seen is what an earlier process has acted on. It is not altered once all records were recalled.
// A nil Seen is empty.
type Seen struct {
	digests map[string][]byte // by key
}

// Recall takes a record.
func (s *Seen) Recall(rec records.Record) {
	if s.digests == nil {
		s.digests = map[string][]byte{}
	}
	s.digests[rec.Key] = rec.Value
}

// Forget returns the ends of the records of vertices that are not there.
func (s *Seen) Forget(there func(id string) bool) (writes []records.Write) {
	for key := range s.digests {
		if id, _, _ := strings.Cut(key, keySep); !there(id) {
			writes = append(writes, records.Write{Table: TableSeen, Key: key})
		}
	}
	return writes
}

// was reports whether an earlier process has acted on this value of a wire.
func (s *Seen) was(id string, w *wire) bool {
	if s == nil {
		return false
	}
	d := s.digests[id+keySep+w.Field]
	return d != nil && isDigest(d, w.effective().V)
}

// Digests returns the records of the values that the vertex with an id has acted on.
func (v *Vertex) Digests(id string) (writes []records.Write) {
	for i := range v.recv {
		if w := &v.recv[i]; w.have {
			writes = append(writes, records.Write{Table: TableSeen, Key: id + keySep + w.Field, Value: digest(w.effective().V)})
		}
	}
	return writes
}

// Forget returns the ends of these records: the name has left.
func (v *Vertex) Forget(id string) (writes []records.Write) {
	if v == nil {
		return nil
	}
	for i := range v.recv {
		writes = append(writes, records.Write{Table: TableSeen, Key: id + keySep + v.recv[i].Field})
	}
	return writes
}

const saltLen = 16

// digest names a value without telling it: it may be a secret.
func digest(x any) []byte {
	salt := make([]byte, saltLen)
	unix.RandomRead(salt)
	return digestWith(salt, x)
}

func digestWith(salt []byte, x any) []byte {
	h := sha256.New()
	h.Write(salt)
	h.Write(appendPlain(nil, x))
	return h.Sum(bytes.Clone(salt))
}

func isDigest(d []byte, x any) bool {
	return len(d) > saltLen && bytes.Equal(d, digestWith(d[:saltLen], x))
}

// appendPlain writes a plain value so that different ones are different texts.
// fmt sorts maps by key.
func appendPlain(b []byte, x any) []byte {
	switch x := x.(type) {
	case schema.Secret:
		return fmt.Appendf(b, "%q", x.Reveal())
	case []any:
		b = append(b, '[')
		for _, e := range x {
			b = append(appendPlain(b, e), ',')
		}
		return append(b, ']')
	default:
		return fmt.Appendf(b, "%T:%#v", x, x)
	}
}
