package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	_ "github.com/reactivegraph/mgmt/resources"
	"github.com/reactivegraph/mgmt/scenario"
)

const web = `
graph: web
vars:
  sites: {type: map, default: {}}
resources:
  pkg: [{name: nginx}]
  file:
  - name: /etc/motd
    content: "${{ facts.hostname }} runs ${{ size(vars.sites) }} sites\n"
  - name: "/etc/nginx/${{ each.key }}"
    for_each: ${{ vars.sites }}
    when: ${{ each.value.enabled }}
    content: "port ${{ each.value.port }}\n"
    depend: ["pkg[nginx]"]
    notify: ["exec[check]", "svc[nginx]"]
  exec: [{name: check, cmd: nginx -t, refreshonly: true}]
  svc: [{name: nginx, state: running, depend: ["pkg[nginx]", "exec[check]"]}]
`

// tested runs the tests of a text on a graph, and returns the failures, one a line.
func tested(t *testing.T, graph, tests string) (string, *scenario.Coverage) {
	t.Helper()
	return testedAmong(t, map[string]string{"web.yaml": graph}, tests)
}

// testedAmong runs the tests of a text in a folder of files, and returns the failures, one a line.
func testedAmong(t *testing.T, files map[string]string, tests string) (string, *scenario.Coverage) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n, ds := yaml.Document("t_test.yaml", []byte(tests))
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	f, ds := scenario.Read(n)
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	cover := &scenario.Coverage{}
	var lines []string
	for _, r := range scenario.Run(t.Context(), filepath.Join(dir, "t_test.yaml"), f, scenario.Options{Kinds: engine.DefaultRegistry()}, cover) {
		for _, fail := range r.Failures {
			lines = append(lines, strings.ReplaceAll(fail.Pos.String(), dir+"/", "")+": "+fail.Message)
		}
	}
	return strings.Join(lines, "\n"), cover
}

// wrong is a test with a fault: the text that follows the name of the test, and what its failures say.
type wrong struct{ name, test, want string }

// checkWrong runs each wrong test alone. A want that begins with = has no other failure.
func checkWrong(t *testing.T, files map[string]string, graph string, cases []wrong) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, _ := testedAmong(t, files, "graph: "+graph+"\ntests:\n- name: x\n  "+c.test+"\n")
			if whole, is := strings.CutPrefix(c.want, "="); !strings.Contains(got, whole) || is && got != whole {
				t.Errorf("%s\n\nwant %s", got, c.want)
			}
		})
	}
}

// TestStory: a fresh machine, drift, an outage that ends, and all that a step can expect.
func TestStory(t *testing.T) {
	got, cover := tested(t, web, `
graph: web.yaml
tests:
- name: a life
  facts: {hostname: w1}
  vars: {sites: {one: {enabled: true, port: 80}, two: {enabled: false, port: 81}}}
  machine: {pkg: [{name: nginx, state: uninstalled}]}
  commands: [{cmd: nginx -t}]
  steps:
  - expect:
      file: [{name: /etc/motd, content: "w1 runs 2 sites\n"}, {name: /etc/nginx/two, state: absent}]
      pkg: [{name: nginx, state: installed}]
      order: ["pkg[nginx]", "file[/etc/nginx/one]", "svc[nginx]"]
      failed: []
  - drift: {file: [{name: /etc/motd, content: x}]}
    expect: {changed: ["file[/etc/motd]"], refreshed: []}
  - drift: {file: [{name: /etc/nginx/one, content: x}]}
    expect: {changed: ["file[/etc/nginx/one]"], refreshed: ["exec[check]", "svc[nginx]"]}
  - drift: {pkg: [{name: nginx, state: uninstalled}], svc: [{name: nginx, state: stopped}]}
    fail: {"pkg[nginx]": mirror is down}
    after: 1h
    expect: {failed: ["pkg[nginx]"], blocked: ["svc[nginx]"]}
  - fail: {"pkg[nginx]": ""}
    expect: {failed: [], ok: ["pkg[nginx]", "svc[nginx]"], svc: [{name: nginx, state: running}]}
`)
	if got != "" {
		t.Error(got)
	}
	if n, want := cover.Counts(), (scenario.Counts{Resources: 5, Ran: 5, Asserted: 5, Branches: 2, Taken: 2}); n != want {
		t.Errorf("coverage: %+v", n)
	}
}

