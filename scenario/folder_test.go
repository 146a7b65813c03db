package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFolder: files and lines run their own code in the folder of the machine, so a test sees the content that the
// parts of a file make.
func TestFolder(t *testing.T) {
	got, cover := tested(t, `
graph: g
resources:
  file:
  - {name: /etc/app/all, fragments: [/etc/app/conf.d/], mode: "0640", owner: app}
  - {name: /etc/app/conf.d/10-a, content: "a\n"}
  - {name: /etc/app/conf.d/20-b, source: /usr/share/app/b}
  - {name: /etc/app/copies/, source: /usr/share/app/, recurse: true, purge: true}
  - {name: /etc/app/link, symlink: true, source: /etc/app/all}
  - {name: motd, path: /etc/motd, content: "hello\n"}
  - {name: /etc/old, state: absent}
  line:
  - {name: root, file: /etc/ssh/sshd_config, match: "^#?PermitRootLogin ", content: "PermitRootLogin no"}
  - {name: block, file: /etc/hosts, marker: "# {mark} app", content: "192.0.2.1 one\n192.0.2.2 two"}
`, `
graph: web.yaml
tests:
- name: a life
  machine:
    file:
    - {name: /usr/share/app/b, content: "b\n"}
    - {name: /etc/ssh/sshd_config, content: "Port 22\n#PermitRootLogin yes\nUsePAM yes\n", mode: "0600"}
    - {name: /etc/app/copies/stale}
    - {name: /etc/old}
  steps:
  - expect:
      file:
      - {name: /etc/app/all, content: "a\nb\n", mode: "0640", owner: app}
      - {name: /etc/ssh/sshd_config, content: "Port 22\nPermitRootLogin no\nUsePAM yes\n", mode: "0600"}
      - {name: /etc/hosts, content: "# BEGIN app\n192.0.2.1 one\n192.0.2.2 two\n# END app\n"}
      - {name: /etc/app/copies/b, content: "b\n"}
      - {name: /etc/app/copies/stale, state: absent}
      - {name: /etc/app/link, symlink: true, source: /etc/app/all}
      - {name: motd, content: "hello\n"}
      - {name: /etc/old, state: absent}
      line: [{name: root, content: PermitRootLogin no}]
      failed: []
  - drift: {file: [{name: /etc/ssh/sshd_config, content: "PermitRootLogin yes\n"}]}
    expect: {changed: ["line[root]"], file: [{name: /etc/ssh/sshd_config, content: "PermitRootLogin no\n", mode: "0600"}]}
  - drift: {file: [{name: /usr/share/app/b, content: "c\n"}]}
    expect: {file: [{name: /etc/app/all, content: "a\nc\n"}, {name: /etc/app/copies/b, content: "c\n"}]}
  - drift: {file: [{name: /etc/app/copies/more, content: x}]}
    expect: {changed: ["file[/etc/app/copies/]"], file: [{name: /etc/app/copies/more, state: absent}]}
  - drift: {file: [{name: motd, content: x}]}
    expect: {changed: ["file[motd]"], file: [{name: /etc/motd, content: "hello\n"}]}
  - drift: {file: [{name: /etc/app/all, owner: root}]}
    expect: {changed: ["file[/etc/app/all]"], file: [{name: /etc/app/all, owner: app}]}
  - drift: {line: [{name: block, marker: "# {mark} app", state: absent}]}
    expect: {changed: ["line[block]"], file: [{name: /etc/hosts, content: "# BEGIN app\n192.0.2.1 one\n192.0.2.2 two\n# END app\n"}]}
  - drift: {file: [{name: /etc/ssh/sshd_config, content: ""}]}
    fail: {"line[root]": the disk is full}
    expect: {failed: ["line[root]"], file: [{name: /etc/ssh/sshd_config, content: ""}]}
  - fail: {"line[root]": ""}
    expect: {changed: ["line[root]"], file: [{name: /etc/ssh/sshd_config, content: "PermitRootLogin no\n"}]}
`)
	if got != "" {
		t.Error(got)
	}
	if n := cover.Counts(); n.Resources != 9 || n.Ran != 9 {
		t.Errorf("coverage: %+v", n)
	}
}

