package hold_test

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/hold"
	"github.com/reactivegraph/mgmt/engine/reactor/internal/transcript"
	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTranscripts plays the files of testdata. The commands are in script.do.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	transcript.Play(t, 9, func(t *testing.T) func([]string) string { return newScript(t).do })
}

// script has one of each limit, and vertices by name. Its clock moves by the command "at".
type script struct {
	t        *testing.T
	now      int64
	account  *hold.Account
	records  map[string][]byte // of the account
	flapping hold.Flapping
	storm    hold.Storm
	storms   hold.Storms[string]
	runs     uint64
	last     map[string]uint64
	pauses   hold.Pauses
	semas    hold.Semaphores
	taken    map[string][]hold.Semaphore // by run
	vs       map[string]*hold.Vertex
	passes   map[string]bool // of the run that goes on
	pause    *hold.Pause     // the last one
	seed     maphash.Seed
}

func newScript(t *testing.T) *script {
	return &script{
		t: t, now: 1, account: new(hold.Account), records: map[string][]byte{}, last: map[string]uint64{}, taken: map[string][]hold.Semaphore{},
		vs: map[string]*hold.Vertex{}, passes: map[string]bool{}, seed: maphash.MakeSeed(),
	}
}

// wall is the wall clock at the script's time.
func (s *script) wall() time.Time { return time.Unix(1_000_000_000, s.now).UTC() }

func (s *script) vertex(name string) *hold.Vertex {
	if s.vs[name] == nil {
		s.vs[name] = &hold.Vertex{}
	}
	return s.vs[name]
}

func (s *script) do(input []string) string {
	var out strings.Builder
	for _, line := range input {
		words := strings.Fields(line)
		answer, err := s.one(words[0], words[1:])
		if err != nil {
			answer = err.Error()
		}
		if answer != "" {
			fmt.Fprintln(&out, answer)
		}
	}
	return out.String()
}

func (s *script) one(word string, args []string) (string, error) {
	switch word {
	case "at":
		d, err := time.ParseDuration(args[0])
		s.now = 1 + int64(d)
		return "", err
	case "budget", "take", "back", "refill", "refills", "unlatch", "tell", "text", "unbound", "recall":
		return s.budget(word, args)
	case "flapping", "correct", "edits", "secrets", "corrects", "forgive", "rested":
		return s.flaps(word, args)
	case "hold", "go", "held":
		return s.held(word, args), nil
	case "storm", "start", "end", "slowed", "succeed", "crowd", "others":
		return s.storming(word, args)
	case "pace", "event", "wait", "inherit":
		return s.pace(word, args)
	case "allow", "begin", "takeback", "ended", "doubted":
		return s.passing(word, args), nil
	case "defer", "deferred", "undefer":
		return s.deferring(word, args), nil
	case "stall", "unstall", "stalled", "stallfor":
		return s.stalling(word, args)
	case "pause", "resume", "paused", "latest", "record":
		return s.pausing(word, args)
	case "again":
		return again(args)
	case "healed":
		d, err := time.ParseDuration(args[0])
		return fmt.Sprint(hold.Healed(d)), err
	case "acquire", "full", "release":
		return s.semaphore(word, args)
	}
	return "", fmt.Errorf("no command %q", word)
}

// budget: "budget 3/1m 20" for a graph of 20, "take", "back 2", "refill", "unlatch", "tell",
// "refills -", "text -" for the bound, "unbound -" for none, and "recall", which is a restart that reads the records.
func (s *script) budget(word string, args []string) (string, error) {
	forget := func(nums []uint64) string {
		for _, n := range nums {
			delete(s.records, hold.BudgetKey(n))
		}
		return fmt.Sprintf("forget %v", nums)
	}
	switch word {
	case "budget":
		b, err := hold.ParseBudget(args[0])
		n, _ := strconv.Atoi(args[1])
		s.account.Set(b, n)
		return "", err
	case "take":
		num, past, err := s.account.Take(s.now)
		text := fmt.Sprintf("number %d", num)
		if err != nil {
			text = err.Error()
		} else {
			s.records[hold.BudgetKey(num)] = hold.BudgetValue(s.wall())
		}
		if len(past) > 0 {
			text += ", " + forget(past)
		}
		return text, nil
	case "back":
		n, err := strconv.ParseUint(args[0], 10, 64)
		s.account.GiveBack(n)
		return forget([]uint64{n}), err
	case "refill":
		return forget(s.account.Refill()), nil
	case "refills":
		return fmt.Sprint(s.account.Refills()), nil
	case "text":
		return fmt.Sprintf("%q, bounds: %t", s.account, s.account.On()), nil
	case "unbound":
		s.account.Set(hold.Budget{}, 20)
		return "", nil
	case "unlatch":
		return fmt.Sprintf("was told: %t", s.account.Unlatch()), nil
	case "tell":
		first := s.account.Tell()
		s.records[hold.BudgetEmpty] = []byte{1}
		return fmt.Sprintf("first: %t", first), nil
	}
	bound, err := hold.ParseBudget(s.account.String())
	s.account = new(hold.Account)
	s.account.Set(bound, 100)
	var past []string
	for _, key := range slices.Backward(slices.Sorted(maps.Keys(s.records))) {
		if s.account.Recall(key, s.records[key], s.now, s.wall()) {
			past = append(past, key)
		}
	}
	slices.Sort(past)
	return fmt.Sprintf("used up: %t, forget %v", s.account.Recalled(), past), err
}

