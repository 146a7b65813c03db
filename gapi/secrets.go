package gapi

import (
	"strings"

	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// secrets refuses every wire by which a secret would reach a parameter that others
// on the machine can see. A secret inside of a value of any type shows only when it
// is sent; the kind has to refuse that itself.
func (b *builder) secrets(tainted map[*item]bool) {
	for _, it := range b.items {
		for _, w := range it.wires {
			f := it.info.Type.Field(topKey(w.Field))
			if f == nil || !f.NoSecret {
				continue
			}
			sender := b.sender(w)
			switch {
			case sendsSecret(sender, w):
				b.errorf(it, w.Pos, "%s can't receive %s, which is a secret: %s", w.Field, w.From, instead(f))
			case tainted[sender]:
				b.errorf(it, w.Pos, "%s can't receive %s, which may hold a secret that %s receives: %s",
					w.Field, w.From, sender.id, instead(f))
			}
		}
	}
}

// tainted returns the resources that receive a secret, near or far, or have a parameter that
// is marked as one: whatever they send may hold it.
func (b *builder) tainted() map[*item]bool {
	receivers := map[*item][]*item{}
	var todo []*item
	for _, it := range b.items {
		if it.marks {
			todo = append(todo, it)
		}
		for _, w := range it.wires {
			sender := b.sender(w)
			receivers[sender] = append(receivers[sender], it)
			if sendsSecret(sender, w) {
				todo = append(todo, it)
			}
		}
	}
	tainted := map[*item]bool{}
	for len(todo) > 0 {
		it := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !tainted[it] {
			tainted[it] = true
			todo = append(todo, receivers[it]...)
		}
	}
	return tainted
}

// sender returns the item that a checked wire comes from.
func (b *builder) sender(w resgraph.Wire) *item {
	at, _ := b.find(w.From.Kind, w.From.Name) // the wire was checked
	return b.first[at]
}

// sendsSecret reports whether the type of a wire's value is a secret, or has
// one in it.
func sendsSecret(sender *item, w resgraph.Wire) bool {
	if sender.info == nil {
		return false
	}
	t, _, err := sender.info.Abilities.Sends.At(w.From.Key)
	return err == nil && t.HoldsSecret()
}

// instead says why a parameter takes no secret, and what does.
func instead(f *schema.Field) string {
	text := "everybody on this machine can see it there"
	if len(f.Instead) > 0 {
		text += "; receive it into " + strings.Join(f.Instead, " or ")
	}
	return text
}
