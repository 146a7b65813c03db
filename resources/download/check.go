package download

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/confined"
	"github.com/reactivegraph/mgmt/resources/internal/digest"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/private"
)

// seen is the checksum of a file that was looked at, as long as it is that file.
// It lives as long as the resource, and belongs to CheckApply alone.
type seen struct {
	stat atomicfile.Stat
	sum  string
}

// record is what is remembered of a content that came without a checksum.
type record struct {
	// From is a digest, since an address may have a secret in it, and the record is a file.
	From string `json:"from"` // digest of the address
	Sum  string `json:"sum"`
	// ETag and LastModified are the words of the server, and go back to it as they are. Of a local
	// file, ETag has the numbers of a look.
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`
}

// recordFile is the name below the VarDir of the resource.
const recordFile = "download"

// asks reports whether the server can be asked if it still has the same content.
func (d *record) asks() bool { return d != nil && d.ETag+d.LastModified != "" }

// addressSum returns the digest that a record keeps of an address.
func addressSum(url string) string {
	return digest.OfText(url)
}

// record returns the record of the content with this checksum from the address; nil for none.
func (r *Res) record(sum string) (*record, error) {
	data, err := private.Read(r.init, recordFile)
	if err != nil || data == nil {
		return nil, err
	}
	var rec record
	if json.Unmarshal(data, &rec) != nil || rec.From != addressSum(r.URL) || rec.Sum != sum {
		return nil, nil // damaged, or of something else: as if there were none
	}
	return &rec, nil
}

// running is one CheckApply.
type running struct {
	*file.Making
	// r is the resource; ctx ends with its timeout too.
	r     *Res
	ctx   context.Context
	apply bool
	stat  *atomicfile.Stat // of the file; nil if there is none
	sum   string           // of the file
}

// CheckApply compares the file with the wanted one, and fetches it.
func (r *Res) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	ctx, cancel := r.within(ctx)
	defer cancel()
	c, err := r.made().Open(ctx, r.init, apply)
	if err != nil {
		return false, err
	}
	defer c.Close()
	d := &running{Making: c, r: r, ctx: ctx, apply: apply}
	if err := d.look(); err != nil {
		return false, err
	}
	if err := d.run(); err != nil {
		return false, ended(ctx, err)
	}
	// Its receivers get nothing: they wait for the real value.
	if d.Changed() && !apply && r.Checksum == "" {
		return false, nil // the sum to come is not known
	}
	// With a checksum, a plan knows what its receivers would get.
	// The sum of a plan stands in small letters, as the server's content will have it.
	sum := d.sum
	if d.Changed() && !apply {
		sum = strings.ToLower(r.Checksum)
	}
	return !d.Changed(), r.init.Send(&Sends{Path: r.made().Path, Checksum: sum})
}

// within bounds the time that all of it may take.
func (r *Res) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.Timeout == 0 {
		return context.WithCancel(ctx)
	}
	return clock.WithTimeout(ctx, engine.ClockOf(r.init.Host), r.Timeout, fmt.Errorf("it took longer than %s, the timeout", r.Timeout))
}

// ended is err, or the reason why the context has ended.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}

// look looks at the present file. An unchanged file is not read again.
func (d *running) look() error {
	st, err := d.Stat()
	if files.IsMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	d.stat = &st
	sum, err := digest.New(d.r.Checksum)
	if err != nil {
		return err
	}
	// The look has the times of the file, so an equal one means an equal content. Another
	// algorithm needs another sum.
	if d.r.seen.stat == st && strings.HasPrefix(d.r.seen.sum, sum.Name+":") {
		d.sum = d.r.seen.sum
		return nil
	}
	f, now, err := d.File()
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := digest.Copy(d.ctx, sum, f); err != nil {
		return err
	}
	d.stat, d.sum, *d.r.seen = &now, sum.String(), seen{}
	// A file that was written in this very tick of the clock could change again without another
	// time. It is read again the next time.
	if d.Settled(now) {
		*d.r.seen = seen{now, d.sum}
	}
	return nil
}

// run makes the content right, or else only owner and mode.
func (d *running) run() error {
	change, answer, err := d.differs()
	if answer != nil {
		defer answer.body.Close()
	}
	if err != nil {
		return err
	}
	if change == nil {
		return d.Keep(*d.stat)
	}
	// The fetch of a plan ends with the head of the answer: the body is closed unread.
	if answer == nil { // also on a mere look: a content that the server lacks can't come
		if answer, err = d.r.fetch(d.ctx, nil); err != nil {
			return err
		}
		defer answer.body.Close()
	}
	if err := d.report(*change); err != nil {
		return err
	}
	if !d.apply {
		return d.Possible()
	}
	return d.take(answer)
}

// differs says how the content is not as it should be, nil if it is. It asks the server
// if that takes it; then the answer holds the content.
func (d *running) differs() (*engine.Change, *answer, error) {
	r := d.r
	change := &engine.Change{Field: "checksum", To: engine.Unknown}
	if d.stat != nil {
		change.From = d.sum
	}
	if r.Checksum != "" {
		change.To = strings.ToLower(r.Checksum)
		if change.From == change.To {
			return nil, nil, nil
		}
		return change, nil, nil
	}
	rec, err := r.record(d.sum)
	switch {
	case err != nil:
		return nil, nil, err
	// A file without a record did not come from this address, or was altered since then.
	case d.stat == nil || rec == nil:
		return change, nil, nil
	case r.init.Refresh():
		return &engine.Change{Verb: engine.Refreshed}, nil, nil
	// The server has given no word to ask with, so a repeated fetch would be the only way.
	case !rec.asks():
		return nil, nil, nil
	}
	a, err := r.fetch(d.ctx, rec)
	if err != nil || a == nil { // nil: the server has the same one
		return nil, nil, err
	}
	return change, a, nil
}

// report reports the change.
// The sum of a file that only its owner can read could confirm a guess of its content. It is shown
// to no one else.
func (d *running) report(change engine.Change) error {
	if d.stat != nil && d.sum != "" && change.From == any(d.sum) && confined.Shuts(d.stat.Perm()) {
		change.From = schema.NewConfinedSum(d.sum, d.stat.Size)
	}
	return d.Report(change, d.stat)
}

// take fetches the content into the folder of the resource, and puts it into its place
// if it is right.
func (d *running) take(a *answer) error {
	r := d.r
	dir, err := r.init.VarDir("")
	if err != nil {
		return err
	}
	// The folder is private, so no other user can put a link there, or read a content before it
	// has its mode.
	staged := filepath.Join(dir, "content")
	if err := os.RemoveAll(staged); err != nil { // left by a killed process
		return err
	}
	defer func() { _ = os.RemoveAll(staged) }()
	sum, size, err := r.stage(d.ctx, staged, a)
	if err != nil {
		return err
	}
	// Take renames the file where both are on one disk, and copies it into the folder of the old one else.
	if err := d.Take(dir, "content", size); err != nil {
		return err
	}
	d.sum, *r.seen = sum, seen{} // what is there by now is read the next time
	if r.Checksum != "" {
		return nil
	}
	data, err := json.Marshal(record{From: addressSum(r.URL), Sum: sum, ETag: a.etag, LastModified: a.modified})
	if err != nil {
		return err
	}
	return private.Write(r.init, recordFile, data, false)
}

// stage writes the server's answer into a new file, and compares its checksum.
func (r *Res) stage(ctx context.Context, at string, a *answer) (sum string, size int64, err error) {
	d, err := digest.New(r.Checksum)
	if err != nil {
		return "", 0, err
	}
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, private.Mode)
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in := io.Reader(a.body)
	if r.MaxSize > 0 {
		// One byte more than allowed tells that there is more.
		in = io.LimitReader(in, int64(r.MaxSize)+1)
	}
	size, err = digest.Copy(ctx, io.MultiWriter(f, d), in)
	sum = d.String()
	switch {
	case err != nil:
		return "", size, fmt.Errorf("after %d bytes: %w", size, err)
	case r.MaxSize > 0 && size > int64(r.MaxSize):
		return "", size, r.tooLarge()
	// The wrong content never stands where a program could use it.
	case d.Want != "" && sum != d.Want:
		return "", size, fmt.Errorf("what came has the checksum %s and not %s; the file is left as it was", sum, d.Want)
	}
	return sum, size, nil
}

// tooLarge is the error of a content that the server announces, or sends, in a larger size.
func (r *Res) tooLarge() error {
	return fmt.Errorf("the content has more than %s, which is max_size", r.MaxSize)
}
