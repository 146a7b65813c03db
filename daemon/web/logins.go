package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/records"
)

// login is one person in one browser.
type login struct {
	Who     string    `json:"who"`
	Steer   bool      `json:"steer,omitempty"`
	Outside bool      `json:"outside,omitempty"` // a certificate or a proxy names the person
	Ends    time.Time `json:"ends"`
	Token   string    `json:"token"` // its digest

	key  string // the digest of the cookie
	life context.Context
	cut  context.CancelFunc // ends life
}

// table has the logins by their keys.
const table = "page"

// logins are the links that were not used yet, and the logins that have begun.
type logins struct {
	life  context.Context // of the server
	clock clock.Clock
	store records.Store // nil for none

	mu     sync.Mutex
	links  map[string]login // by the digest of the token
	begun  map[string]*login
	writes sync.Mutex // so that the store has them in the order of memory
}

// digest is what is kept of a random text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// random returns a text that nobody guesses.
func random() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// load takes over the logins of an earlier process.
func (l *logins) load(ctx context.Context) error {
	l.life = ctx
	l.links, l.begun = map[string]login{}, map[string]*login{}
	if l.store == nil {
		return nil
	}
	for rec, err := range l.store.Records(ctx, table) {
		if err != nil {
			return err
		}
		in := &login{key: rec.Key}
		if json.Unmarshal(rec.Value, in) == nil {
			in.life, in.cut = context.WithCancel(l.life)
			l.begun[rec.Key] = in
		}
	}
	return nil
}

// link makes the token of a link.
func (l *logins) link(who string, steer bool) (token string, until time.Time) {
	token, until = random(), l.clock.Now().Add(LinkLife)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.links) >= maxLinks {
		delete(l.links, oldest(l.links, func(in login) time.Time { return in.Ends }))
	}
	l.links[digest(token)] = login{Who: who, Steer: steer, Ends: until}
	return token, until
}

// oldest returns the key of what ends first.
func oldest[T any](m map[string]T, ends func(T) time.Time) string {
	return slices.MinFunc(slices.Collect(maps.Keys(m)), func(a, b string) int { return ends(m[a]).Compare(ends(m[b])) })
}

// open uses a link.
func (l *logins) open(token string) (login, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := digest(token)
	in, ok := l.links[key]
	delete(l.links, key)
	return in, ok && l.clock.Now().Before(in.Ends)
}

// begin gives a login its cookie, its token and its end.
func (l *logins) begin(ctx context.Context, in *login) (cookie, token string, err error) {
	cookie, token = random(), random()
	in.key, in.Token, in.Ends = digest(cookie), digest(token), l.clock.Now().Add(Life)
	in.life, in.cut = context.WithCancel(l.life)
	value, err := json.Marshal(in)
	if err != nil {
		return "", "", err
	}
	writes := []records.Write{{Table: table, Key: in.key, Value: value}}
	l.writes.Lock()
	defer l.writes.Unlock()
	l.mu.Lock()
	for _, key := range slices.Sorted(maps.Keys(l.begun)) {
		if !l.clock.Now().Before(l.begun[key].Ends) {
			writes = append(writes, l.drop(key))
		}
	}
	if len(l.begun) >= maxLogins {
		writes = append(writes, l.drop(oldest(l.begun, func(in *login) time.Time { return in.Ends })))
	}
	l.begun[in.key] = in
	l.mu.Unlock()
	return cookie, token, l.commit(ctx, writes)
}

// drop ends a login, with mu held.
func (l *logins) drop(key string) records.Write {
	l.begun[key].cut()
	delete(l.begun, key)
	return records.Write{Table: table, Key: key}
}

// end ends a login.
func (l *logins) end(ctx context.Context, in *login) error {
	l.writes.Lock()
	defer l.writes.Unlock()
	l.mu.Lock()
	if l.begun[in.key] == nil {
		l.mu.Unlock()
		return nil
	}
	write := l.drop(in.key)
	l.mu.Unlock()
	return l.commit(ctx, []records.Write{write})
}

func (l *logins) commit(ctx context.Context, writes []records.Write) error {
	if l.store == nil {
		return nil
	}
	return l.store.Commit(ctx, writes)
}

// find returns the login of a cookie and its token, nil for none.
func (l *logins) find(cookie, token string) *login {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.begun[digest(cookie)]
	if in == nil || !l.clock.Now().Before(in.Ends) || subtle.ConstantTimeCompare([]byte(in.Token), []byte(digest(token))) != 1 {
		return nil
	}
	return in
}
