package provider_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
)

// logVector is one sequence of calls and what Puppet's library wrote.
type logVector struct {
	Desc   string            `json:"desc"`
	Type   string            `json:"type"`
	Calls  []json.RawMessage `json:"calls"`
	Failed bool              `json:"failed"`
	Raised *struct {
		Message string `json:"message"`
	} `json:"raised"`
	Lines []string `json:"lines"`
}

// TestLogVectors runs every case seen on Puppet's library through RSAPIText: it
// matches, or deviates for a reason that LogDeviations states. VECTORS names a folder
// that holds puppet/ with other cases of the same form.
func TestLogVectors(t *testing.T) {
	folder, others := os.LookupEnv("VECTORS")
	if !others {
		folder = "testdata"
	}
	vectors, err := readLogVectors(filepath.Join(folder, "puppet", "logging.json"))
	if err != nil {
		t.Fatal(err)
	}
	rules := puppettype.LogDeviations()
	used := make([]int, len(rules))
	matched := 0
	for _, v := range vectors {
		puppet, ours := logOutcome(v.Lines, v.Failed, v.raised()), runLogVector(v)
		rule := -1
		if puppet == ours {
			matched++
		} else if rule = logRule(v, puppet); rule < 0 {
			t.Errorf("%s\n puppet: %s\n   ours: %s", v.Desc, puppet, ours)
		} else {
			used[rule]++
			t.Logf("%s deviates: %s\n puppet: %s\n   ours: %s", v.Desc, rules[rule].Reason, puppet, ours)
		}
	}
	t.Logf("%d match, %d deviate", matched, len(vectors)-matched)
	if others {
		return
	}
	for i, r := range rules {
		if (used[i] == 0) != r.Unseen {
			t.Errorf("%d cases deviate by %+v", used[i], r)
		}
	}
	if len(vectors)-matched != 13 {
		t.Errorf("%d cases deviate, 13 are known", len(vectors)-matched)
	}
}

func logRule(v logVector, puppet string) int {
	calls, _ := json.Marshal(v.Calls)
	return slices.IndexFunc(puppettype.LogDeviations(), func(r puppettype.Deviation) bool {
		return regexp.MustCompile(r.Case).MatchString(v.Desc+" ~ "+string(calls)) && regexp.MustCompile(r.Puppet).MatchString(puppet)
	})
}

func (v logVector) raised() string {
	if v.Raised == nil {
		return ""
	}
	return v.Raised.Message
}

