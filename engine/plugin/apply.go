package plugin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// CheckApply asks how the thing is, and makes it right. Where the provider ends meanwhile, it begins anew with the next
// process: the record has the work that was begun.
func (r *res) CheckApply(ctx context.Context, apply bool) (bool, error) {
	return r.checkApply(ctx, apply, nil)
}

// checkApply is CheckApply, whose questions go together with those of other members where there is a batch.
func (r *res) checkApply(ctx context.Context, apply bool, batch *gatherer) (bool, error) {
	if err := r.remember(); err != nil {
		return false, err
	}
	told := map[string]bool{}
	for {
		w := &work{res: r, ctx: ctx, apply: apply, batch: batch, rec: r.known(), told: told}
		err := w.do()
		if isGone(err) && ctx.Err() == nil {
			continue
		}
		return err == nil && len(told) == 0, err
	}
}

// remember reads the record, once.
func (r *res) remember() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rec != nil {
		return nil
	}
	dir, err := r.init.VarDir("")
	if err != nil {
		return err
	}
	r.dir = dir
	r.rec, err = loadRecord(dir)
	return err
}

// work is one try of a CheckApply.
type work struct {
	*res
	ctx   context.Context
	apply bool
	batch *gatherer // nil for a run alone
	rec   record
	told  map[string]bool // the changes that were reported, also by earlier tries

	in   protocol.Bag // the wanted inputs
	want map[string]any
	is   protocol.GetReply
}

// keep puts the record on the disk. The resource goes by the new record only then: after a failure the next run reads the
// same as the next process would. What has happened already is kept whatever becomes of the run.
func (w *work) keep() error { return w.keepWithin(context.WithoutCancel(w.ctx)) }

// keepWithin is keep of what has not happened yet.
func (w *work) keepWithin(ctx context.Context) error {
	rec := w.rec
	err := w.ses.records.save(ctx, w.dir, &rec)
	if errors.Is(err, fs.ErrNotExist) { // somebody has removed the folder
		if _, err = w.init.VarDir(""); err == nil {
			err = w.ses.records.save(ctx, w.dir, &rec)
		}
	}
	if err != nil {
		return fmt.Errorf("the record of the resource cannot be written, so nothing is done: %w", err)
	}
	w.mu.Lock()
	moved := w.res.rec.ID != rec.ID
	w.res.rec = &rec
	w.mu.Unlock()
	if moved {
		select {
		case w.moved <- struct{}{}:
		default:
		}
	}
	return nil
}

// change reports a difference once.
func (w *work) change(c engine.Change) {
	key := string(c.Verb) + " " + c.Field
	if !w.told[key] {
		w.told[key] = true
		w.init.Change(c)
	}
}

// do is the work.
func (w *work) do() (err error) {
	if w.want, err = w.given(); err != nil {
		return err
	}
	w.in = w.reveal(w.want)
	wanted := w.wanted()
	if wanted {
		if err := w.check(); err != nil {
			return err
		}
	}
	if err := w.look(); err != nil {
		return err
	}
	switch {
	case !wanted && !w.is.Found && w.rec.Old == nil:
		return w.forget()
	case !wanted:
		return w.remove()
	case !w.is.Found:
		return w.create()
	}
	return w.amend()
}

// check has the provider find faults in the inputs, and fill in its defaults.
func (w *work) check() error {
	var reply protocol.CheckReply
	err := w.call(protocol.MethodCheck, &protocol.CheckRequest{Subject: w.subject(w.rec), Properties: w.in}, &reply)
	if err != nil {
		return err
	}
	if len(reply.Failures) > 0 {
		parts := make([]string, len(reply.Failures))
		for i, f := range reply.Failures {
			parts[i] = f.String()
		}
		return fmt.Errorf("the provider %s refuses it: %s", w.kind.plugin.Name, strings.Join(parts, "; "))
	}
	for key, v := range reply.Properties {
		f := w.kind.params.Field(key)
		if f == nil || f.Role == schema.RoleReadOnly {
			continue
		}
		plain, err := w.plain(f, v)
		if err != nil {
			return err
		}
		w.in[key], w.want[key] = v, plain
	}
	return nil
}

