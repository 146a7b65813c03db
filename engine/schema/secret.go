package schema

import (
	"crypto/subtle"
	"fmt"
	"log/slog"
)

// Redacted is what a secret prints as, everywhere.
const Redacted = "(secret)"

// Secret is text that must not be shown. It prints, logs, marshals and compares
// in differences as Redacted; only Reveal gives the text. The zero Secret is the
// empty text. The text is kept behind a pointer, so that not even printing an
// unexported field of a struct shows it.
type Secret struct{ text *string }

// NewSecret returns s as a secret. The secret holds s itself, so the text stays in
// memory as long as the secret does.
func NewSecret(s string) Secret { return Secret{&s} }

// Reveal returns the text. The caller must not log, print, store readably or
// pass it in an argument list.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether the text is empty.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

// Equal compares two secrets in constant time. The time depends on the lengths alone.
func (s Secret) Equal(o Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(o.Reveal())) == 1
}

// String returns Redacted, or nothing for the empty secret.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return Redacted
}

// Format prints the secret redacted under every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// GoString returns Redacted.
func (s Secret) GoString() string { return s.String() }

// MarshalText writes Redacted; it serves JSON and YAML too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue logs Redacted.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
