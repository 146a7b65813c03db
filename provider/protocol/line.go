package protocol

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Message is one line of a connection: a question, its answer, an event of it, its cancellation, or a log line.
type Message struct {
	ID     uint64          `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
	Event  *WatchEvent     `json:"event,omitempty"`
	Cancel uint64          `json:"cancel,omitempty"`
	Log    *LogLine        `json:"log,omitempty"`
}

// ErrTooLong says that a line has more than MaxMessage bytes.
var ErrTooLong = fmt.Errorf("a message has more than %d MiB", MaxMessage>>20)

// Lines reads and writes messages as lines. Write may be called by many goroutines, Read by one.
type Lines struct {
	conn io.ReadWriteCloser
	in   *bufio.Reader
	mu   sync.Mutex // guards writing
}

// NewLines returns the lines of a connection, which Close closes.
func NewLines(conn io.ReadWriteCloser) *Lines {
	return &Lines{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
}

// Read returns the next message. The error is io.EOF at the end, ErrTooLong, or says that the line is no message.
func (l *Lines) Read() (*Message, error) {
	line, err := l.line()
	if err != nil {
		return nil, err
	}
	m := &Message{}
	if err := json.Unmarshal(line, m); err != nil {
		return nil, fmt.Errorf("a line of %d bytes is no message: its JSON is wrong at byte %d", len(line), offset(err))
	}
	return m, nil
}

// A line may have secrets, and the text of an error of the JSON decoder may quote a value. So only the place is told.
//
// offset returns the place of an error of the JSON decoder; 0 where it has none.
func offset(err error) int64 {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return e.Offset
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return e.Offset
	}
	return 0
}

// line returns the next line without its end. It is valid until the next call.
func (l *Lines) line() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return bytes.TrimSpace(line), err
	}
	long := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		if line, err = l.in.ReadSlice('\n'); len(long)+len(line) > MaxMessage {
			return nil, ErrTooLong
		}
		long = append(long, line...)
	}
	return bytes.TrimSpace(long), err
}

// Write writes one message. It blocks while the other end does not read.
func (l *Lines) Write(m *Message) error {
	line, err := Line(m)
	if err != nil {
		return err
	}
	return l.WriteLine(line)
}

// Line returns a message as a line for WriteLine, with its end. The error is ErrTooLong, or says why it is no JSON.
func Line(m *Message) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return nil, err
	}
	if b.Len() > MaxMessage {
		return nil, ErrTooLong
	}
	return b.Bytes(), nil
}

// WriteLine writes one line, which Line has returned. It blocks while the other end does not read, until Close.
func (l *Lines) WriteLine(line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.conn.Write(line)
	return err
}

// Close closes the connection.
func (l *Lines) Close() error { return l.conn.Close() }
