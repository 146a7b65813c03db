package basic

import (
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func newMsg(t *testing.T, r *MsgRes) *enginetest.Fake {
	t.Helper()
	if r.Priority == "" {
		r.Priority = "info"
	}
	return kindtest.Begin(t, "msg", r)
}

// hear replaces the sinks by ones that keep what they get.
func hear(r *MsgRes, fail map[string]error) (heard *[]string) {
	heard = &[]string{}
	to := func(name string) sink {
		return func(program string, m message) error {
			if err := fail[name]; err != nil {
				return err
			}
			*heard = append(*heard, name+" "+program+": "+m.line())
			return nil
		}
	}
	r.journal, r.syslog = to("journal"), to("syslog")
	return heard
}

// A message that goes only into the log is no change, whoever looks first; acting
// on a notification is.
func TestMsgOncePerMessage(t *testing.T) {
	for _, apply := range []bool{false, true} {
		r := &MsgRes{Body: "disk full", Priority: "crit", Fields: map[string]string{"disk": "sda"}}
		f := newMsg(t, r)
		once := func(fields string) {
			t.Helper()
			got := kindtest.Verbs(t, f, r, apply)
			if logs := strings.Join(f.Logs(), "\n"); got != "" || !strings.Contains(logs, "level=ERROR+2") ||
				!strings.Contains(logs, `body="disk full" priority=crit `+fields) {
				t.Errorf("%q, logged %s", got, logs)
			}
			if kindtest.Want(t, f, r, ""); len(f.Logs()) != 0 {
				t.Errorf("logged again: %q", f.Logs())
			}
		}
		once("disk=sda")
		r.Fields = map[string]string{"disk": "sdb"}
		once("disk=sdb")
		f.SetRefresh(true)
		if got := kindtest.Verbs(t, f, r, false); got != "refreshed" || len(f.Logs()) != 0 {
			t.Errorf("looking: %q, logged %q", got, f.Logs())
		}
		if got := kindtest.Verbs(t, f, r, true); got != "refreshed" || len(f.Logs()) != 1 {
			t.Errorf("%q, logged %q", got, f.Logs())
		}
		f.SetRefresh(false)
		kindtest.Want(t, f, r, "")
	}
}

func TestMsgGoesWhereItIsAsked(t *testing.T) {
	for _, tt := range []struct {
		journal, syslog bool
		want            []string
	}{
		{false, false, nil},
		{true, false, []string{`journal enginetest: hi A="1"`}},
		{false, true, []string{`syslog enginetest: hi A="1"`}},
		{true, true, []string{`journal enginetest: hi A="1"`, `syslog enginetest: hi A="1"`}},
	} {
		r := &MsgRes{Body: "hi", Fields: map[string]string{"A": "1"}, Journal: tt.journal, Syslog: tt.syslog}
		f := newMsg(t, r)
		heard := hear(r, nil)
		said := ""
		if len(tt.want) > 0 { // it leaves something outside
			said = "ran"
		}
		if got := kindtest.Verbs(t, f, r, false); got != said || len(*heard) != 0 {
			t.Errorf("looking: %q, sent %q", got, *heard)
		}
		kindtest.Verbs(t, f, r, true)
		if kindtest.Want(t, f, r, ""); !slices.Equal(*heard, tt.want) {
			t.Errorf("heard %q, want %q", *heard, tt.want)
		}
	}
}

func TestMsgFailsWhereThereIsNone(t *testing.T) {
	for _, name := range []string{"journal", "syslog"} {
		r := &MsgRes{Body: "hi", Journal: true, Syslog: true}
		f := newMsg(t, r)
		fail := map[string]error{name: errors.New("none here")}
		hear(r, fail)
		if got := kindtest.Verbs(t, f, r, true); got != "error: "+name+": none here" {
			t.Errorf("got %q", got)
		}
		if len(f.Logs()) != 0 {
			t.Error("a retry will log it again")
		}
		delete(fail, name)
		kindtest.Want(t, f, r, "ran")
	}
}

// The real ones either work or say in words what is missing.
func TestMsgRealSinks(t *testing.T) {
	m := message{body: "a test of mgmt", priority: 7, fields: map[string]string{"mgmt_test": "1"}}
	_, jerr := os.Stat("/run/systemd/journal/socket")
	if err := toJournal("mgmt-test", m); (err == nil) != (jerr == nil) {
		t.Errorf("journal: %v, its socket: %v", err, jerr)
	}
	if err := toSyslog("mgmt-test", m); err != nil && !strings.HasPrefix(err.Error(), "there is no syslog on this machine: ") {
		t.Errorf("syslog: %v", err)
	}
}

func TestMsgHidesSecrets(t *testing.T) {
	r := &MsgRes{Body: "canary1", Fields: map[string]string{"A": "canary2"}, Journal: true, Syslog: true}
	f := newMsg(t, r)
	heard := hear(r, nil)
	f.SetRecv(map[string]*engine.Send{"body": {Secret: true}, "fields.A": {Secret: true}, "priority": {}})
	kindtest.Want(t, f, r, "ran")
	all := strings.Join(append(f.Logs(), *heard...), "\n")
	if strings.Contains(all, "canary") || strings.Count(all, "(secret)") != 6 {
		t.Errorf("told %s", all)
	}
	if r.Body != "canary1" || r.Fields["A"] != "canary2" {
		t.Error("it altered its parameters")
	}
}

func TestMsgValidate(t *testing.T) {
	for want, r := range map[string]*MsgRes{
		"":                       {Priority: "debug", Fields: map[string]string{"a_1": "x", "B": ""}},
		`priority is "Info"`:     {Priority: "Info"},
		`fields: "_a" must`:      {Priority: "info", Fields: map[string]string{"_a": ""}},
		`fields: "1a" must`:      {Priority: "info", Fields: map[string]string{"1a": ""}},
		`fields: "" must`:        {Priority: "info", Fields: map[string]string{"": ""}},
		"fields: \"a\\nb\" must": {Priority: "info", Fields: map[string]string{"a\nb": ""}},
		`fields: "grün" must`:    {Priority: "info", Fields: map[string]string{"grün": ""}},
		strings.Repeat("x", 65):  {Priority: "info", Fields: map[string]string{strings.Repeat("x", 65): ""}},
	} {
		err := r.Validate()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// The eight priorities keep their order as levels.
func TestMsgLevels(t *testing.T) {
	var levels []slog.Level
	for i := range priorities {
		levels = append(levels, level(i))
	}
	down := slices.Clone(levels)
	slices.Sort(down)
	slices.Reverse(down)
	if !slices.Equal(levels, down) || len(slices.Compact(down)) != len(priorities) {
		t.Errorf("levels %v", levels)
	}
	if level(3) != slog.LevelError || level(4) != slog.LevelWarn || level(6) != slog.LevelInfo || level(7) != slog.LevelDebug {
		t.Errorf("levels %v", levels)
	}
}

// The enumeration that the schema shows is the one that the code knows.
func TestMsgEnum(t *testing.T) {
	k, err := engine.DefaultRegistry().Kind("msg")
	if err != nil {
		t.Fatal(err)
	}
	if got := k.Type.Field("priority").Type.Enum; !slices.Equal(got, priorities) {
		t.Errorf("the schema has %v", got)
	}
}
