package puppet

import (
	"slices"
	"strings"
)

// Readers of values. Each reports a value that does not fit, and then returns
// false.

// boolean reads true and false, also as the words that Puppet takes for them.
// Case does not count.
func (t *translation) boolean(p *param) (value, ok bool) {
	switch strings.ToLower(p.value.Text) {
	case "true", "yes":
		return true, true
	case "false", "no":
		return false, true
	}
	t.bad(p, "it must be true or false, not %s", describe(p.value))
	return false, false
}

// boolTo returns a conversion to true or false.
func boolTo(key string) func(*translation, *param) {
	return func(t *translation, p *param) {
		if yes, ok := t.boolean(p); ok {
			t.set(key, boolNode(t.at, yes), nil)
		}
	}
}

// isTrue reads a parameter that may be missing.
// A missing one is false.
func (t *translation) isTrue(name string) bool {
	p := t.param(name)
	if p == nil {
		return false
	}
	yes, _ := t.boolean(p)
	return yes
}

// scalar reads text, a number or a boolean as its text.
func (t *translation) scalar(p *param) (string, bool) {
	if isScalar(p.value) {
		return p.value.Text, true
	}
	t.bad(p, "it must be text, not %s", describe(p.value))
	return "", false
}

// scalars reads a text or a list of texts.
// An undef is an empty list.
func (t *translation) scalars(p *param) (list []string, ok bool) {
	for _, n := range asList(p.value) {
		if !isScalar(n) {
			t.bad(p, "it must be a list of texts, not %s", describe(n))
			return nil, false
		}
		list = append(list, n.Text)
	}
	return list, true
}

// wordsTo returns a conversion of words to a value of our kind.
// Case does not count. The finding lists the known words in their order.
func wordsTo(to string, meaning map[string]string) func(*translation, *param) {
	return func(t *translation, p *param) {
		text, ok := t.scalar(p)
		if !ok {
			return
		}
		if word, known := meaning[strings.ToLower(text)]; known {
			t.set(to, textNode(t.at, word), p)
			return
		}
		known := make([]string, 0, len(meaning))
		for word := range meaning {
			known = append(known, word)
		}
		slices.Sort(known)
		t.bad(p, "it must be %s, not %s", oneOf(known), describe(p.value))
	}
}

// backendBy returns a conversion of provider to the metaparameter backend; an empty one leaves
// the choice to the machine. Any other provider is refused, for a reason.
// A kind with one backend needs no metaparameter, so a known provider has no effect there.
func backendBy(reason string, backends map[string]string) func(*translation, *param) {
	return func(t *translation, p *param) {
		backend, known := "", false
		if isScalar(p.value) {
			backend, known = backends[strings.ToLower(p.value.Text)]
		}
		switch {
		case !known:
			t.refuse(p.name, reason, true)
		case backend != "" && t.kind.Abilities.Virtual: // else there is one way for all
			t.metaparam("backend", textNode(t.at, backend))
		}
	}
}

// except refuses all values but some, which have no effect; whole is as in an
// attribute.
// The words in harmless are in lower case.
func except(whole bool, reason string, harmless ...string) func(*translation, *param) {
	return func(t *translation, p *param) {
		if !isScalar(p.value) || !slices.Contains(harmless, strings.ToLower(p.value.Text)) {
			t.refuse(p.name, reason, whole)
		}
	}
}