// TestFolderOfCommands: commands write files, and an exec looks for its paths in the folder.
func TestFolderOfCommands(t *testing.T) {
	got, _ := tested(t, `
graph: g
resources:
  file: [{name: /etc/app.conf, content: a}]
  exec:
  - {name: key, cmd: make-key, creates: /etc/app.key}
  - {name: kept, cmd: make-other, creates: /etc/other.key}
  - {name: load, cmd: load, mtimes: [/etc/app.conf], depend: ["file[/etc/app.conf]"]}
  - {name: restart, cmd: restart, watchfiles: [/etc/app.conf, /etc/app.d], depend: ["file[/etc/app.conf]"]}
`, `
graph: web.yaml
tests:
- name: a life
  machine: {file: [{name: /etc/other.key, content: old}, {name: /etc/app.d/, state: exists}]}
  commands: [{cmd: make-key, files: {/etc/app.key: secret}}, {cmd: load}, {cmd: restart}]
  steps:
  - expect: {file: [{name: /etc/app.key, content: secret}, {name: /etc/other.key, content: old}], changed: ["file[/etc/app.conf]", "exec[key]", "exec[load]", "exec[restart]"]}
  - drift: {file: [{name: /etc/app.key, state: absent}]}
    expect: {changed: ["exec[key]"], file: [{name: /etc/app.key, content: secret}]}
  - drift: {file: [{name: /etc/app.d/new, content: x}]}
    expect: {changed: ["exec[restart]"]}
- name: no file
  machine: {file: [{name: /etc/other.key, content: old}]}
  commands: [{cmd: make-key}, {cmd: load}, {cmd: restart}]
`)
	if want := "t_test.yaml:13:3: exec[key] has failed: cmd ended well, but /etc/app.key does not exist after it"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestFolderWrong: a file that the test does not give is a failure of its resource, and a wrong content is shown line by line.
func TestFolderWrong(t *testing.T) {
	got, _ := tested(t, `
graph: g
resources:
  file: [{name: /a, source: /usr/share/none}, {name: /b, content: "one\ntwo\n"}]
  line: [{name: c, file: /c, content: x, create: false}]
`, `
graph: web.yaml
tests:
- name: wrong
  machine: {file: [{name: relative}], line: [{name: d, content: x}]}
- name: right
  steps: [{expect: {file: [{name: /b, content: "one\nthree\n"}, {name: /z}], failed: ["file[/a]", "line[c]"]}}]
- name: silent
`)
	for _, want := range []string{
		`5:20: file[relative]: path "relative" is not absolute`,
		`5:46: line[d]: file is empty`,
		"7:48: file[/b]: content differs\n      one\n    - three\n    + two",
		"7:65: file[/z] is not there",
		"8:3: file[/a] has failed: source: stat /usr/share/none: no such file or directory; a file that the graph does not make stands under machine",
		"8:3: line[c] has failed: /c does not exist; create: true makes it",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\n\nlacks %s", got, want)
		}
	}
}

// TestFolderHolds: no link and no path of a graph leads out of the folder, and nothing is left of it.
func TestFolderHolds(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	got, _ := tested(t, `
graph: g
resources:
  file:
  - {name: `+outside+`/here, content: x}
  - {name: /link, symlink: true, source: `+outside+`}
  - {name: /link/through, content: y, depend: ["file[/link]", "file[`+outside+`/here]"]}
  - {name: /up, symlink: true, source: ../../../../../../../..`+outside+`}
  - {name: /up/through, content: z, depend: ["file[/up]", "file[`+outside+`/here]"]}
`, `
graph: web.yaml
tests:
- name: held
  steps: [{expect: {file: [{name: `+outside+`/here, content: x}, {name: `+outside+`/through}]}}]
`)
	if got != "" {
		t.Error(got)
	}
	for _, dir := range []string{outside, temp} {
		if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
			t.Errorf("%s has %v, %v", dir, names, err)
		}
	}
}

// TestFolderOfArchives: archives are packed, compressed and unpacked in the folder of the machine.
func TestFolderOfArchives(t *testing.T) {
	got, _ := tested(t, `
graph: g
resources:
  file: [{name: /srv/app/}, {name: /srv/app/conf, content: "port 80\n"}, {name: /opt/}, {name: /opt/text, source: /var/text.gz}]
  tar:
  - {name: /var/app.tar, inputs: [/srv/app/, /etc/extra], owner: app}
  - {name: /opt/app/, extract: /var/app.tar.gz, owner: app}
  gzip:
  - {name: /var/app.tar.gz, input: /var/app.tar, mode: "0600"}
  - {name: /var/text.gz, content: "", level: 0}
  exec: [{name: told, cmd: tell}]
`, `
graph: web.yaml
tests:
- name: a life
  machine: {file: [{name: /etc/extra, content: "more\n"}], exec: [{name: told}]}
  commands: [{cmd: tell}]
  steps:
  - expect:
      file:
      - {name: /opt/app/conf, content: "port 80\n"}
      - {name: /opt/app/extra, content: "more\n"}
      - {name: /var/app.tar.gz, mode: "0600"}
      tar: [{name: /var/app.tar, owner: app, inputs: [/srv/app/, /etc/extra]}, {name: /opt/app/, extract: /var/app.tar.gz, owner: app}]
      gzip: [{name: /var/app.tar.gz, mode: "0600"}, {name: /var/text.gz, content: ""}]
      exec: [{name: told}]
      order: ["tar[/var/app.tar]", "gzip[/var/app.tar.gz]", "tar[/opt/app/]"]
  - drift: {file: [{name: /etc/extra, content: "less\n"}]}
    expect: {changed: ["tar[/var/app.tar]", "gzip[/var/app.tar.gz]", "tar[/opt/app/]"], file: [{name: /opt/app/extra, content: "less\n"}]}
  - drift: {file: [{name: /opt/app/conf, content: x}]}
    expect: {changed: ["tar[/opt/app/]"], file: [{name: /opt/app/conf, content: "port 80\n"}]}
`)
	if got != "" {
		t.Error(got)
	}
}

