package values_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/transcript"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/values"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTranscripts plays the files of testdata. The commands are in script.one.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Play(t, 6, func(t *testing.T) func([]string) string {
		s := &script{vs: map[string]*vertex{}, seen: &values.Seen{}, store: map[string][]byte{}, bad: "bad", next: map[string]*vertex{}}
		if s.sends, s.err = schema.TypeOf(&sent{}); s.err != nil {
			t.Fatal(s.err)
		}
		return s.do
	})
}

// sent is what each vertex sends.
type sent struct {
	Text   string        `yaml:"text"`
	Number int           `yaml:"number"`
	Secret schema.Secret `yaml:"secret"`
	Words  []string      `yaml:"words"`

	Pair  []schema.Secret          `yaml:"pair"`
	Table map[string]schema.Secret `yaml:"table"`
}

// res receives.
type res struct {
	engine.Res `yaml:"-"`
	Label      string        `yaml:"label"`
	Size       int           `yaml:"size"`
	Quiet      string        `yaml:"quiet"`
	Key        schema.Secret `yaml:"key"`
	Words      []string      `yaml:"words"`
}

// vertex is one of the script, with the resource that receives.
type vertex struct {
	*values.Vertex
	res   *res
	wires []resgraph.Wire
}

type script struct {
	vs    map[string]*vertex
	seen  *values.Seen
	store map[string][]byte
	sends *schema.Type
	err   error
	bad   string             // a text that no label may contain
	next  map[string]*vertex // prepared ones
}

func (s *script) do(input []string) string {
	var out strings.Builder
	for _, line := range input {
		words := strings.Fields(line)
		if text := s.one(words[0], words[1], words[2:]); text != "" {
			fmt.Fprintln(&out, text)
		}
	}
	return out.String()
}

// one obeys: "wires b label=a.text size=a.number" for a new receiver b, "replace b label=a.text" for
// one in its place, "wires b label=f:a.text+c.text" for a formula f of two values, "hide b name", "send a hello 3 hush" for a value of each field of sent, which
// is offered to all, or with "more" also of a list and a map of secrets, "assign b", "acted b" for a run that succeeded,
// "state b", and "restart b". "replace" is "prepare b label=a.text" and "adopt b", between which b runs on; "join b" offers what was
// sent before; "feeds b yes", "leave b", "secret b label.x" for what is hidden, "dislike text" for a label that the receiver
// refuses, "missend -" for what does not fit, and "nothing -" for a vertex that neither sends nor receives.
func (s *script) one(word, name string, args []string) string {
	v := s.vs[name]
	switch word {
	case "wires":
		s.vs[name] = newVertex(args)
	case "replace":
		text := s.prepare(name, v, args)
		return fmt.Sprintf("%s, waits: %t", text, s.adopt(name, v))
	case "prepare":
		return s.prepare(name, v, args)
	case "adopt":
		return fmt.Sprintf("waits: %t", s.adopt(name, v))
	case "join":
		for i, w := range v.Wires() {
			v.OfferFirst(i, s.vs[w.From.Name].last())
		}
	case "feeds":
		v.SetFeeds(args[0] == "yes")
		return fmt.Sprintf("feeds: %t", v.Feeds())
	case "leave":
		return s.leave(name, v)
	case "secret":
		return secret(v, args)
	case "dislike":
		s.bad = name
	case "missend":
		_, err := values.Send(s.sends, &res{}, false, nil)
		_, none := values.Send(nil, &sent{}, false, nil)
		return fmt.Sprintf("%v\n%v", err, none)
	case "nothing":
		var v *values.Vertex
		return fmt.Sprintf("feeds: %t, last: %v, waits: %t, same: %t %t, forgets: %v, secret: %t", v.Feeds(), v.Last(), v.Waits(), v.Same(nil), v.Same(make([]resgraph.Wire, 1)), v.Forget("-"), v.HasSecret())
	case "hide":
		v.Mark(name, args)
	case "send":
		return s.send(name, args)
	case "assign":
		return s.assign(name, v)
	case "acted":
		if !v.Acted() {
			return "nothing is new"
		}
		for _, w := range v.Digests(name) {
			s.store[w.Key] = w.Value
		}
	case "restart":
		s.vs, s.seen = map[string]*vertex{}, &values.Seen{}
		for key, d := range s.store {
			s.seen.Recall(records.Record{Key: key, Value: d})
		}
	case "state":
		return state(v)
	default:
		return fmt.Sprintf("no command %q", word)
	}
	return ""
}

// prepare makes a vertex that is to take the place of v, as a Swap does while v runs on.
func (s *script) prepare(name string, v *vertex, args []string) string {
	fresh := newVertex(args)
	same := v.Same(fresh.wires)
	fresh.Carry(v.Vertex, fresh.res)
	secrets := len(fresh.Taint())
	if to := s.receiver(name, fresh); fresh.HasReceived() {
		fresh.Refuse(to.Validate())
		fresh.Publish(to)
	}
	s.next[name] = fresh
	return fmt.Sprintf("same wires: %t, secrets: %d", same, secrets)
}

func (s *script) adopt(name string, v *vertex) (waits bool) {
	s.vs[name] = s.next[name]
	s.vs[name].Inherit(v.Vertex)
	return s.vs[name].Waits()
}

// last is what a vertex has sent; a missing one has sent nothing.
func (v *vertex) last() values.Sent {
	if v == nil {
		return nil
	}
	return v.Last()
}

