package providertest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// lawCreate: the new thing is as it was wanted, in this transaction and the next one.
func lawCreate(e *env) error {
	_, err := e.withThing()
	return err
}

// lawUpdate: each of Updates is brought about, and after it Thing again.
func lawUpdate(e *env) error {
	for _, name := range slices.Sorted(maps.Keys(e.Updates)) {
		w, err := e.withThing()
		if err != nil {
			return err
		}
		for _, th := range []Thing{w.Thing(w.dir).with(e.Updates[name]), w.Thing(w.dir)} {
			if err := w.bring(th); err != nil {
				return fmt.Errorf("update %q: %w", name, err)
			}
		}
	}
	return nil
}

// absentable reports whether things can be absent.
func (e *env) absentable() bool {
	return slices.ContainsFunc(e.Definition.Attributes, func(a provider.Attribute) bool { return a.Name == "ensure" })
}

// lawDelete: the thing is absent then; deleting an absent thing does not fail, and
// alters nothing that can be seen.
func lawDelete(e *env) error {
	if !e.absentable() {
		return nil
	}
	w, err := e.withThing()
	if err != nil {
		return err
	}
	th := w.Thing(w.dir)
	if err := w.bring(th.gone()); err != nil {
		return err
	}
	before, err := w.all()
	if err != nil {
		return err
	}
	if err := w.bring(th.gone()); err != nil {
		return fmt.Errorf("a second time: %w", err)
	}
	after, err := w.all()
	if err != nil {
		return err
	}
	return before.same(after)
}

// lawUnknown: Set does not need to be told what is.
func lawUnknown(e *env) error {
	w, err := e.world()
	if err != nil {
		return err
	}
	list := []Thing{w.Thing(w.dir), w.Thing(w.dir)}
	for _, name := range slices.Sorted(maps.Keys(e.Updates)) {
		list = append(list, w.Thing(w.dir).with(e.Updates[name]))
	}
	if e.absentable() {
		list = append(list, w.Thing(w.dir).gone(), w.Thing(w.dir).gone())
	}
	for i, th := range list {
		changes, err := w.changes(th)
		if err != nil {
			return err
		}
		changes[0].Is = provider.State{Presence: provider.Unknown}
		if err := w.fulfil(changes); err != nil {
			return fmt.Errorf("change %d, without what is: %w", i+1, err)
		}
	}
	return nil
}

// lawInvalid: what is invalid is refused, and nothing is altered.
func lawInvalid(e *env) error {
	for _, name := range slices.Sorted(maps.Keys(e.Invalid)) {
		w, err := e.withThing()
		if err != nil {
			return err
		}
		if err := w.refuse(w.Thing(w.dir).with(e.Invalid[name])); err != nil {
			return fmt.Errorf("invalid %q: %w", name, err)
		}
	}
	return nil
}

// refuse sets a thing that can't be: nothing may have changed after the error.
// The test compares the whole tree of files, so a change of a time alone is found too.
func (w *world) refuse(bad Thing) error {
	before := w.tree()
	changes, err := w.changes(bad)
	if err != nil {
		return w.untouched(before)
	}
	v, err := w.set(w.t.Context(), changes)
	if err == nil && v.of(bad.Title) == nil {
		err = errors.New("it was taken")
	}
	return errors.Join(err, w.untouched(before))
}

// lawInput: the arguments of Set stay as they are: the changes, and their content.
func lawInput(e *env) error {
	w, err := e.withThing()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(e.Updates)) {
		changes, err := w.changes(append([]Thing{w.Thing(w.dir).with(e.Updates[name])}, w.things()[1:]...)...)
		if err != nil {
			return err
		}
		if _, err := w.set(w.t.Context(), changes); err != nil {
			return err
		}
	}
	return nil
}

// lawSecret: values of sensitive attributes are in no event and no error, and in no
// argument or environment of a command.
func lawSecret(e *env) error {
	w, err := e.world()
	if err != nil {
		return err
	}
	list := w.variants()
	if e.absentable() {
		list = append(list, w.Thing(w.dir).gone())
	}
	for _, name := range slices.Sorted(maps.Keys(e.Invalid)) {
		list = append(list, w.Thing(w.dir).with(e.Invalid[name]))
	}
	var errs []error
	for _, th := range list {
		changes, err := w.changes(th)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		v, err := w.set(w.t.Context(), changes)
		errs = append(errs, err, v.all())
	}
	text := fmt.Sprintln(w.said(), errors.Join(errs...), w.ran())
	for _, th := range list {
		for key, v := range th.Values {
			if s := w.secret(key, v); len(s) >= shortSecret && strings.Contains(text, s) {
				return fmt.Errorf("a value of %s, which is sensitive, is in an event, an error or a command", key)
			}
		}
	}
	return nil
}

// shortSecret is the length from which a text is looked for: shorter ones are found by
// chance.
const shortSecret = 4

// ran returns the arguments and environments of the commands of a FakeHost.
func (w *world) ran() string {
	host, fake := w.host.(*enginetest.FakeHost)
	if !fake {
		return ""
	}
	var b strings.Builder
	for _, c := range host.Commands() {
		fmt.Fprintln(&b, c.Argv, c.Env)
	}
	return b.String()
}

// secret returns the text of a value that must not be said; nothing where it may be.
func (w *world) secret(key string, v any) string {
	t := w.kind.Type(key)
	if t != nil && t.Accepts(nil) && t.Elem() != nil {
		t = t.Elem()
	}
	if t == nil || t.Kind() != puppettype.KindSensitive {
		return ""
	}
	if s, ok := v.(schema.Secret); ok {
		return s.Reveal()
	}
	return fmt.Sprint(v)
}

// lawRefresh: Refresh succeeds, and leaves Thing as it is.
func lawRefresh(e *env) error {
	if !e.has(provider.Refreshable) {
		return nil
	}
	w, err := e.withThing()
	if err != nil {
		return err
	}
	changes, err := w.changes(w.Thing(w.dir))
	if err != nil {
		return err
	}
	asks := asksOf(changes)
	rt := w.runtime(changes)
	if err := w.p.(provider.Refresher).Refresh(w.t.Context(), rt, changes); err != nil {
		return err
	}
	if err := rt.Log.Broken(); err != nil {
		return err
	}
	return w.asWanted(asks[0])
}
