package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// inspect checks the records that matter. The fault of a record is kept with it, or
// logged, or let pass, as the kind is strict.
func (k *Kind) inspect(ctx context.Context, rt *Runtime, p Provider, found map[Name]*entry, matter map[Name]bool) {
	var list []*entry
	for n, e := range found {
		e.record = k.wrap(e.record)
		if e.record[ensureKey] == absent {
			e.record = nil
		}
		if e.err == nil && e.record != nil && matter[n] {
			list = append(list, e)
		}
	}
	if k.strict == StrictOff {
		return
	}
	for _, e := range list {
		e.err = k.object(rt, k.checkRecord(e.record))
	}
	if k.has(Canonicalize) {
		k.checkCanonical(ctx, rt, p.(Canonicalizer), list)
	}
}

// object returns the error, or logs it where it does not count.
func (k *Kind) object(rt *Runtime, err error) error {
	if err == nil || k.strict == StrictError {
		return err
	}
	if k.strict == StrictWarning {
		rt.slog.Warn("a record is not as its type says", slog.String("type", k.def.Name), slog.Any("error", err))
	}
	return nil
}

// wrap makes the values of sensitive attributes ones that are not shown.
func (k *Kind) wrap(rec Record) Record {
	for name, v := range rec {
		a := k.byName[name]
		if a == nil || v == nil || !a.secret {
			continue
		}
		switch v := v.(type) {
		case puppettype.Sensitive, schema.Secret:
		case string:
			rec[name] = schema.NewSecret(v)
		default:
			rec[name] = puppettype.NewSensitive(v)
		}
	}
	return rec
}

// checkRecord checks the attributes and their values.
func (k *Kind) checkRecord(rec Record) error {
	var errs []error
	for name, v := range rec {
		a := k.byName[name]
		switch {
		case a == nil && name == titleKey:
			errs = append(errs, k.checkTitle(rec))
		case a == nil:
			errs = append(errs, fmt.Errorf("Get has returned an attribute %q, which a %s does not have%s", name, k.def.Name, k.near(name)))
		case a.Role == Parameter:
			errs = append(errs, fmt.Errorf("Get has returned %s, which is a parameter", name))
		default:
			if err := a.typ.Check(k.def.Name+"."+name, v); err != nil {
				errs = append(errs, fmt.Errorf("Get has returned a value that does not fit: %w", err))
			}
		}
	}
	if _, ok := rec[titleKey]; !ok && len(k.names) > 1 {
		errs = append(errs, errors.New("Get has returned no title, which a type with several namevars needs"))
	}
	return errors.Join(errs...)
}

func (k *Kind) near(name string) string {
	if n := schema.Nearest(name, k.params.Keys()); n != "" {
		return fmt.Sprintf(" (did you mean %q?)", n)
	}
	return ""
}

// checkTitle checks that the title stands for the namevars.
func (k *Kind) checkTitle(rec Record) error {
	title, ok := rec[titleKey].(string)
	if !ok {
		return fmt.Errorf("Get has returned a title that is no text but a %T", rec[titleKey])
	}
	from := Record{}
	if err := k.namevars(title, from); err != nil {
		return fmt.Errorf("Get has returned a title that does not fit: %w", err)
	}
	for _, a := range k.names {
		if v, ok := from[a.Name]; ok && !equal(v, rec[a.Name]) {
			return fmt.Errorf("Get has returned the title %q, which stands for another %s than %q", title, a.Name, text(rec[a.Name]))
		}
	}
	return nil
}
