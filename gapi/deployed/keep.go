package deployed

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"github.com/reactivegraph/mgmt/engine/deploy"
)

// kept is the file of the deploy in effect. It has all that a host needs to check it again. Its folder is the host's own, with
// mode 0700: a deploy may hold secrets.
type kept struct {
	Number  int64         `json:"number"`
	Record  deploy.Record `json:"record"`
	Content []byte        `json:"content"`
}

// file is where the deploy in effect is kept.
func (f *Frontend) file() string { return filepath.Join(f.o.Dir, url.PathEscape(f.o.Topic)+".json") }

// keep writes the deploy in effect, once for each deploy.
func (f *Frontend) keep(t *taken) error {
	if f.o.Dir == "" || t.kept {
		return nil
	}
	text, err := json.Marshal(kept{Number: t.manifest.Number, Record: t.record, Content: t.content})
	if err != nil {
		return err
	}
	if err := deploy.Replace(f.file(), text); err != nil {
		return err
	}
	t.kept = true
	return nil
}

// restore begins with the deploy that was in effect before the start. It is checked as one of the store is: the file could be
// damaged, and the key no longer trusted.
func (r *reader) restore() {
	if r.o.Dir == "" {
		return
	}
	text, err := os.ReadFile(r.file())
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var k kept
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	r.floor = k.Number
	t, err := r.restored(k, err)
	if err != nil {
		r.env.Log().Warn("the deploy that was in effect cannot be used", slog.String("file", r.file()), slog.Any("error", err))
		r.refused(k.Number, err)
		return
	}
	r.mu.Lock()
	r.inEffect, r.pending = t, t
	r.mu.Unlock()
}

// restored checks the content of a file. Its error has the class of a deploy of the store. The number stays a floor even
// where the check fails: an old deploy must not come back with the trust in a key.
func (r *reader) restored(k kept, err error) (*taken, error) {
	if err != nil {
		return nil, fmt.Errorf("%w: %w", deploy.ErrRecord, err)
	}
	m, err := k.Record.Verify(r.o.Trusted(), r.o.Topic, k.Number)
	if err == nil {
		err = deploy.CheckContent(m, k.Content)
	}
	if err != nil {
		return nil, err
	}
	t, err := r.load(m, k.Record, k.Content)
	if t != nil {
		t.kept = true
	}
	return t, err
}
