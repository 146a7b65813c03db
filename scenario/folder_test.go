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
	if resources, run, _, _ := cover.Counts(); resources != 9 || run != 9 {
		t.Errorf("%d of %d resources have run", run, resources)
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
