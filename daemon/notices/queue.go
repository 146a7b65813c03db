package notices

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/records"
)

// The tables of the store. cursors has a record for each receiver; the messages of a receiver are in a table of their own.
const (
	cursors  = "notices"
	messages = "notices/"
)

// mark is what is remembered of a receiver besides its messages.
type mark struct {
	Cursor  uint64 `json:"cursor"`            // the last event of the history that was looked at
	Number  int64  `json:"number"`            // of the last message
	Pending int    `json:"pending,omitempty"` // dropped events that no message has told yet
}

// queue has the messages of one receiver, in memory and in the store, the oldest first. Its methods may be called from any goroutine.
type queue struct {
	r     *Receiver
	host  string
	store records.Store
	now   func() time.Time
	tell  func(dropped int, why string)

	mu      sync.Mutex
	mark    mark
	list    []queued
	size    int
	sending string        // the key of the message that is under way, which is not dropped meanwhile
	wake    chan struct{} // capacity 1: there is a message
	counts  counts
}

type counts struct {
	Sent, Failed, Dropped int // messages, tries, events
}

type queued struct {
	key     string
	at      time.Time
	events  int // which are dropped with it
	message *Message
	body    []byte
}

// begin reads the mark. A receiver that has none is new: it begins before the event first, and that is kept.
func (q *queue) begin(ctx context.Context, first uint64) error {
	for rec, err := range q.store.Records(ctx, cursors) {
		if err != nil {
			return err
		}
		if rec.Key == q.r.Name && json.Unmarshal(rec.Value, &q.mark) == nil {
			return nil
		}
	}
	return q.put(ctx, Message{}, max(first, 1)-1, 0)
}

// load reads the messages.
func (q *queue) load(ctx context.Context) error {
	for rec, err := range q.store.Records(ctx, messages+q.r.Name) {
		if err != nil {
			return err
		}
		m := &Message{}
		if json.Unmarshal(rec.Value, m) == nil {
			q.add(queued{rec.Key, m.At, m.Total + m.Dropped, m, rec.Value})
		}
	}
	return nil
}

func (q *queue) add(m queued) {
	q.list, q.size = append(q.list, m), q.size+len(m.body)
	nudge(q.wake)
}

// cursor returns the last event of the history whose message is queued.
func (q *queue) cursor() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mark.Cursor
}

// put queues a message, and moves the cursor in the same commit. lost is how many events were lost before they could be looked at. A message
// without an event is only the move. With an error nothing has changed.
func (q *queue) put(ctx context.Context, m Message, cursor uint64, lost int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	next := q.mark
	next.Cursor = cursor
	return q.change(ctx, next, m, map[string]int{"they could not be kept in the history": lost})
}

// change drops what is over the bounds, queues m if there is something to tell, and keeps all of that with a mark. dropped has what was dropped
// before, by the reason. The lock is held.
func (q *queue) change(ctx context.Context, next mark, m Message, dropped map[string]int) error {
	var writes []records.Write
	gone, size, now := map[string]bool{}, q.size, q.now()
	for _, n := range dropped {
		next.Pending += n
	}
	drop := func(d *queued, why string) {
		if d.key == q.sending || gone[d.key] {
			return
		}
		gone[d.key], size = true, size-len(d.body)
		dropped[why] += d.events
		next.Pending += d.events
		writes = append(writes, records.Write{Table: messages + q.r.Name, Key: d.key})
	}
	for i := range q.list {
		if now.Sub(q.list[i].at) > q.r.MaxAge {
			drop(&q.list[i], "the receiver has not taken them for max_age")
		}
	}
	var fresh []queued // one or none
	if m.Total > 0 || next.Pending > 0 && len(q.list) == len(gone) {
		next.Number = max(next.Number+1, now.UnixMicro()) // no number comes again, not even where the store was lost
		one := q.seal(m, next, now)
		for i := 0; i < len(q.list) && size+len(one.body) > int(q.r.MaxSize); i++ {
			drop(&q.list[i], "the queue has reached max_size")
			one = q.seal(m, next, now) // it tells of more
		}
		next.Pending = 0
		writes = append(writes, records.Write{Table: messages + q.r.Name, Key: one.key, Value: one.body})
		fresh = []queued{one}
	}
	if err := q.store.Commit(ctx, append(writes, q.write(next))); err != nil {
		return err
	}
	q.mark, q.size = next, size
	q.list = slices.DeleteFunc(q.list, func(d queued) bool { return gone[d.key] })
	for _, m := range fresh {
		q.add(m)
	}
	for why, n := range dropped {
		q.drop(n, why)
	}
	return nil
}

// seal completes a message.
func (q *queue) seal(m Message, at mark, now time.Time) queued {
	m.Host, m.Receiver, m.At, m.Dropped = q.host, q.r.Name, now.UTC(), at.Pending
	m.ID = messageID(q.host, q.r.Name, at.Number)
	m.Text = m.text()
	if m.Events == nil {
		m.Events = []Event{}
	}
	body, _ := json.Marshal(m) // text and numbers alone
	return queued{fmt.Sprintf("%020d", at.Number), m.At, m.Total + m.Dropped, &m, body}
}

// messageID returns the ID of a message by its number.
func messageID(host, receiver string, number int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", host, receiver, number))
	return "msg_" + hex.EncodeToString(sum[:12])
}

func (q *queue) write(next mark) records.Write {
	data, _ := json.Marshal(next)
	return records.Write{Table: cursors, Key: q.r.Name, Value: data}
}

// drop counts dropped events, and tells of them.
func (q *queue) drop(n int, why string) {
	if n > 0 {
		q.counts.Dropped += n
		q.tell(n, why)
	}
}

// expire drops what is too old.
func (q *queue) expire(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 || q.now().Sub(q.list[0].at) <= q.r.MaxAge {
		return nil
	}
	return q.change(ctx, q.mark, Message{}, map[string]int{})
}

// head returns the oldest message, which is under way from now on until done or back is called.
func (q *queue) head() (m queued, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 {
		return m, false
	}
	q.sending = q.list[0].key
	return q.list[0], true
}

// back ends a try that has failed.
func (q *queue) back() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sending, q.counts.Failed = "", q.counts.Failed+1
}

// done removes the message that was under way: the receiver has taken it, or refuses it for ever. Where that can't be kept, the
// message comes once more after a restart.
func (q *queue) done(ctx context.Context, refused bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.list[0]
	if refused {
		q.mark.Pending += m.events
		q.drop(m.events, "the receiver refuses them")
	} else {
		q.counts.Sent++
	}
	q.list, q.size, q.sending = slices.Delete(q.list, 0, 1), q.size-len(m.body), ""
	return q.store.Commit(ctx, []records.Write{{Table: messages + q.r.Name, Key: m.key}, q.write(q.mark)})
}