// flaps: "flapping 3/1m 10s 40s" for the pauses, "correct a from-value", "forgive a", and
// "edits a 80 600ms" for that many different ones, "secrets a x y 40" for two in turn, "rested a 10s" for the time that it was left alone until.
func (s *script) flaps(word string, args []string) (string, error) {
	switch word {
	case "flapping":
		f, err := hold.ParseFlapping(args[0])
		if err == nil && len(args) > 1 {
			f.Pause, _ = time.ParseDuration(args[1])
			f.PauseMax, _ = time.ParseDuration(args[2])
		}
		s.flapping = f
		return f.String(), err
	case "correct":
		cs := []engine.Change{{Field: "content", Verb: engine.Updated, From: args[1], To: "right"}}
		rest, yes := s.vertex(args[0]).Corrected(hold.Print(s.seed, cs), s.now, s.flapping)
		if !yes {
			return "goes on", nil
		}
		return fmt.Sprintf("left alone for %s after %d: %s", rest.For, rest.Corrections, hold.Seen(cs)), nil
	case "edits":
		n, _ := strconv.Atoi(args[1])
		every, _ := time.ParseDuration(args[2])
		return s.corrections(args[0], n, every, func(i int) any { return fmt.Sprint("edit ", i) }), nil
	case "secrets":
		n, _ := strconv.Atoi(args[3])
		return s.corrections(args[0], n, 0, func(i int) any { return schema.NewSecret(args[1+i%2]) }), nil
	case "corrects":
		return fmt.Sprint(hold.Corrects([]engine.Change{{Verb: engine.Ran}}), hold.Corrects([]engine.Change{{Verb: engine.Refreshed}}),
			hold.Corrects([]engine.Change{{Verb: engine.Ran}, {Verb: engine.Created}})), nil
	case "forgive":
		s.vertex(args[0]).Forgive()
		return "", nil
	default:
		d, err := time.ParseDuration(args[1])
		return fmt.Sprint(s.vertex(args[0]).Rested(1 + int64(d))), err
	}
}

// corrections corrects a vertex n times from the values that from gives.
func (s *script) corrections(name string, n int, every time.Duration, from func(i int) any) string {
	for i := range n {
		cs := []engine.Change{{Field: "content", Verb: engine.Updated, From: from(i), To: "right"}}
		if rest, yes := s.vertex(name).Corrected(hold.Print(s.seed, cs), s.now, s.flapping); yes {
			return fmt.Sprintf("%d times it goes on, then it is left alone for %s", i, rest.For)
		}
		s.now += int64(every)
	}
	return fmt.Sprintf("%d times it goes on", n)
}

// held: "hold a flapping 10s", "go a", "held a".
func (s *script) held(word string, args []string) string {
	v := s.vertex(args[0])
	switch word {
	case "hold":
		d, _ := time.ParseDuration(args[2])
		v.Hold(hold.Held{Limit: args[1], Reason: "why", For: d}, s.now)
		return ""
	case "go":
		v.LetGo()
		return ""
	}
	h := v.HeldNow(s.now)
	if h == nil {
		return "free"
	}
	return fmt.Sprintf("by %s for %s, budget: %t", h.Limit, h.For, v.HeldBy(hold.LimitBudget))
}

