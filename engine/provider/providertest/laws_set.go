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

// lawUpdate: each of Updates is brought about, and after it Thing again. The way back
// shows a Set that only ever adds.
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

// absentable reports whether things can be absent. In the Resource API the attribute
// ensure says that.
func (e *env) absentable() bool {
	return slices.ContainsFunc(e.Definition.Attributes, func(a provider.Attribute) bool { return a.Name == "ensure" })
}

// lawDelete: the thing is absent then; deleting an absent thing does not fail, and
// alters nothing that can be seen. The engine calls no Set where nothing differs. But
// the state that it knows may be old, so the law asks for the second deletion.
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

// lawUnknown: Set does not need to be told what is. The engine says Unknown where a
// thing was not read since it was changed. Each wanted state comes twice, so Set meets
// the thing both absent and as it is wanted.
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

// lawInvalid: an invalid value is refused, and nothing is altered. The type,
// Canonicalize or Set may refuse. A value that one of the first two refuses never
// reaches the machine.
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

// lawInput: the arguments of Set stay as they are: the changes, and their content. The
// check is part of every set in this package; this law only calls Set for many changes
// in one call.
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
// argument or environment of a command. An error of the engine is searched as well,
// because it may quote a refused value. All texts are gathered first: a secret of one
// change may show in the error of a later one.
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
		// The error names the attribute alone, so that the log of the test does not
		// tell the secret.
		for key, v := range th.Values {
			if s := w.secret(key, v); len(s) >= shortSecret && strings.Contains(text, s) {
				return fmt.Errorf("a value of %s, which is sensitive, is in an event, an error or a command", key)
			}
		}
	}
	return nil
}

// shortSecret is the length from which a text is looked for: shorter ones are found by
// chance. The length is in bytes.
const shortSecret = 4

// ran returns the arguments and environments of the commands of a FakeHost. Any other
// Host keeps no list of its commands, so nothing of theirs is searched.
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
// The type of an attribute that may be unset is an Optional around the Sensitive, so
// the inner type counts there.
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

// lawRefresh: Refresh succeeds, and leaves Thing as it is. The engine calls it for
// things that did not differ, so the law makes Thing right first.
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