// readLogVectors reads a file of cases; one that is missing or empty is an error.
func readLogVectors(path string) ([]logVector, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Count   int         `json:"count"`
		Vectors []logVector `json:"vectors"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(file.Vectors) == 0 || file.Count > 0 && file.Count != len(file.Vectors) {
		return nil, fmt.Errorf("%s: holds %d cases and says %d", path, len(file.Vectors), file.Count)
	}
	return file.Vectors, nil
}

// TestLogVectorsMustBeThere holds that nothing passes for want of cases.
func TestLogVectorsMustBeThere(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"none": `{"count": 0, "vectors": []}`, "fewer": `{"count": 2, "vectors": [{}]}`, "broken": `{`} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readLogVectors(path); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := readLogVectors(filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing file is no error")
	}
}

func logOutcome(lines []string, failed bool, raised string) string {
	out := strings.Join(lines, "\n") + fmt.Sprintf("\nfailed: %t", failed)
	if raised != "" {
		out += "\nraised: " + raised
	}
	return out
}

// runLogVector makes the calls in Go. An error that a context returns is what the
// library swallows, so it is dropped.
func runLogVector(v logVector) (outcome string) {
	d := &logDriver{}
	titles := d.titles(v.Calls)
	d.log = provider.NewLogger(provider.LogOptions{
		Type: v.Type, Titles: titles, Sink: d.sink,
		Now: func() time.Time { d.now = d.now.Add(12 * time.Microsecond); return d.now },
	})
	raised := ""
	func() {
		defer func() {
			if p := recover(); p != nil {
				raised = fmt.Sprint(p)
			}
		}()
		if err := d.run(v.Calls); err != nil {
			raised = err.Error()
		}
	}()
	failed := slices.ContainsFunc(titles, func(t string) bool { s, _ := d.log.Status(t); return s == provider.Failed })
	if err := d.log.Broken(); err != nil {
		raised += err.Error()
	}
	return logOutcome(d.lines, failed, raised)
}

// logDriver makes the calls of a case.
type logDriver struct {
	log   *provider.Logger
	now   time.Time
	lines []string
}

var logSeconds = []struct{ re, mask string }{{`\b\d+\.\d{6} seconds`, "<S.SSSSSS> seconds"}, {`\b\d+\.\d{2} seconds`, "<S.SS> seconds"}}

func (d *logDriver) sink(e provider.Event) {
	for _, line := range provider.RSAPIText(e) {
		for _, s := range logSeconds {
			line = regexp.MustCompile(s.re).ReplaceAllString(line, s.mask)
		}
		d.lines = append(d.lines, line)
	}
}

// titles returns all that the calls name: the library has no foreign titles.
func (d *logDriver) titles(calls []json.RawMessage) []string {
	out := []string{}
	for _, raw := range calls {
		c := splitLogCall(raw)
		if o := c.options(); o.Do != nil {
			out = append(out, d.titles(o.Do)...)
		}
		if len(c.args) > 1 || len(c.args) == 1 && !logIsPlain(c.name) {
			if list, err := logTitles(c.args[0]); err == nil {
				out = append(out, list...)
			}
		}
	}
	return out
}

type logCallVector struct {
	name string
	args []json.RawMessage
}

func splitLogCall(raw json.RawMessage) logCallVector {
	var parts []json.RawMessage
	logMust(json.Unmarshal(raw, &parts))
	return logCallVector{logDecode[string](parts[0]), parts[1:]}
}

func logMust(err error) {
	if err != nil {
		panic(err)
	}
}

func logDecode[T any](raw json.RawMessage) (v T) {
	logMust(json.Unmarshal(raw, &v))
	return v
}

type logCallOptions struct {
	Message string            `json:"message"`
	Do      []json.RawMessage `json:"do"`
}

func (c logCallVector) options() (o logCallOptions) {
	if n := len(c.args); n > 0 && bytes.HasPrefix(c.args[n-1], []byte("{")) {
		_ = json.Unmarshal(c.args[n-1], &o) // a record has other keys
	}
	return o
}

// logTitles reads a title or a list of them. What is no text is an error that stands for
// the compiler's.
func logTitles(raw json.RawMessage) ([]string, error) {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	var list []*string
	if err := json.Unmarshal(raw, &list); err != nil || slices.Contains(list, nil) {
		return nil, errors.New("does not compile: titles are text")
	}
	out := []string{}
	for _, t := range list {
		out = append(out, *t)
	}
	return out, nil
}

func logIsPlain(name string) bool {
	return slices.Contains([]string{"debug", "info", "notice", "warning", "err", "fail", "raise"}, name)
}

// logStandard are the classes of Ruby's errors that a context swallows; the others are a
// panic.
var logStandard = []string{"StandardError", "RuntimeError", "ArgumentError", "TypeError", "NameError", "IOError"}

func (d *logDriver) run(calls []json.RawMessage) error {
	for _, raw := range calls {
		if err := d.call(splitLogCall(raw)); err != nil {
			return err
		}
	}
	return nil
}

func (d *logDriver) call(c logCallVector) error {
	switch {
	case c.name == "raise" && slices.Contains(logStandard, logDecode[string](c.args[0])):
		return errors.New(logDecode[string](c.args[1]))
	case c.name == "raise":
		panic(logDecode[string](c.args[1]))
	case c.name == "fail":
		return d.log.Fail(logDecode[string](c.args[0]))
	case logIsPlain(c.name):
		return d.plain(c)
	}
	titles, err := logTitles(c.args[0])
	if err != nil {
		return err
	}
	if len(titles) == 0 {
		return errors.New("does not compile: a title")
	}
	opts := []provider.LogOption{provider.Also(titles[1:]...)}
	if m := c.options().Message; m != "" {
		opts = append(opts, provider.Message(m))
	}
	return d.titled(c, titles, opts)
}

func (d *logDriver) plain(c logCallVector) error {
	if len(c.args) == 0 || len(c.args) > 2 {
		return errors.New("does not compile: one text")
	}
	var opts []provider.LogOption
	if len(c.args) == 2 {
		titles, err := logTitles(c.args[0])
		if err != nil {
			return err
		}
		opts = append(opts, provider.Of(titles...))
	}
	message := logDecode[string](c.args[len(c.args)-1])
	map[string]func(string, ...provider.LogOption){
		"debug": d.log.Debug, "info": d.log.Info, "notice": d.log.Notice, "warning": d.log.Warning, "err": d.log.Err,
	}[c.name](message, opts...)
	return nil
}

func (d *logDriver) titled(c logCallVector, titles []string, opts []provider.LogOption) error {
	first, l := titles[0], d.log
	var body func() error
	if do := c.options().Do; do != nil {
		body = func() error { return d.run(do) }
	}
	switch c.name {
	case "created":
		l.Created(first, opts...)
	case "updated":
		l.Updated(first, opts...)
	case "deleted":
		l.Deleted(first, opts...)
	case "unchanged":
		l.Unchanged(first, opts...)
	case "failed":
		l.Failed(first, c.options().Message, opts...)
	case "processed":
		l.Processed(first, logRecord(c.args[1]), logRecord(c.args[2]), opts...)
	case "attribute_changed":
		if opts[0] = provider.Of(titles...); len(c.args) == 3 || len(c.args) == 4 && c.options().Message != "" {
			opts, c.args = opts[1:], append([]json.RawMessage{nil}, c.args...)
		}
		l.AttributeChanged(logDecode[string](c.args[1]), logValue(c.args[2]), logValue(c.args[3]), opts...)
	case "creating":
		_ = l.Creating(first, body, opts...)
	case "updating":
		_ = l.Updating(first, body, opts...)
	case "deleting":
		_ = l.Deleting(first, body, opts...)
	case "failing":
		_ = l.Failing(first, body, opts...)
	case "processing":
		_ = l.Processing(first, logRecord(c.args[1]), logRecord(c.args[2]), body, opts...)
	default:
		return fmt.Errorf("unknown call %q", c.name)
	}
	return nil
}

func logRecord(raw json.RawMessage) provider.Record {
	rec := provider.Record{}
	for k, v := range logDecode[map[string]json.RawMessage](raw) {
		rec[k] = logValue(v)
	}
	return rec
}

// logValue reads a value; a number without a fraction is an Integer.
func logValue(raw json.RawMessage) any {
	var n int64
	if json.Unmarshal(raw, &n) == nil && !bytes.ContainsAny(raw, ".n") {
		return n
	}
	var tagged struct {
		Tag   string          `json:"$t"`
		Value json.RawMessage `json:"v"`
	}
	_ = json.Unmarshal(raw, &tagged) // or it is no hash
	switch tagged.Tag {
	case "undef":
		return nil
	case "symbol":
		return puppettype.Symbol(logDecode[string](tagged.Value))
	case "sensitive":
		return puppettype.NewSensitive(logValue(tagged.Value))
	}
	var list []json.RawMessage
	var hash map[string]json.RawMessage
	switch {
	case json.Unmarshal(raw, &list) == nil && list != nil:
		out := make([]any, len(list))
		for i, x := range list {
			out[i] = logValue(x)
		}
		return out
	case json.Unmarshal(raw, &hash) == nil && hash != nil:
		return map[string]any(logRecord(raw))
	}
	return logDecode[any](raw)
}