// plain returns a value of the provider in the form of the engine.
func (w *work) plain(f *schema.Field, v any) (any, error) {
	n, err := schema.NodeOf(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Key, err)
	}
	out, ds := schema.Value(f.Type, n)
	if err := ds.Err(); err != nil {
		return nil, fmt.Errorf("the provider %s has returned a wrong %s: %w", w.kind.plugin.Name, f.Key, err)
	}
	return out, nil
}

// look asks how the thing is. It finds the thing of an interrupted create, and ends an interrupted replacement.
func (w *work) look() error {
	if err := w.get(); err != nil {
		return err
	}
	old := w.rec.Old
	if old == nil || !w.apply {
		return nil
	}
	if w.is.Found && w.is.ID == old.ID { // the new one is not there
		w.is = protocol.GetReply{}
		return nil
	}
	if w.is.Found {
		return w.adoptThen(w.dropOld)
	}
	return nil
}

func (w *work) get() error {
	w.is = protocol.GetReply{}
	err := w.call(protocol.MethodGet, &protocol.GetRequest{Subject: w.subject(w.rec), Properties: w.in}, &w.is)
	if err != nil {
		return err
	}
	w.learn(w.is.Properties)
	return w.kind.fill(w.kind.unsent(), w.kind.sends, w.is.Properties)
}

// adoptThen notes the id of the thing that was found, and goes on.
func (w *work) adoptThen(next func() error) error {
	if err := w.adopt(w.is.ID, w.is.Private); err != nil {
		return err
	}
	return next()
}

// adopt notes which thing is ours.
func (w *work) adopt(id, private string) error {
	if !w.apply || !w.rec.Creating && w.rec.ID == id && w.rec.Private == private {
		return nil
	}
	w.rec.ID, w.rec.Private, w.rec.Creating = id, private, false
	return w.keep()
}

// The provider may need the properties of a thing to delete it, so a Get comes first. It finds none where an earlier try has
// deleted the thing, and was cut off before the record said so.
//
// dropOld deletes the thing that was replaced, if there is one.
func (w *work) dropOld() error {
	old := w.rec.Old
	if old == nil {
		return nil
	}
	s := w.subject(record{ID: old.ID, Key: old.Key, Private: old.Private})
	var is protocol.GetReply
	if err := w.call(protocol.MethodGet, &protocol.GetRequest{Subject: s, Properties: w.in}, &is); err != nil {
		return err
	}
	if is.Found {
		err := w.call(protocol.MethodDelete, &protocol.DeleteRequest{Subject: s, Properties: is.Properties}, nil)
		if err != nil {
			return err
		}
	}
	w.rec.Old = nil
	return w.keep()
}

// forget notes that there is no thing.
func (w *work) forget() error {
	if !w.apply {
		return nil
	}
	if err := w.dropOld(); err != nil {
		return err
	}
	if w.rec.ID == "" && !w.rec.Creating {
		return nil
	}
	w.rec = record{Version: recordVersion}
	return w.keep()
}

// remove deletes the thing, and its predecessor too where a replacement was cut off.
func (w *work) remove() error {
	w.change(engine.Change{Verb: engine.Deleted})
	if !w.apply {
		return nil
	}
	if w.is.Found {
		if err := w.delete(); err != nil {
			return err
		}
	}
	return w.forget()
}

// delete asks for the end of the thing that was found.
func (w *work) delete() error {
	w.rec.ID, w.rec.Private = w.is.ID, w.is.Private
	return w.call(protocol.MethodDelete, &protocol.DeleteRequest{Subject: w.subject(w.rec), Properties: w.is.Properties}, nil)
}

// create makes the thing.
func (w *work) create() error {
	w.change(engine.Change{Verb: engine.Created})
	w.tellMade()
	if !w.apply {
		return nil
	}
	return w.make()
}

