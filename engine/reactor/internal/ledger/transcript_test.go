package ledger_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/ledger"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/transcript"
	"github.com/reactivegraph/mgmt/engine/records"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTranscripts plays the files of testdata. The commands are in script.one.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Play(t, 6, func(*testing.T) func([]string) string { return newScript().do })
}

// script has vertices by name, whom they refresh, and a store.
type script struct {
	book   *ledger.Book
	vs     map[string]*ledger.Vertex
	notify map[string][]string
	runs   map[string]*ledger.Run
	store  map[string]map[string]string // by table and key
}

func newScript() *script {
	return &script{
		book: new(ledger.Book), vs: map[string]*ledger.Vertex{}, notify: map[string][]string{},
		runs: map[string]*ledger.Run{}, store: map[string]map[string]string{},
	}
}

func (s *script) do(input []string) string {
	var out strings.Builder
	for _, line := range input {
		words := strings.Fields(line)
		s.one(&out, words[0], words[1], words[2:])
	}
	return out.String()
}

// one obeys: "graph a b c" for the names in the graph, "notify a b c" for whom a refreshes, "begin a", "intend a",
// "write a" and "end a" for a run of a, all of them with "run a", which ends "changed", "same" or
// "failed"; "promise a b" for a target that comes while a runs; "replace a", "leave a", "retries a 3", "state a", and "crash -" for a new process.
func (s *script) one(out *strings.Builder, word, name string, args []string) {
	v := s.vs[name]
	switch word {
	case "graph":
		for _, id := range append(args, name) {
			left := s.book.Take(id)
			s.vs[id] = &left
		}
		rest := s.book.Rest()
		for _, id := range slices.Sorted(maps.Keys(rest)) {
			fmt.Fprintf(out, "%s is not in the graph: dropped %d\n", id, len(rest[id].Pending()))
			s.write(out, rest[id].Forget(id))
		}
	case "notify":
		s.notify[name] = args
	case "promise":
		s.write(out, s.runs[name].Promise(name, args[0], s.book, nil))
	case "begin":
		s.begin(out, name)
	case "intend":
		s.write(out, v.Intend(name, s.runs[name], nil))
		v.Intended(s.runs[name])
	case "write":
		s.write(out, v.Owe(name, s.runs[name], s.book, s.runs[name].Clear(name, nil)))
	case "end":
		s.end(out, name, args[0])
	case "run":
		s.run(out, name, args[0])
	case "replace":
		s.vs[name] = &ledger.Vertex{}
		s.vs[name].InheritRetries(v)
		s.vs[name].Inherit(v)
	case "leave":
		delete(s.vs, name)
		s.write(out, v.Forget(name))
	case "retries":
		n, _ := strconv.Atoi(args[0])
		if w, changed := v.SetRetries(name, int32(n)); changed {
			s.write(out, []records.Write{w})
		}
	case "state":
		fmt.Fprintf(out, "%s: pending %s, retries %d", name, sources(v.Pending()), v.Retries())
		if v.IsRefreshed() {
			fmt.Fprint(out, ", refreshed")
		}
		fmt.Fprintln(out)
	case "crash":
		s.crash()
	default:
		fmt.Fprintf(out, "no command %q\n", word)
	}
}

func sources(ps []ledger.Pending) []string {
	list := []string{}
	for _, p := range ps {
		list = append(list, p.Source)
	}
	return list
}

func (s *script) begin(out *strings.Builder, name string) {
	v, targets := s.vs[name], s.notify[name]
	fmt.Fprintf(out, "acts on %s\n", sources(v.Pending()))
	r := v.Begin(name, len(targets), func(i int) (string, *ledger.Vertex) {
		of := s.vs[targets[i]]
		if of == nil {
			of = &ledger.Vertex{}
		}
		return targets[i], of
	})
	s.runs[name] = &r
}

// run plays a whole run, as the reactor does.
func (s *script) run(out *strings.Builder, name, end string) {
	s.begin(out, name)
	if end != "same" {
		s.one(out, "intend", name, nil)
	}
	if end != "failed" {
		s.one(out, "write", name, nil)
	}
	s.end(out, name, end)
}

// end is the end of a run on the loop: targets that are there have their refreshes.
func (s *script) end(out *strings.Builder, name, end string) {
	r := s.runs[name]
	promised, due := s.vs[name].Promised(r, end != "same")
	for _, f := range promised {
		if due {
			s.refresh(out, f)
		} else {
			s.write(out, []records.Write{f.Over()})
		}
	}
	if end == "failed" || !s.vs[name].Succeed(r, end == "changed") {
		return
	}
	for f := range r.Due() {
		s.refresh(out, f)
	}
}

// refresh gives a target its refresh, if it is there.
func (s *script) refresh(out *strings.Builder, f ledger.Refresh) {
	t := s.vs[f.Target]
	if t == nil {
		s.write(out, []records.Write{f.Over()})
		return
	}
	t.Refresh(f)
	fmt.Fprintln(out, "refresh", f.Target)
}

// write puts records into the store, and tells of each.
func (s *script) write(out *strings.Builder, ws []records.Write) {
	for _, w := range ws {
		if s.store[w.Table] == nil {
			s.store[w.Table] = map[string]string{}
		}
		verb := "put"
		if w.Value == nil {
			verb = "delete"
			delete(s.store[w.Table], w.Key)
		} else {
			s.store[w.Table][w.Key] = string(w.Value)
		}
		fmt.Fprintln(out, verb, w.Table, strings.ReplaceAll(w.Key, "\x00", " "))
	}
}

// crash forgets all but the store.
func (s *script) crash() {
	s.book, s.vs, s.runs = new(ledger.Book), map[string]*ledger.Vertex{}, map[string]*ledger.Run{}
	for _, t := range ledger.Tables() {
		for _, key := range slices.Sorted(maps.Keys(s.store[t[0]])) {
			s.book.Recall(t[0], records.Record{Key: key, Value: []byte(s.store[t[0]][key])})
		}
	}
}
