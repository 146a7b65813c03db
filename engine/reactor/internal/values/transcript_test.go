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
	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTranscripts plays the files of testdata. The commands are in script.one.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Play(t, 6, func(t *testing.T) func([]string) string {
		s := &script{vs: map[string]*vertex{}, seen: &values.Seen{}, store: map[string][]byte{}}
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
}

// res receives.
type res struct {
	engine.Res `yaml:"-"`
	Label      string        `yaml:"label"`
	Size       int           `yaml:"size"`
	Quiet      string        `yaml:"quiet"`
	Key        schema.Secret `yaml:"key"`
}

// vertex is one of the script, with the resource that receives.
type vertex struct {
	*values.Vertex
	res   *res
	wires []engine.Wire
}

type script struct {
	vs    map[string]*vertex
	seen  *values.Seen
	store map[string][]byte
	sends *schema.Type
	err   error
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
// is offered to all, "assign b", "acted b" for a run that succeeded, "state b", and "restart b".
func (s *script) one(word, name string, args []string) string {
	v := s.vs[name]
	switch word {
	case "wires":
		s.vs[name] = newVertex(args)
	case "replace":
		fresh := newVertex(args)
		same := v.Same(fresh.wires)
		fresh.Carry(v.Vertex, fresh.res)
		secrets := len(fresh.Taint())
		if fresh.HasReceived() {
			fresh.Publish(s.receiver(name, fresh))
		}
		fresh.Inherit(v.Vertex)
		s.vs[name] = fresh
		return fmt.Sprintf("same wires: %t, secrets: %d, waits: %t", same, secrets, fresh.Waits())
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
			s.seen.Recall(engine.Record{Key: key, Value: d})
		}
	case "state":
		return state(v)
	default:
		return fmt.Sprintf("no command %q", word)
	}
	return ""
}

func newVertex(args []string) *vertex {
	v := &vertex{res: &res{}}
	for _, a := range args {
		field, from, _ := strings.Cut(a, "=")
		var formula *engine.Formula
		if sum, parts, ok := strings.Cut(from, ":"); ok {
			formula, from = formulaOf(sum), parts
		}
		for part := range strings.SplitSeq(from, "+") {
			id, key, _ := strings.Cut(part, ".")
			v.wires = append(v.wires, engine.Wire{Field: field, From: schema.Ref{Kind: "test", Name: id, Key: key}, Formula: formula})
		}
	}
	v.Vertex = values.New(v.wires, func(field string) bool { return field == "quiet" })
	return v
}

// formulaOf is a formula that writes all values behind its name. It does not like some of them, and hides what it makes if
// its name is hidden.
func formulaOf(sum string) *engine.Formula {
	return &engine.Formula{Sum: sum, Make: func(sent map[string]any) (any, bool, error) {
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
		if v.res.Label == "bad" {
			return errors.New("the label is bad")
		}
		return nil
	}}
}

// send offers values to all receivers, as the loop does with those that a run has sent.
func (s *script) send(name string, args []string) string {
	x := &sent{Text: args[0], Secret: schema.NewSecret(args[2])}
	_, _ = fmt.Sscan(args[1], &x.Number)
	from := s.vs[name]
	if from == nil {
		from = newVertex(nil)
		s.vs[name] = from
	}
	list, err := values.Send(s.sends, x, from.IsTainted())
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