// tellMade reports each value that the thing is made with.
func (w *work) tellMade() {
	for _, f := range w.kind.params.Fields {
		v, given := w.want[f.Key]
		if given && (f.Role == schema.RoleState || f.Role == schema.RoleInit) {
			w.change(engine.Change{Field: f.Key, To: v})
		}
	}
}

// make asks for a new thing. The intent is on the disk before. Where an intent is there already, an earlier try was cut off, and a
// Get with its key has found nothing. The same key goes out again, so a provider that was about to make the thing makes one.
// The thing that it replaces goes at the end, also where an earlier run has begun the replacement.
func (w *work) make() error {
	if !w.rec.Creating {
		w.rec.ID, w.rec.Private, w.rec.Key, w.rec.Creating = "", "", rand.Text(), true
		if err := w.keepWithin(w.ctx); err != nil {
			return err
		}
	}
	var made protocol.CreateReply
	err := w.call(protocol.MethodCreate, &protocol.CreateRequest{Subject: w.subject(w.rec), Properties: w.in}, &made)
	if err := w.partly(err); err != nil {
		return err
	}
	w.written()
	w.rec.ID, w.rec.Private, w.rec.Creating = made.ID, made.Private, false
	if err := w.keep(); err != nil {
		return err
	}
	if err := w.finish(made.ID, made.Properties); err != nil {
		return err
	}
	return w.dropOld()
}

// A key stands for one try with one set of properties. After a definite refusal the next try may have other ones, so it gets
// a key of its own. A thing that was to be replaced is the thing of the resource again.
//
// partly notes a thing that was made in spite of an error, and the end of a try that was refused.
func (w *work) partly(err error) error {
	e, ok := errors.AsType[*protocol.Error](err)
	if ok && e.ID != "" {
		return errors.Join(err, w.adopt(e.ID, e.Private))
	}
	if ok && (e.Code == protocol.CodeInvalid || e.Code == protocol.CodeDenied) {
		w.rec.Key, w.rec.Creating = "", false
		if old := w.rec.Old; old != nil {
			w.rec.ID, w.rec.Key, w.rec.Private, w.rec.Old = old.ID, old.Key, old.Private, nil
		}
		return errors.Join(err, w.keep())
	}
	return err
}

// finish sends the properties of a thing after a change.
func (w *work) finish(id string, props protocol.Bag) error {
	if props == nil {
		if err := w.get(); err != nil {
			return err
		}
		props = w.is.Properties
	}
	return w.send(id, props)
}

// amend brings a thing that is there to the wanted values.
func (w *work) amend() error {
	if err := w.adopt(w.is.ID, w.is.Private); err != nil {
		return err
	}
	changed, err := w.differences()
	if err != nil {
		return err
	}
	replaces, changed, err := w.meaning(changed)
	if err != nil {
		return err
	}
	refresh := len(replaces) == 0 && w.kind.Refresh && w.init.Refresh() // a new thing needs none
	if len(changed) == 0 && !refresh {
		return w.send(w.is.ID, w.is.Properties)
	}
	w.tell(changed, replaces, refresh)
	switch {
	case !w.apply:
		return nil
	case len(replaces) > 0:
		return w.replace()
	}
	return w.update(refresh)
}

// differences returns the keys whose values differ from the wanted ones, in the order of the schema.
func (w *work) differences() (keys []string, err error) {
	for _, f := range w.kind.params.Fields {
		v, given := w.want[f.Key]
		switch {
		case !given || f.Role == schema.RoleIdentity || f.Role == schema.RoleParam:
		case f.Role == schema.RoleWriteOnly:
			if old, known := w.rec.Written[f.Key]; !known || old != w.rec.digest(reveal(v)) {
				keys = append(keys, f.Key)
			}
		default:
			is, err := w.plain(f, w.is.Properties[f.Key])
			if err != nil {
				return nil, err
			}
			if !covers(f.Type, v, is) {
				keys = append(keys, f.Key)
			}
		}
	}
	return keys, nil
}