// TestWrong: each wrong expectation has its place and both values.
func TestWrong(t *testing.T) {
	checkWrong(t, map[string]string{"web.yaml": web}, "web.yaml", []wrong{
		{"content", `steps: [{expect: {file: [{name: /etc/motd, content: "w1\nhas\n"}]}}]`,
			"file[/etc/motd]: content differs\n    - w1\n    + host runs 0 sites\n    - has"},
		{"place", `steps: [{expect: {file: [{name: /etc/motd, content: "x"}]}}]`, "t_test.yaml:4:55: file[/etc/motd]"},
		{"absent", `steps: [{expect: {file: [{name: /etc/none, content: "x"}]}}]`, "t_test.yaml:4:28: file[/etc/none] is not there"},
		{"set", `steps: [{expect: {changed: ["pkg[nginx]"]}}]`, "file[/etc/motd] is changed, which the test does not expect"},
		{"order", `steps: [{expect: {order: ["svc[nginx]", "pkg[nginx]"]}}]`, "pkg[nginx] has changed before svc[nginx]"},
		{"kind", `steps: [{expect: {fil: []}}]`, `there is no kind "fil" (did you mean "file"?)`},
		{"key", `steps: [{expect: {file: [{name: /x, contnt: x}]}}]`, `unknown key "contnt"`},
		{"machine", `machine: {pkg: [{state: installed}]}`, "a thing is a map with a name"},
		{"failed", `steps: [{fail: {"pkg[nginx]": mirror is down}}]`, "pkg[nginx] has failed: mirror is down"},
		{"script", "vars: {sites: {a: {enabled: true, port: 1}}}\n  steps: [{}]", `the test has no command "nginx -t": write it under commands`},
		{"a thing with a wrong key is not told as a missing one", `steps: [{expect: {failed: [], file: [{name: /etc/motd, contnt: x}]}}]`, `=t_test.yaml:4:58: unknown key "contnt" (did you mean "content"?)`},
		{"no steps", "vars: {site: 1}", `the graph has no variable "site"`},
		{"no steps, and a failure", "vars: {sites: {a: {enabled: true, port: 1}}}", `t_test.yaml:3:3: exec[check] has failed`},
		{"variable", "vars: {site: 1}\n  steps: [{}]", `the graph has no variable "site"`},
		{"fact", "facts: {hostnam: x}\n  steps: [{}]", `unknown key "hostnam"`},
	})
}

// TestSent: a parameter is made of what other resources send, in front of the receiver, and made again when one of them sends another value.
func TestSent(t *testing.T) {
	const graph = `
graph: web
vars: {sites: {a: 1, b: 2}}
resources:
  exec:
  - {name: kernel, cmd: uname -s, trim: true}
  - {name: "site ${{ each.key }}", for_each: "${{ vars.sites }}", cmd: "site ${{ each.key }}", trim: true}
  value: [{name: n, any: 5}]
  password: [{name: app}]
  file:
  - name: /kernel
    content: "${{ sent('exec[kernel].output').lowerAscii() }} on ${{ facts.hostname }} ${{ string(sent('value[n].any')) }}\n"
  - name: "/${{ each.key }}"
    for_each: ${{ vars.sites }}
    content: "${{ sent('exec[site ' + each.key + '].output') }}=${{ each.value }}"
  - name: /password
    content: "${{ sha256(sent('password[app].password')).size() }}"
`
	got, _ := tested(t, graph, `
graph: web.yaml
tests:
- name: what is sent
  facts: {hostname: w1}
  commands: [{cmd: uname -s, output: "Linux\n"}, {cmd: site a, output: x}, {cmd: site b, output: y}]
  steps:
  - expect:
      file: [{name: /kernel, content: "linux on w1 5\n"}, {name: /a, content: x=1}, {name: /b, content: y=2}, {name: /password, content: "64"}]
      order: ["exec[kernel]", "file[/kernel]"]
  - drift: {file: [{name: /kernel, content: x}]}
    expect: {changed: ["file[/kernel]"], file: [{name: /kernel, content: "linux on w1 5\n"}]}
`)
	if got != "" {
		t.Error(got)
	}
}

// TestHosts: a test says which other hosts there are, and whom schedules have chosen.
func TestHosts(t *testing.T) {
	const graph = `
graph: web
resources:
  file:
  - {name: /peers, content: "${{ hosts.filter(h, h != facts.hostname).map(h, h + ' ' + string(hosts[h].cpus)).join(',') }}"}
  - {name: /job, when: "${{ scheduled('backup') }}", content: x}
`
	got, _ := tested(t, graph, `
graph: web.yaml
tests:
- name: chosen
  facts: {hostname: w1}
  hosts: {w2: {cpus: 8}, w3: {}}
  scheduled: {backup: [w1]}
  steps: [{expect: {file: [{name: /peers, content: "w2 8,w3 1"}, {name: /job, content: x}]}}]
- name: alone
  steps: [{expect: {file: [{name: /peers, content: ""}, {name: /job, state: absent}]}}]
- name: a wrong fact
  hosts: {w2: {cpu: 8}}
  steps: [{}]
`)
	if want := "t_test.yaml:12:16: unknown key \"cpu\""; !strings.HasPrefix(got, want) {
		t.Errorf("%s\n\nwant %s", got, want)
	}
}

// TestTimers: a timer ticks in virtual time, and what it notifies runs before the expectation.
func TestTimers(t *testing.T) {
	const graph = `
graph: web
resources:
  timer: [{name: t, interval: 20m, notify: ["exec[tick]"]}]
  exec: [{name: tick, cmd: tick, refreshonly: true}]
`
	for range 5 {
		got, _ := tested(t, graph, `
graph: web.yaml
tests:
- name: ticks
  commands: [{cmd: tick}]
  steps:
  - expect: {refreshed: []}
  - {after: 10m, expect: {refreshed: []}}
  - {after: 10m, expect: {refreshed: ["exec[tick]"]}}
  - {after: 19m, expect: {refreshed: []}}
  - {after: 1h, expect: {refreshed: ["exec[tick]"]}}
`)
		if got != "" {
			t.Fatal(got)
		}
	}
}
