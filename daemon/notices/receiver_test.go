package notices_test

import (
	"context"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/daemon/notices"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// TestFindingsHavePlaces: all that is wrong is said at once, with the place, also inside of a filter.
func TestFindingsHavePlaces(t *testing.T) {
	n, ds := yaml.Document("/etc/mgmt/mgmt.yaml", []byte(`
- name: a
  filter: outcome == "failed" && knd == "svc"
  journal: true
- name: a
  filter: "outcome"
  webhook: {url: "ftp://x"}
  group: -1s
- name: B
  mail: {to: ["a@b\nBcc: c@d"], sendmail: mail}
  command: [page]
  colour: red
- name: c
- name: d
  webhook: {secret_file: key}
`))
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	_, ds = notices.Read(n)
	ds.Sort()
	var got []string
	for _, d := range ds {
		got = append(got, strings.TrimPrefix(d.String(), "/etc/mgmt/mgmt.yaml:"))
	}
	want := []string{
		`3:34: filter: there is no "knd" here (did you mean "kind"?)`,
		`5:9: another receiver is called a, too`,
		`6:12: filter: it has to be true or false, and this is text`,
		`7:18: webhook.url: it is not a URL of the form https://HOST/PATH`,
		`8:10: [1].group is -1s, it must not be negative`,
		`9:9: [2].name must be text that matches`,
		`9:3: a receiver has one of journal, webhook, mail and command, and not mail and command`,
		`10:15: mail.to[0]: "a@b\nBcc: c@d" is not an address such as root@example.org`,
		`10:43: mail.sendmail: write an absolute path`,
		`11:12: command: write a list that begins with the absolute path of a program`,
		`12:3: unknown key "colour" in [2]`,
		`13:3: a receiver needs one of journal: true, webhook, mail and command`,
		`15:12: webhook: write url or url_file`,
	}
	for _, w := range want {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, w) }) {
			t.Errorf("%q is missing", w)
		}
	}
	if len(got) != len(want) || t.Failed() {
		t.Errorf("%d findings:\n%s", len(got), strings.Join(got, "\n"))
	}
}

// TestTextIsReadAgain: the text of receivers gives the same receivers.
func TestTextIsReadAgain(t *testing.T) {
	n, _ := yaml.Document("/etc/mgmt/mgmt.yaml", []byte(`
- {name: a, filter: 'outcome == "failed"', group: 90s, max_size: 2MiB, max_age: 2d, timeout: 5s, webhook: {url: "https://x/y", secret_file: key, ca: /ca}}
- {name: b, mail: {to: [root, a@b.c], from: x@y.z}}
- {name: c, command: [/bin/page, "a b"]}
- {name: d, journal: true}
`))
	list, ds := notices.Read(n)
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	if f := list[0].Webhook.SecretFile; f != "/etc/mgmt/key" {
		t.Errorf("a relative path is %s", f)
	}
	text := notices.Text(list)
	again, ds := notices.Parse(text)
	if ds.Err() != nil || notices.Text(again) != text || len(again) != 4 {
		t.Errorf("%s\nis read as\n%s\n%v", text, notices.Text(again), ds)
	}
}

// TestFilters: a filter knows what an event has. One that can't be computed tells nothing, and says so.
func TestFilters(t *testing.T) {
	h := newHook(t)
	for filter, want := range map[string]bool{
		`outcome == "failed"`:                       true,
		`kind == "svc" && name == "a]b"`:            true,
		`resource == "svc[a]b]"`:                    true,
		`error.contains("status 7")`:                true,
		`labels[?"tier"].orValue("") == "db"`:       true,
		`labels[?"none"].orValue("") == "db"`:       false,
		`labels.tier == "db" && module == "web"`:    true,
		`"event" in causes && "content" in fields`:  true,
		`by == "/usr/bin/vim" && attempt > 1`:       true,
		`host == "web1" && !noop`:                   true,
		`at > "2000" && state == "failed"`:          true,
		`class == "intended"`:                       false,
		`labels.none == "db" || outcome == "never"`: false, // can't be computed
	} {
		g := newRig(t)
		g.clock = enginetest.NewClock()
		g.start(h.settings(", filter: '" + filter + "'"))
		before := len(h.messages())
		g.happens("failed", "svc[a]b]", `,"error":"exit status 7","class":"corrective","state":"failed","attempt":2,"by":"/usr/bin/vim",`+
			`"triggers":[{"cause":"event"}],"changes":[{"field":"content","from":"hush","to":"hush"}]`)
		g.stop()
		if got := len(h.messages()) > before; got != want {
			t.Errorf("%s: told is %t", filter, got)
		}
		if err := errText(g.of("ops").Err); strings.Contains(filter, "never") != (err != "") {
			t.Errorf("%s: the error is %q", filter, err)
		}
	}
	for _, m := range h.messages() {
		if strings.Contains(string(m.body), "hush") {
			t.Errorf("a value has left the machine: %s", m.body)
		}
	}
}

