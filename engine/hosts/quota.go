package hosts

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/world"
)

// The most that other hosts take over of the exports of one host to one topic.
const (
	MaxExports     = 10_000
	MaxExportBytes = 4 << 20 // of the keys and the records
)

// The most that the schedules of a topic may have, or the requests for one semaphore. Each host of the topic may write all of them, in the name of any host, so
// these bounds are for all hosts together. Beyond them none is chosen and no place is given: what counts must be the same for all hosts.
const (
	MaxShared      = 100_000
	MaxSharedBytes = 32 << 20 // of the keys and the records
)

// FullError tells that schedules or requests for a semaphore are more than hosts read.
type FullError struct{ Prefix string }

// Error implements error.
func (e *FullError) Error() string {
	return fmt.Sprintf("below %.200q are more than %d keys or %d MiB, so none of them counts: find who writes them, and delete them by a client of the store", e.Prefix, MaxShared, MaxSharedBytes>>20)
}

// roomAfter is how long a host that has exported too much waits until what has room by now counts. Without that wait it could have each reader list the
// topic all the time.
const roomAfter = time.Minute

// QuotaError tells that a host exports more to a topic than other hosts take over.
type QuotaError struct{ Host, Topic string }

// Error implements error.
func (e *QuotaError) Error() string {
	return fmt.Sprintf("the host %.80q exports more to the topic %.80q than other hosts take over, %d resources and %d MiB: the rest is left out; "+
		"have it export less, or take it out of the store by mgmt hosts remove", e.Host, e.Topic, MaxExports, MaxExportBytes>>20)
}

// quota keeps the exports of each host within the bounds, so that none of them fills the memory of a reader, nor has it read without an end. It is for
// one Follow of one topic. A nil quota has no bounds.
type quota struct {
	prefix string
	say    func(error)
	hosts  map[string]*used // by the part of the key
	told   map[string]bool  // the hosts that were told
	shared bool             // the bounds are those of all hosts together, behind which nothing counts
	room   bool             // something that counted has gone of a host that has too much
}

// used is what counts of a host.
type used struct {
	sizes map[string]int // by key
	bytes int
	over  bool // there is more
}

// newQuota returns the quota of a prefix, nil for one without bounds.
func newQuota(prefix string, say func(error)) *quota {
	q := &quota{prefix: prefix, say: say, told: map[string]bool{}}
	switch {
	case strings.HasPrefix(prefix, tableExports):
		return q
	case strings.HasPrefix(prefix, tableSchedules), strings.HasPrefix(prefix, tableSemaphores):
		q.shared = true
		return q
	}
	return nil
}

// full returns the error of a quota of all hosts together that is used up.
func (q *quota) full() error {
	if q == nil || !q.shared || !q.over(q.prefix) {
		return nil
	}
	return &FullError{q.prefix}
}

// begin forgets all keys: a list comes.
func (q *quota) begin() {
	if q != nil {
		q.hosts, q.room = map[string]*used{}, false
	}
}

// listed notes that the list is complete. A host that exports too much again is told again.
func (q *quota) listed() {
	if q == nil {
		return
	}
	for host := range q.told {
		if u := q.hosts[host]; u == nil || !u.over {
			delete(q.told, host)
		}
	}
}

// host returns the part of a key that is about the host.
func (q *quota) host(key string) string {
	if q.shared {
		return ""
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(key, q.prefix), "/")
	return host
}

// over reports whether the host of a key exports more than counts.
func (q *quota) over(key string) bool {
	u := q.hosts[q.host(key)]
	return u != nil && u.over
}

// behind returns the key after which a list goes on that reads no more of the host of a key.
func (q *quota) behind(key string) string { return q.prefix + q.host(key) + string(rune('/'+1)) }

// put reports whether a key counts.
func (q *quota) put(kv world.KV) bool {
	if q == nil {
		return true
	}
	host := q.host(kv.Key)
	u := q.hosts[host]
	if u == nil {
		u = &used{sizes: map[string]int{}}
		q.hosts[host] = u
	}
	_, known := u.sizes[kv.Key]
	keys, bytes := MaxExports, MaxExportBytes
	if q.shared {
		keys, bytes = MaxShared, MaxSharedBytes
	}
	if u.put(kv.Key, kv.Value, keys, bytes) {
		return true
	}
	if q.shared {
		return false
	}
	q.room = q.room || known
	if !q.told[host] {
		q.told[host] = true
		if q.say != nil {
			topic, _, _ := strings.Cut(strings.TrimPrefix(q.prefix, tableExports), "/")
			q.say(&QuotaError{Host: unescaped(host), Topic: unescaped(topic)})
		}
	}
	return false
}

// put reports whether a key counts. One that has grown too large does not any more, and of a host with too much no new one does: so what counts follows
// from the list, and not from the order of the changes.
func (u *used) put(key string, value []byte, most, mostBytes int) bool {
	was, known := u.sizes[key]
	size := len(key) + len(value)
	if (known || !u.over && len(u.sizes) < most) && u.bytes-was+size <= mostBytes {
		u.sizes[key], u.bytes = size, u.bytes-was+size
		return true
	}
	delete(u.sizes, key)
	u.bytes, u.over = u.bytes-was, true
	return false
}

// take returns a change as it counts: a key that has grown beyond the bounds is gone.
func (q *quota) take(u world.Update) world.Update {
	switch {
	case q == nil:
	case !u.Deleted:
		if !q.put(u.KV) {
			return world.Update{KV: world.KV{Key: u.Key, Revision: u.Revision}, Deleted: true}
		}
	case q.hosts[q.host(u.Key)] != nil:
		of := q.hosts[q.host(u.Key)]
		if size, known := of.sizes[u.Key]; known {
			delete(of.sizes, u.Key)
			of.bytes -= size
			q.room = q.room || of.over
		}
	}
	return u
}

// unescaped returns what a part of a key stands for: itself where it is none of ours.
func unescaped(part string) string {
	if plain, err := url.PathUnescape(part); err == nil {
		return plain
	}
	return part
}
