package model

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Reseal encrypts the secrets of the objects of some topics again, to those who read a topic now. open decrypts one text. The values stay, so
// Options.Admit is not asked; the version of an object rises, since its record is another one. It returns how many objects were written.
//
// An object whose secrets open cannot read stays as it is, and the error joins a fault for each of them. So it does for records that cannot be
// read, and for tables that the registry lacks. An error of the store ends it. It is idempotent, and may be called again after an interruption.
// With dry set, it counts and writes nothing.
func (nb *NB) Reseal(ctx context.Context, topics []string, open func(string) (string, error), dry bool) (written int, err error) {
	ctx = context.WithValue(ctx, admittedKey{}, true)
	errs := []error{nb.strangers(ctx, topics)}
	for _, m := range nb.reg.All() {
		if m.ReadOnly() {
			continue
		}
		ids, err := nb.sealedIn(ctx, m, topics)
		if lost(err) || errors.Is(err, world.ErrCompacted) {
			return written, err
		}
		errs = append(errs, err)
		errs = append(errs, Each(0, len(ids), func(i int) error {
			did, err := nb.reseal(ctx, m, ids[i], open, dry)
			if did {
				written++
			}
			return err
		}))
		if lost(errs[len(errs)-1]) {
			return written, errs[len(errs)-1]
		}
	}
	return written, errors.Join(errs...)
}

// sealedIn returns the ids of the objects of a table with an encrypted secret. The error joins those of records that cannot be read.
func (nb *NB) sealedIn(ctx context.Context, m *Model, topics []string) (ids []string, err error) {
	var errs []error
	for o, err := range nb.All(ctx, Query{Model: m, Topics: topics}) {
		switch {
		case err != nil && (CodeOf(err) == "" || lost(err)):
			return nil, err
		case err != nil:
			errs = append(errs, err)
		case o.sealed(nb.o.Sealed):
			ids = append(ids, o.id)
		}
	}
	return ids, errors.Join(errs...)
}

// sealed reports whether a secret of an object is encrypted.
func (o *Object) sealed(is func(string) bool) (found bool) {
	if is == nil {
		return false
	}
	var walk func(v any, marked bool)
	walk = func(v any, marked bool) {
		switch v := v.(type) {
		case schema.Secret:
			found = found || is(v.Reveal())
		case string:
			found = found || marked && is(v)
		}
		parts(v, func(v any) any {
			walk(v, marked)
			return v
		})
	}
	for _, f := range o.model.fields {
		walk(o.fields[f.Key], isMarked(o.fields, f))
	}
	return found
}

// reseal encrypts the secrets of one object again. An object that another writer has deleted meanwhile needs nothing.
func (nb *NB) reseal(ctx context.Context, m *Model, id string, open func(string) (string, error), dry bool) (did bool, err error) {
	_, err = nb.txn(ctx, dry, func(tx *Tx) error {
		did = false
		was, err := tx.Get(m, id)
		if CodeOf(err) == NotFound {
			return nil
		}
		if err != nil || !was.sealed(nb.o.Sealed) {
			return err
		}
		clear, err := was.Unseal(open)
		if err == nil {
			_, err = tx.Update(clear, Write{})
		}
		did = err == nil
		return err
	})
	return did && err == nil, err
}

// strangers returns a fault for each table that has records in some topics, and that the registry does not have.
func (nb *NB) strangers(ctx context.Context, topics []string) error {
	known := map[string]bool{}
	for _, m := range nb.reg.All() {
		known[m.Table()] = true
	}
	var strange []string
	for _, topic := range topics {
		prefix := nb.keys.topic(topic)
		for after := ""; ; {
			page, err := nb.world.List(ctx, prefix, world.ListOptions{Limit: 1, After: after})
			if err != nil {
				return err
			}
			if len(page.KVs) == 0 {
				break
			}
			table, _, _ := strings.Cut(strings.TrimPrefix(page.KVs[0].Key, prefix), "/")
			after = prefix + table + "/\xff" // behind all keys of the table
			if name, err := url.PathUnescape(table); err == nil && !known[name] {
				strange = append(strange, name)
			}
		}
	}
	slices.Sort(strange)
	var errs []error
	for _, name := range slices.Compact(strange) {
		errs = append(errs, &Error{Code: UnknownModel, Table: name, Message: "there is no such table here, so its secrets stay as they are: name the folder of its model"})
	}
	return errors.Join(errs...)
}