// TestDecisionsAreTold: a filter selects what waits for a person, and what that person has decided. The text says who, and why.
func TestDecisionsAreTold(t *testing.T) {
	const held = `,"held":{"limit":"approval","reason":"a person has to approve it (mgmt approve)"}`
	for _, c := range []struct{ filter, outcome, rest, want string }{
		{`outcome == "held" && limit == "approval"`, "held", held, "waits for an approval"},
		{`limit == "budget" && error != ""`, "held", `,"held":{"limit":"budget","reason":"10 changes in 1m"}`, "held: 10 changes in 1m"},
		{`outcome == "approved" && by == "alice" && reason == "ticket 4711"`, "approved", `,"by":"alice","reason":"ticket 4711"`, "approved by alice: ticket 4711"},
		{`outcome == "approved" && reason == ""`, "approved", `,"by":"alice"`, "approved by alice"},
		{
			`outcome == "rejected" && limit == "approval" && error == ""`, "rejected",
			`,"by":"bob","reason":"not today","held":{"limit":"approval","reason":"rejected by bob: not today"}`, "rejected by bob: not today",
		},
		{`outcome == "held" && limit == "approval"`, "held", `,"held":{"limit":"window","reason":"not now"}`, ""},
	} {
		h, g := newHook(t), newRig(t)
		g.clock = enginetest.NewClock()
		g.start(h.settings(", filter: '" + c.filter + "'"))
		g.happens(c.outcome, "file[/etc/motd]", c.rest)
		g.stop()
		var got strings.Builder
		for _, m := range h.messages() {
			got.WriteString(strings.TrimPrefix(m.Text, "web1: file[/etc/motd] "))
		}
		if got.String() != c.want {
			t.Errorf("%s: told is %q, want %q", c.filter, got.String(), c.want)
		}
	}
}

// TestMailHasNoForeignHeader: what an event says makes no header, whatever is in it, and is there in the text.
func TestMailHasNoForeignHeader(t *testing.T) {
	const evil = "x\r\nBcc: evil@example.org\n\nbody\u2028é\x00"
	var letters []string
	g := newRig(t)
	g.command = func(_ context.Context, c engine.Command) (*engine.Result, error) {
		if slices.Compare(c.Argv, []string{"/usr/sbin/sendmail", "-t", "-i"}) != 0 {
			t.Errorf("the agent is called so: %q", c.Argv)
		}
		letters = append(letters, string(c.Stdin))
		return &engine.Result{}, nil
	}
	g.clock = enginetest.NewClock()
	g.start("[{name: ops, mail: {to: [root, a@b.c], from: mgmt@example.org}}]")
	data := strings.NewReplacer("\r", `\r`, "\n", `\n`, "\x00", `\u0000`).Replace(evil)
	g.happens("failed", "file[/"+evil+"]", `,"error":"`+data+strings.Repeat("long ", 50)+`"`)
	g.stop()
	if len(letters) != 1 {
		t.Fatalf("%d mails", len(letters))
	}
	m, err := mail.ReadMessage(strings.NewReader(letters[0]))
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for key := range m.Header {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	if got := strings.Join(keys, " "); got != "Auto-Submitted Content-Transfer-Encoding Content-Type Date From Message-Id Mime-Version Subject To" {
		t.Errorf("the headers are %s in\n%s", got, letters[0])
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || !strings.HasPrefix(subject, "web1: file[/x  Bcc: evil@example.org  body é ] failed") || m.Header.Get("To") != "root, a@b.c" {
		t.Errorf("%q, %v, to %s", subject, err, m.Header.Get("To"))
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil || !strings.Contains(string(body), "long long") {
		t.Errorf("%q, %v", body, err)
	}
	for line := range strings.SplitSeq(letters[0], "\n") {
		if len(line) > 998 || strings.ContainsAny(line, "\r\x00") {
			t.Errorf("a line has %d bytes: %q", len(line), line)
		}
	}
}
