package lifecycle

import (
	"cmp"
	"reflect"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
	"github.com/reactivegraph/mgmt/internal/unix"
)

const (
	// maxOwn bounds the secrets that are kept out of the texts of one Life.
	maxOwn = 256
	// maxCommon bounds the secrets that are kept out of the texts of all of them.
	maxCommon = 1 << 15
	// minCommon is the length from which a secret is kept out of the texts of other Lives. Shorter
	// secrets are found in too many texts that have nothing to do with them.
	minCommon = 6
)

// hidden has the secrets that no Life of an Env may tell.
type hidden struct {
	texts secrets.Texts
	key   []byte // of the digests that are shown
}

func (h *hidden) init() {
	h.texts.Least, h.texts.Most = minCommon, maxCommon
	h.key = make([]byte, 32) // random: digests of short texts could be found by trying otherwise
	unix.RandomRead(h.key)
}

// Shown returns the digest of a confined text, and any other value as it is.
func (e *Env) Shown(x any) any {
	if c, ok := x.(schema.Confined); ok {
		return c.Digest(e.hidden.key)
	}
	return x
}

// Hide keeps the secrets in a plain value out of the texts of the resource, and out of the texts of
// others: a command of another resource may print a file that this one has written. With all,
// each text in the value is a secret.
func (l *Life) Hide(x any, all bool) {
	secrets.Each(x, all, l.hide)
}

// hide has a secret of the Life hidden. The search for all of them has its forms: those of a certificate are many.
func (l *Life) hide(secret string) {
	if l.own.Load() == nil {
		l.own.CompareAndSwap(nil, &secrets.Texts{Most: maxOwn, Also: &l.env.hidden.texts})
	}
	l.own.Load().Add(secret)
}

// HideDeclared hides the secrets in the parameters of the resource.
func (l *Life) HideDeclared() {
	x, err := schema.Encode(l.Res)
	if err != nil {
		return // its value does not fit its type; Init tells
	}
	l.Hide(x, false)
}

// HideLike takes over the hidden secrets of the predecessor of the resource.
func (l *Life) HideLike(old *Life) {
	g := old.own.Load()
	if g == nil || l.own.CompareAndSwap(nil, g) {
		return
	}
	if own := l.own.Load(); own != g {
		own.AddAll(g)
	}
}

// MayHoldSecret reports whether a value of a type may have a secret in it.
func MayHoldSecret(t *schema.Type) bool {
	return t.Some(func(t *schema.Type) bool { return t.Secret || t.Kind == schema.KindAny })
}

// Clear reports whether there is no secret that the resource could say.
func (l *Life) Clear() bool { return l.own.Load() == nil && l.env.hidden.texts.Len() == 0 }

// texts returns what the Life must not say.
func (l *Life) texts() *secrets.Texts { return cmp.Or(l.own.Load(), &l.env.hidden.texts) }

// Text returns a text without secrets.
func (l *Life) Text(s string) string { return l.texts().Clean(s) }

// Error returns an error without secrets: the same one where it had none. Else only its text is
// left of it.
func (l *Life) Error(err error) error { return l.texts().Error(err) }

// Changes returns changes without secrets. The function tainted, which may be nil, names the
// fields whose values are secret as a whole.
func (l *Life) Changes(cs []engine.Change, tainted func(field string) bool) []engine.Change {
	if len(cs) == 0 || l.Clear() && tainted == nil {
		return cs
	}
	out := make([]engine.Change, len(cs))
	for i, c := range cs {
		if tainted != nil && tainted(c.Field) {
			c.From, c.To = conceal(c.From), conceal(c.To)
		}
		c.From, c.To = l.value(c.From), l.value(c.To)
		out[i] = c
	}
	return out
}

// conceal leaves nothing of a value but whether there is one.
func conceal(x any) any {
	if x == nil || x == any(engine.Unknown) {
		return x
	}
	return schema.NewSecret(schema.Redacted)
}

func (l *Life) value(x any) any { return l.texts().Value(x) }

// Holds reports whether there is a secret in a value, or a text that the resource must not say.
func (l *Life) Holds(x any) bool { return secrets.Holds(x) || !reflect.DeepEqual(l.value(x), x) }
