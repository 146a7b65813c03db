package reactor

import (
	"context"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/reversal"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// Images keeps the state of the machine before each change, for an undo. Calls come from runs, several at once, right before the change.
// Keep handles its own errors: they never hold up a change. Head and body are what package reversal writes; a why in their place says why there is none.
type Images interface {
	Keep(resource string, head, body []byte, secret bool, why string)
}

// pictures reports whether the state before each change of v is kept. A kind that has ReadsInChange is read when it tells
// of its first change, before which it alters nothing: that costs one Read, and no check.
func (x *runner) pictures(v *vertex) bool {
	if x.opt.Images == nil || !v.abil.Reversible || !v.abil.Readable {
		return false
	}
	_, v.run.job.readable = engine.As[declaration.ReadsInChange](v.Res)
	return !v.run.job.readable
}

// picture keeps the state before a change of v, once in a run. A state that can't be kept does not hold up the change.
func (v *vertex) picture(ctx context.Context) {
	images, j := v.core.opt.Images, v.run.job
	if images == nil || j.pictured || !v.abil.Reversible || !v.abil.Readable {
		return
	}
	j.pictured = true
	head, body, secret, err := v.image(ctx)
	why := ""
	if err != nil {
		why = v.Text(err.Error())
	}
	images.Keep(v.ID, head, body, secret, why)
}

func (v *vertex) image(ctx context.Context) (head, body []byte, secret bool, err error) {
	was, err := lifecycle.Read(ctx, v.Res)
	if err != nil {
		return nil, nil, false, err
	}
	img, err := reversal.Take(v.Res, was, v.secretFields())
	if err != nil {
		return nil, nil, false, err
	}
	for _, side := range []map[string]any{img.Declared, img.Was} {
		for key, x := range side {
			// The values of a change may come later than the first one, so what is a secret is seen by its text.
			if !slices.Contains(img.Secret, key) && v.tells(x) {
				img.Secret = append(img.Secret, key)
			}
		}
	}
	slices.Sort(img.Secret)
	writes, err := (&reversal.Reversal{Kind: v.Res.Kind(), Name: v.Res.Name()}).Writes(img)
	if err != nil {
		return nil, nil, false, err
	}
	// Of a kind that is not read in the change, nobody knows who may read what it has.
	secret = !v.run.job.readable || len(img.Secret) > 0 || secrets.Holds(img.Was) || secrets.Holds(img.Declared) || v.confined(img)
	return writes[0].Value, writes[1].Value, secret, nil
}

// tells reports whether a plain value has a text with a secret of the graph in it.
func (v *vertex) tells(x any) bool {
	switch x := x.(type) {
	case string:
		return v.Text(x) != x
	case []any:
		return slices.ContainsFunc(x, v.tells)
	case map[string]any:
		for _, item := range x {
			if v.tells(item) {
				return true
			}
		}
	}
	return false
}

// confined reports whether an image has what only some users of the machine may read.
func (v *vertex) confined(img *reversal.Image) bool {
	for _, side := range []map[string]any{img.Declared, img.Was} {
		if mode, ok := side["mode"].(schema.Mode); ok {
			if m, err := mode.Apply(0, false); err == nil && m&0o004 == 0 {
				return true
			}
		}
	}
	v.run.mu.Lock()
	defer v.run.mu.Unlock()
	return slices.ContainsFunc(v.run.said.changes, func(c engine.Change) bool {
		_, from := c.From.(schema.Confined)
		_, to := c.To.(schema.Confined)
		return from || to
	})
}