// covers reports whether a value is as it is wanted. Of a struct only the wanted fields are compared: the others are the
// provider's.
func covers(t *schema.Type, want, is any) bool {
	switch w := want.(type) {
	case map[string]any:
		i, ok := is.(map[string]any)
		if !ok || t.Kind != schema.KindStruct {
			return schema.Equal(want, is)
		}
		for key, v := range w {
			if v != nil && !covers(t.Field(key).Type, v, i[key]) {
				return false
			}
		}
		return true
	case []any:
		i, ok := is.([]any)
		if !ok || t.Kind != schema.KindList || len(i) != len(w) {
			return schema.Equal(want, is)
		}
		for n := range w {
			if !covers(t.Elem, w[n], i[n]) {
				return false
			}
		}
		return true
	}
	return schema.Equal(want, is)
}

// A value that cannot be read back may be the right one already, if the record has no digest of it. So it is written, but
// it never destroys a thing.
//
// meaning asks the provider for the meaning of differences. It returns the keys that need a replacement, and all that count.
func (w *work) meaning(changed []string) (replaces, left []string, err error) {
	if len(changed) == 0 {
		return nil, nil, nil
	}
	var d protocol.DiffReply
	err = w.call(protocol.MethodDiff, &protocol.DiffRequest{
		Subject: w.subject(w.rec), Old: w.is.Properties, New: w.in, Changed: changed,
	}, &d)
	if err != nil {
		return nil, nil, err
	}
	for _, key := range changed {
		if slices.Contains(d.Ignore, key) {
			continue
		}
		left = append(left, key)
		f := w.kind.params.Field(key)
		if _, known := w.rec.Written[key]; f.Role == schema.RoleWriteOnly && !known {
			continue
		}
		if f.Replaces || f.Role == schema.RoleInit || slices.Contains(d.Replaces, key) {
			replaces = append(replaces, key)
		}
	}
	return replaces, left, nil
}

// tell reports differences.
func (w *work) tell(changed, replaces []string, refresh bool) {
	if refresh {
		w.change(engine.Change{Verb: engine.Refreshed})
	}
	for _, key := range changed {
		f := w.kind.params.Field(key)
		is, _ := w.plain(f, w.is.Properties[key])
		if f.Role == schema.RoleWriteOnly {
			is = nil
		}
		w.change(engine.Change{Field: key, From: is, To: w.want[key]})
	}
	if len(replaces) > 0 {
		w.init.Logf("it is replaced, since %s cannot be changed", strings.Join(replaces, " and "))
	}
}

// update changes the thing.
func (w *work) update(refresh bool) error {
	w.rec.ID, w.rec.Private = w.is.ID, w.is.Private
	var reply protocol.UpdateReply
	err := w.call(protocol.MethodUpdate, &protocol.UpdateRequest{
		Subject: w.subject(w.rec), Old: w.is.Properties, New: w.in, Refresh: refresh,
	}, &reply)
	if err != nil {
		return err
	}
	w.written()
	if reply.Private != "" {
		w.rec.Private = reply.Private
	}
	if err := w.keep(); err != nil {
		return err
	}
	return w.finish(w.rec.ID, reply.Properties)
}

// written notes the digests of values that cannot be read back.
func (w *work) written() {
	w.rec.Written = nil
	for key, v := range w.want {
		if w.kind.params.Field(key).Role != schema.RoleWriteOnly {
			continue
		}
		if w.rec.Written == nil {
			w.rec.Written = map[string]string{}
		}
		w.rec.Written[key] = w.rec.digest(reveal(v))
	}
}

// replace puts another thing in the place of this one. Either way each step is on the disk before the next one begins. So
// the next run goes on after a crash.
func (w *work) replace() error {
	if w.kind.CreateBeforeDelete {
		w.rec.Old = &replaced{ID: w.is.ID, Key: w.rec.Key, Private: w.is.Private}
	} else if err := w.delete(); err != nil {
		return err
	}
	return w.make()
}

func compareText(a, b error) int { return strings.Compare(a.Error(), b.Error()) }