// storming: "storm 3 1m", "start a" for a wish to start a, "20 start a" times, "end a changed",
// "end a failed 1s" with its retry, "slowed a", "succeed new old", "others 9" for runs of others, and "crowd a 9" for nine vertices that run often.
func (s *script) storming(word string, args []string) (string, error) {
	switch word {
	case "storm":
		n, _ := strconv.Atoi(args[0])
		d, err := time.ParseDuration(args[1])
		s.storm = hold.Storm{Runs: n, Within: d}
		return "", err
	case "start":
		wait, tell := s.storms.Wait(args[0], hold.Ask{Runs: s.runs, LastRun: s.last[args[0]], Since: s.now}, s.now, s.storm)
		if wait > 0 {
			return fmt.Sprintf("waits %s, warn: %t", wait, tell), nil
		}
		s.runs++
		s.last[args[0]] = s.runs
		return "starts", nil
	case "end":
		e := hold.End{Failed: slices.Contains(args, "failed"), Changed: slices.Contains(args, "changed"), Drift: slices.Contains(args, "drift")}
		if e.Failed {
			e.Retry = true
			e.RetryIn, _ = time.ParseDuration(args[2])
		}
		if in := s.storms.Ran(args[0], e, s.now, s.storm); in > 0 {
			return fmt.Sprintf("again in %s", in), nil
		}
		return "", nil
	case "others":
		n, err := strconv.ParseUint(args[0], 10, 64)
		s.runs += n
		return "", err
	case "crowd":
		n, err := strconv.Atoi(args[1])
		for i := range n {
			s.storms.Wait(fmt.Sprint(args[0], i), hold.Ask{Runs: 1, LastRun: 1}, s.now, s.storm)
		}
		return "", err
	case "succeed":
		s.storms.Succeed(args[0], args[1])
		s.storms.Remove(args[1])
		s.last[args[0]] = s.last[args[1]]
		return "", nil
	default:
		return fmt.Sprint(s.storms.Slowed(args[0])), nil
	}
}

// pace: "pace a settle 2s", "pace a limit 1 2" for one a second and a burst of two, "event a",
// "wait a", "inherit new old".
func (s *script) pace(word string, args []string) (string, error) {
	clock := time.Time{}.Add(time.Duration(s.now))
	v := s.vertex(args[0])
	switch word {
	case "pace":
		m := engine.MetaParams{}
		if args[1] == "settle" {
			m.Settle, _ = time.ParseDuration(args[2])
		} else {
			m.Limit, _ = strconv.ParseFloat(args[2], 64)
			m.Burst, _ = strconv.Atoi(args[3])
		}
		s.vs[args[0]] = new(hold.New(&m))
		return "", nil
	case "event":
		v.Heard(s.now)
		return "", nil
	case "inherit":
		v.Inherit(s.vertex(args[1]), clock)
		return "", nil
	}
	d, why := v.Wait(s.now, clock)
	if d == 0 {
		return "starts", nil
	}
	return fmt.Sprintf("waits %s for %s", d.Round(time.Millisecond), why), nil
}

// passing: "allow a" for the word of an operator, "begin a" for a run, "takeback a" if it did none of its work, "ended a"
// with failed, paid or both, and "doubted a" with paid or without.
func (s *script) passing(word string, args []string) string {
	v, paid := s.vertex(args[0]), slices.Contains(args, "paid")
	switch word {
	case "allow":
		v.Allow()
	case "begin":
		told, pass := v.Begin()
		s.passes[args[0]] = told
		return fmt.Sprintf("pass: %t", pass)
	case "takeback":
		v.TakeBack(s.passes[args[0]], nil)
	case "ended":
		v.Ended(slices.Contains(args, "failed"), paid)
	case "doubted":
		v.Doubted(paid)
	}
	return ""
}

// deferring: "defer a outside", "deferred a", "undefer a".
func (s *script) deferring(word string, args []string) string {
	v := s.vertex(args[0])
	switch word {
	case "defer":
		v.Defer(map[string]hold.Deferral{"settle": hold.BySettle, "limit": hold.ByLimit, "outside": hold.ByOutside, "storm": hold.ByStorm, "value": hold.ByValue}[args[1]])
		return ""
	case "undefer":
		return fmt.Sprintf("waited: %t", v.EndDeferral())
	}
	return fmt.Sprintf("%q, throttled: %t", v.Deferred(), v.IsThrottled())
}

