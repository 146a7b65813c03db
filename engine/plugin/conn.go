package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/reactivegraph/mgmt/provider/protocol"
)

// Conn is a connection to one process of a provider, over either transport. Its methods may be called by many goroutines.
type Conn interface {
	// Call asks, and waits for the answer. Its errors are a *protocol.Error of the provider, the cause of ctx, or a
	// *GoneError where the connection ended before the answer came.
	Call(ctx context.Context, method string, params, reply any) error
	// Watch calls event with each news of a watch, on one goroutine, and returns as Call does. The function must not block.
	Watch(ctx context.Context, r *protocol.WatchRequest, event func(kind string)) error
	// Done is closed when the connection has ended, and Err says why then.
	Done() <-chan struct{}
	Err() error
	Close() error
}

// GoneError says that a provider ended, or broke the rules of the connection, before it has answered. It is unknown
// whether the question had an effect.
type GoneError struct{ Err error }

// Error returns a sentence.
func (e *GoneError) Error() string {
	if e.Err == nil || errors.Is(e.Err, io.EOF) {
		return "the provider has ended"
	}
	return fmt.Sprintf("the connection to the provider has ended: %v", e.Err)
}

// Unwrap returns the reason.
func (e *GoneError) Unwrap() error { return e.Err }

// lines is a Conn of JSON lines.
type lines struct {
	to   *protocol.Lines
	out  chan []byte // to be written; bounded, so a provider that does not read holds its callers and not the memory
	log  func(*protocol.LogLine)
	done chan struct{}

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]*asked
	err     error // set when done is closed
}

// asked is a question without an answer.
type asked struct {
	reply chan *protocol.Message // of capacity 1
	event func(kind string)
}

// newLines begins a connection, which ends with the stream.
func newLines(stream io.ReadWriteCloser, log func(*protocol.LogLine)) *lines {
	c := &lines{
		to: protocol.NewLines(stream), out: make(chan []byte, maxQueue), log: log, done: make(chan struct{}), waiting: map[uint64]*asked{},
	}
	go c.read()
	go c.write()
	return c
}

const (
	maxQueue  = 16       // messages that may wait until the provider reads them
	maxJoined = 64 << 10 // bytes of messages from which on no further one is written with them
)

// write is the only writer of the stream. Where the provider does not read, it alone is held, until end closes the stream: a
// caller waits for its context too.
func (c *lines) write() {
	for {
		select {
		case line := <-c.out:
			for more := true; more && len(line) < maxJoined; { // one write for all that wait
				select {
				case next := <-c.out:
					line = append(line, next...)
				default:
					more = false
				}
			}
			if err := c.to.WriteLine(line); err != nil {
				c.end(err)
				return
			}
		case <-c.done:
			return
		}
	}
}

// read hands each message to the one who waits for it.
func (c *lines) read() {
	for {
		m, err := c.to.Read()
		if err == nil {
			err = c.take(m)
		}
		if err != nil {
			c.end(err)
			return
		}
	}
}

// take handles one message. The error says how it breaks the rules. An answer to a question that was never asked is such an
// error, and an answer to a canceled one is not.
func (c *lines) take(m *protocol.Message) error {
	if m.Log != nil {
		c.log(m.Log)
		return nil
	}
	c.mu.Lock()
	a := c.waiting[m.ID]
	if a != nil && m.Event == nil {
		delete(c.waiting, m.ID)
	}
	known := m.ID > 0 && m.ID <= c.last
	c.mu.Unlock()
	switch {
	case !known:
		return fmt.Errorf("it has answered question %d, which was never asked", m.ID)
	case a == nil: // it was canceled
	case m.Event != nil:
		if a.event != nil {
			a.event(m.Event.Type)
		}
	default:
		a.reply <- m
	}
	return nil
}

// end ends the connection once.
func (c *lines) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.done)
	_ = c.to.Close()
}

// ask hands a question to the writer, and waits for room there no longer than its context lasts. A question that is too long
// is an error of its caller alone: nothing of it was sent. Every failure of the stream ends the connection, since a part of a
// line may have been sent.
func (c *lines) ask(ctx context.Context, method string, params any, event func(string)) (uint64, *asked, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return 0, nil, err
	}
	a := &asked{reply: make(chan *protocol.Message, 1), event: event}
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return 0, nil, &GoneError{c.err}
	}
	c.last++
	id := c.last
	c.waiting[id] = a
	c.mu.Unlock()
	line, err := protocol.Line(&protocol.Message{ID: id, Method: method, Params: text})
	if err == nil {
		select {
		case c.out <- line:
			return id, a, nil
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-c.done:
			err = &GoneError{c.Err()}
		}
	}
	c.forget(id)
	return 0, nil, err
}

// cancel tells the provider that an answer is not needed. Where the queue is full, the provider does not read, and would not
// learn it anyway.
func (c *lines) cancel(id uint64) {
	c.forget(id)
	line, err := protocol.Line(&protocol.Message{Cancel: id})
	if err != nil {
		return
	}
	select {
	case c.out <- line:
	default:
	}
}

func (c *lines) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// Call implements Conn.
func (c *lines) Call(ctx context.Context, method string, params, reply any) error {
	return c.exchange(ctx, method, params, reply, nil)
}

// Watch implements Conn.
func (c *lines) Watch(ctx context.Context, r *protocol.WatchRequest, event func(kind string)) error {
	return c.exchange(ctx, protocol.MethodWatch, r, nil, event)
}

// exchange asks, and waits for the answer. Where ctx ends first, the provider is told that the answer is not needed, and the
// answer is dropped when it comes.
func (c *lines) exchange(ctx context.Context, method string, params, reply any, event func(string)) error {
	id, a, err := c.ask(ctx, method, params, event)
	if err != nil {
		return err
	}
	select {
	case m := <-a.reply:
		return readReply(m, method, reply)
	case <-ctx.Done():
		c.cancel(id)
		return context.Cause(ctx)
	case <-c.done:
	}
	select { // the answer may have come with the end
	case m := <-a.reply:
		return readReply(m, method, reply)
	default:
		return &GoneError{c.Err()}
	}
}

// readReply reads an answer.
func readReply(m *protocol.Message, method string, reply any) error {
	switch {
	case m.Error != nil:
		return m.Error
	case reply == nil:
		return nil
	case len(m.Result) == 0:
		return fmt.Errorf("the answer to %s has neither a result nor an error", method)
	}
	if err := json.Unmarshal(m.Result, reply); err != nil {
		return fmt.Errorf("the answer to %s is wrong: %w", method, err)
	}
	return nil
}

// Done implements Conn.
func (c *lines) Done() <-chan struct{} { return c.done }

// Err implements Conn.
func (c *lines) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close implements Conn.
func (c *lines) Close() error {
	c.end(io.EOF)
	return nil
}