// leave shows the records that end with a vertex, and those that no vertex has any more.
func (s *script) leave(name string, v *vertex) string {
	delete(s.vs, name)
	var list []string
	for _, w := range v.Forget(name) {
		list = append(list, "own "+strings.ReplaceAll(w.Key, "\x00", " "))
	}
	for _, w := range s.seen.Forget(func(id string) bool { return s.vs[id] != nil }) {
		list = append(list, "left "+strings.ReplaceAll(w.Key, "\x00", " "))
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// secret tells of parameters whether they are hidden, of the names that Recv knows, and of the digests.
func secret(v *vertex, paths []string) string {
	var list []string
	for _, p := range paths {
		list = append(list, fmt.Sprintf("%s %t", p, v.IsSecret(p)))
	}
	one, two := v.Digests("x"), v.Digests("x")
	salted := len(one) > 0
	for i := range one {
		salted = salted && string(one[i].Value) != string(two[i].Value)
	}
	return fmt.Sprintf("%s, any: %t, names: %v, salted: %t", strings.Join(list, ", "), v.HasSecret(), slices.Sorted(maps.Keys(v.Recv())), salted)
}

func newVertex(args []string) *vertex {
	v := &vertex{res: &res{}}
	for _, a := range args {
		field, from, _ := strings.Cut(a, "=")
		var formula *resgraph.Formula
		if sum, parts, ok := strings.Cut(from, ":"); ok {
			formula, from = formulaOf(sum), parts
		}
		for part := range strings.SplitSeq(from, "+") {
			id, key, _ := strings.Cut(part, ".")
			v.wires = append(v.wires, resgraph.Wire{Field: field, From: schema.Ref{Kind: "test", Name: id, Key: key}, Formula: formula})
		}
	}
	v.Vertex = values.New(v.wires, func(field string) bool { return field == "quiet" })
	return v
}

// formulaOf is a formula that writes all values behind its name. It does not like some of them, and hides what it makes if
// its name is hidden.
func formulaOf(sum string) *resgraph.Formula {
	return &resgraph.Formula{Sum: sum, Make: func(sent map[string]any) (any, bool, error) {
		if sum == "plain" {
			return slices.Collect(maps.Values(sent))[0], false, nil
		}
		var list []string
		for _, key := range slices.Sorted(maps.Keys(sent)) {
			switch text := fmt.Sprint(sent[key]); text {
			case "wrong":
				return nil, sum == "hidden", fmt.Errorf("%s is wrong", key)
			case "panic":
				panic("no")
			default:
				list = append(list, text)
			}
		}
		return sum + "<" + strings.Join(list, ",") + ">", sum == "hidden", nil
	}}
}

func (s *script) receiver(name string, v *vertex) values.Receiver {
	t, _ := schema.TypeOf(v.res)
	return values.Receiver{ID: name, Res: v.res, Type: t, Seen: s.seen, Validate: func() error {
		if s.bad != "" && strings.Contains(v.res.Label, s.bad) {
			return errors.New("the label is bad")
		}
		return nil
	}}
}

// send offers values to all receivers, as the loop does with those that a run has sent.
func (s *script) send(name string, args []string) string {
	x := &sent{Text: args[0], Secret: schema.NewSecret(args[2]), Words: strings.Split(args[0], ",")}
	if len(args) > 3 {
		x.Pair = []schema.Secret{schema.NewSecret("one"), schema.NewSecret("two")}
		x.Table = map[string]schema.Secret{"k": schema.NewSecret("three")}
	}
	_, _ = fmt.Sscan(args[1], &x.Number)
	from := s.vs[name]
	if from == nil {
		from = newVertex(nil)
		s.vs[name] = from
	}
	list, err := values.Send(s.sends, x, from.IsTainted(), nil)
	if err != nil {
		return err.Error()
	}
	from.Sends(list)
	for _, id := range slices.Sorted(maps.Keys(s.vs)) {
		to := s.vs[id]
		for i, w := range to.Wires() {
			if w.From.Name == name {
				to.Offer(i, list)
			}
		}
	}
	var secret []string
	for _, key := range slices.Sorted(maps.Keys(list)) {
		if list[key].Secret {
			secret = append(secret, key)
		}
	}
	return fmt.Sprintf("sent, secret: %v", secret)
}

func (s *script) assign(name string, v *vertex) string {
	if !v.Waits() {
		return "nothing waits"
	}
	var waiting []string
	for w := range v.Waiting() {
		waiting = append(waiting, w.Field)
	}
	text := fmt.Sprintf("%v, ends the Watch: %t, secrets: %d", waiting, v.EndsWatch(), len(v.Taint()))
	if err := v.Assign(s.receiver(name, v)); err != nil {
		text += ", refused: " + err.Error()
	}
	return text
}

// state shows the resource, what Recv says, and what is missing.
func state(v *vertex) string {
	var text strings.Builder
	fmt.Fprintf(&text, "label %q, size %d, quiet %q, key %q", v.res.Label, v.res.Size, v.res.Quiet, v.res.Key.Reveal())
	if len(v.res.Words) > 0 {
		fmt.Fprintf(&text, ", words %q", v.res.Words)
	}
	for _, key := range slices.Sorted(maps.Keys(v.Recv())) {
		if r := v.Recv()[key]; strings.ToLower(key) == key {
			fmt.Fprintf(&text, "\n  %s from %s.%s, changed: %t, secret: %t", key, r.Res, r.Key, r.Changed, v.IsSecret(key))
		}
	}
	if w := v.Missing(); w != nil {
		text.WriteString("\n  misses " + w.Field)
		for _, c := range v.Unknown() {
			fmt.Fprintf(&text, ", %s is %v", c.Field, c.To)
		}
	}
	if v.Refused() != nil {
		text.WriteString("\n  refuses: " + v.Refused().Error())
	}
	if v.IsTainted() {
		text.WriteString("\n  tainted")
	}
	return text.String()
}