// stalling: "stall a 4s" for a run that has to wait, 4s after it was asked for, "unstall a", "stalled a", and
// "stallfor 0s 1m asked" for how long it waits that says nothing of it, is polled each minute and was asked for meanwhile.
func (s *script) stalling(word string, args []string) (string, error) {
	v := s.vertex(args[0])
	switch word {
	case "stall":
		d, err := time.ParseDuration(args[1])
		return []string{"nothing to tell", "it begins", "it lasts", "it lasts long"}[v.Stall(d)], err
	case "unstall":
		v.EndStall()
		return "", nil
	case "stalled":
		return fmt.Sprint(v.IsStalled()), nil
	}
	again, err := time.ParseDuration(args[0])
	poll, err2 := time.ParseDuration(args[1])
	return hold.StallFor(again, poll, len(args) > 2).String(), errors.Join(err, err2)
}

// pausing: "pause a 1m", "pause * 0s" for everything until it is resumed, "resume a", "paused a b",
// and "record a 1m 2m" for what a pause of a minute is two minutes later.
func (s *script) pausing(word string, args []string) (string, error) {
	name := strings.TrimPrefix(args[0], "*")
	switch word {
	case "pause":
		p := &hold.Pause{Resource: name}
		if d, _ := time.ParseDuration(args[1]); d > 0 {
			p.Until = s.wall().Add(d)
		}
		p.Reason = strings.Join(args[min(2, len(args)):], " ")
		s.pauses.Set(p)
		s.pause = p
		return p.String(), nil
	case "latest":
		return fmt.Sprintf("the last one is in effect: %t, there is one: %t", s.pause != nil && s.pauses.Has(s.pause), s.pauses.Any()), nil
	case "resume":
		return fmt.Sprintf("ended: %t, left: %q", s.pauses.End(name) != nil, s.pauses.Names()), nil
	case "paused":
		var list []string
		for _, a := range args {
			list = append(list, fmt.Sprintf("%s %t", a, s.pauses.Of(a) != nil))
		}
		return strings.Join(list, ", "), nil
	}
	left, _ := time.ParseDuration(args[1])
	later, err := time.ParseDuration(args[2])
	p := &hold.Pause{Resource: name, Reason: "why"}
	if left > 0 {
		p.Until = s.wall().Add(left)
	}
	text, err2 := p.Record(left)
	if err2 != nil {
		return "", err2
	}
	back, left, past := hold.PauseOf(hold.PauseKey(name), text, s.wall().Add(later))
	if back == nil {
		return fmt.Sprintf("none, past: %t", past), err
	}
	return fmt.Sprintf("%q left %s", back.Resource, left), err
}

// again: "again default plain 3" for the wait after a failure by a plain error that was tried again
// three times, where the graph says nothing of retry; "again 5 net 0 delay=1s delay_max=1m poll=2m" where it does.
func again(args []string) (string, error) {
	m := new(engine.MetaParams)
	if n, err := strconv.Atoi(args[0]); err == nil {
		m.Retry = n
	}
	why := map[string]error{
		"plain": errors.New("no"), "net": syscall.ENETUNREACH, "full": fmt.Errorf("write: %w", syscall.ENOSPC),
		"short": syscall.ENOMEM, "dns": &net.DNSError{Err: "no such host"}, "permanent": failure.Permanent(errors.New("no")),
	}[args[1]]
	tried, _ := strconv.Atoi(args[2])
	for _, a := range args[3:] {
		word, text, _ := strings.Cut(a, "=")
		d, err := time.ParseDuration(text)
		if err != nil {
			return "", err
		}
		switch word {
		case "delay":
			m.Delay = d
		case "delay_max":
			m.DelayMax = d
		case "poll":
			m.Poll = d
		}
	}
	var most int64
	b := hold.Backoff{Rand: func(n int64) int64 { most = n - 1; return 0 }}
	wait, yes := b.Again(m, why, int32(tried))
	if !yes {
		return "not again", nil
	}
	return fmt.Sprintf("in %s, less up to %s", wait, time.Duration(most)), nil
}

// semaphore: "acquire run a:2 b", "release run", and "full run a" for an acquire that has to
// wait, and is cut.
func (s *script) semaphore(word string, args []string) (string, error) {
	if word == "release" {
		s.semas.Release(s.taken[args[0]])
		return "", nil
	}
	ctx, cut := context.WithCancel(s.t.Context())
	defer cut()
	if word == "full" {
		cut()
	}
	list := hold.Named(args[1:])
	if s.semas.Acquire(ctx, list) != nil {
		return "waits", nil
	}
	s.taken[args[0]] = list
	return "has it", nil
}