// TestFolderMeta: metaparameters, received values and several resources of one path have their meaning in the folder, too.
func TestFolderMeta(t *testing.T) {
	got, _ := tested(t, `
graph: g
resources:
  value: [{name: v, any: hello}]
  file:
  - {name: /noop/a, content: x, meta: {noop: true}}
  - {name: /reverse, content: x, meta: {reverse: true}}
  - {name: /received, content: "${{ sent('value[v].any') }}"}
  - {name: /polled, source: /src, meta: {poll: 60s, retry: 3, delay: 5s}}
  - {name: /etc/app.conf, mode: "0600"}
  exec: [{name: e, cmd: run}]
  line:
  - {name: output, file: /output, content: "${{ sent('exec[e].output') }}"}
  - {name: a, file: /etc/app.conf, content: a}
  - {name: b, file: /etc/app.conf, content: b}
  - {name: c, file: /etc/app.conf, content: c, state: absent}
`, `
graph: web.yaml
tests:
- name: a life
  machine: {file: [{name: /etc/app.conf, content: "c\n"}]}
  commands: [{cmd: run, output: "out"}]
  steps:
  - expect:
      file:
      - {name: /noop/a, state: absent}
      - {name: /reverse, content: x}
      - {name: /received, content: hello}
      - {name: /output, content: "out\n"}
      - {name: /etc/app.conf, mode: "0600"}
      failed: ["file[/polled]"]
  - {drift: {file: [{name: /src, content: b}]}, after: 2m, expect: {file: [{name: /polled, content: b}]}}
  - {drift: {file: [{name: /received, content: x}]}, expect: {file: [{name: /received, content: hello}], changed: ["file[/received]"]}}
  - {drift: {file: [{name: /polled, content: c}]}, after: 2m, expect: {file: [{name: /polled, content: b}], changed: ["file[/polled]"]}}
  - {drift: {file: [{name: /etc/app.conf, content: "c\n"}]}, expect: {changed: ["line[a]", "line[b]", "line[c]"]}}
`)
	if got != "" {
		t.Error(got)
	}
}

// TestFolderOfDownloads: a download is a file of the folder, whose content the test gives.
func TestFolderOfDownloads(t *testing.T) {
	const graph = `
graph: g
resources:
  file: [{name: /src, content: local}, {name: /copy, source: /opt/app, depend: ["download[app]"]}]
  download:
  - {name: app, path: /opt/app, url: "https://example.com/app", mode: "0750", owner: app}
  - {name: /opt/local, url: "file:///src"}
`
	got, _ := tested(t, graph, `
graph: web.yaml
tests:
- name: a life
  downloads: {"https://example.com/app": "v1"}
  steps:
  - expect:
      file: [{name: /opt/app, content: v1, mode: "0750"}, {name: /copy, content: v1}, {name: /opt/local, content: local}]
      download: [{name: app, url: "https://example.com/app", owner: app, mode: "0750"}]
  - drift: {file: [{name: /opt/app, content: x}]}
    expect: {order: ["download[app]"], file: [{name: /opt/app, content: v1}, {name: /copy, content: v1}]}
  - drift: {download: [{name: app, owner: root}]}
    expect: {changed: ["download[app]"], download: [{name: app, owner: app}]}
  - drift: {file: [{name: /opt/app, content: x}]}
    fail: {"download[app]": the line is cut}
    expect: {failed: ["download[app]"], file: [{name: /opt/app, content: x}]}
- name: a list
  downloads: ["https://example.com/app"]
  steps: [{expect: {file: [{name: /opt/app, content: ""}]}}]
- name: not given
  downloads: {"https://example.com/other": "v1"}
`)
	const want = `t_test.yaml:20:3: download[app] has failed: the test has no download of https://example.com/app: write its address and its content under downloads`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
