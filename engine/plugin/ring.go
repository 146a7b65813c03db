package plugin

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// ringLines and ringBytes bound the last lines of a provider that are kept.
const (
	ringLines = 20
	ringBytes = 4 << 10
)

// secretWords are parts of the names of settings whose values are secrets. A descriptor has no schema for its settings, and
// to hide all of them would make the last lines useless.
var secretWords = []string{"password", "passwd", "passphrase", "secret", "token", "credential", "key", "auth"}

// isSecretKey reports whether a setting of that name has a secret.
func isSecretKey(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

// secretSettings returns the parts of a setting whose names say that they are secret.
func secretSettings(v any) (out []any) {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			if isSecretKey(key) {
				out = append(out, e)
			} else {
				out = append(out, secretSettings(e)...)
			}
		}
	case []any:
		for _, e := range v {
			out = append(out, secretSettings(e)...)
		}
	}
	return out
}

// ring has the last lines that a provider has written. They have no secrets that mgmt has given to it.
type ring struct {
	log    func() *slog.Logger
	hidden *secrets.Texts

	mu   sync.Mutex
	last []string
}

// add takes one line of either output. The host calls it while the process runs, on a goroutine for each output. The line is
// cleaned before it is kept or logged, so no later reader has to know the secrets.
func (r *ring) add(line []byte) {
	text := r.hidden.Clean(strings.ToValidUTF8(string(line[:min(len(line), ringBytes)]), "?"))
	r.log().LogAttrs(context.Background(), slog.LevelDebug, "a provider has written a line", slog.String("line", text))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = append(r.last, text)
	if len(r.last) > ringLines {
		r.last = r.last[1:]
	}
}

// text returns the last lines as one text, cut from the front. The end of it is the most useful part: a program says there why it
// has ended.
func (r *ring) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := strings.Join(r.last, "\n")
	return strings.TrimSpace(text[max(0, len(text)-ringBytes):])
}
