package engine

import (
	"bytes"
	"strings"
	"sync/atomic"
)

// Newest gives the newest line that a command has printed so far, by which people see how far it has come. The zero value
// is ready for one Command. Its methods may be called by many goroutines.
type Newest struct{ tail atomic.Pointer[func() []byte] }

// Follow gives it a function that returns the end of the output so far, and with nil takes that away. A Host calls it when
// the command has begun, and when it has ended.
func (n *Newest) Follow(tail func() []byte) {
	if tail == nil {
		n.tail.Store(nil)
		return
	}
	n.tail.Store(&tail)
}

// Line returns the newest line without the blanks around it, and the part of one that has no end yet. It is empty where
// nothing was printed, and where the command does not run.
func (n *Newest) Line() string {
	if n == nil {
		return ""
	}
	tail := n.tail.Load()
	if tail == nil {
		return ""
	}
	text := bytes.TrimSpace((*tail)())
	line := text[bytes.LastIndexAny(text, "\r\n")+1:]
	return strings.ToValidUTF8(string(bytes.TrimSpace(line)), "\uFFFD")
}
