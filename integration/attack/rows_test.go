package attack_test

import (
	"fmt"
	"strings"
)

// A row is a way in which a graph names a path that another user can alter.
type row struct {
	kind   string
	name   string
	params string // the parameters that it covers, beside the identity

	// graph returns the resource. p.file is the path that the attacker can alter.
	graph func(p place) string

	file   string            // the last element of the path; f if empty
	dir    bool              // it is a folder
	reads  bool              // the path is read: the output is p.out
	mine   string            // what is in the attacker's own file, so that the kind has something to do
	victim string            // what is in the victim; the secret token is always added
	routes []string          // lastLink and aboveLink if empty
	tar    bool              // file and victim are archives with mine and victim in them
	extra  map[string]string // files that root makes, below the place
	unseen bool              // it does nothing that can be seen, even where nobody attacks
	home   bool              // the attacker's home is p.user
}

// The routes of an attack.
const (
	lastLink  = "last"   // the last element is a link to the victim
	aboveLink = "above"  // the folder above it is a link to the victim's folder
	setuid    = "setuid" // her own 6755 program is there
	acl       = "acl"    // her own file with an ACL for her is there
	wide      = "wide"   // her own 0777 file is there
)

var own = []string{lastLink, aboveLink, setuid, acl, wide}

// nothing is an empty text, where the empty one means the usual.
const nothing = "(nothing)"

const sshKey = "AAAAC3NzaC1lZDI1NTE5AAAAIO6GETXd7xt9QLRqKWCfMA5HdBsS4xeU87ctbVKTluNz"

const aptID = "9E694A0A6AB6DA43DA678CA6C01A8E626F088CD3"

const aptKey = `-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEawFshBYJKwYBBAHaRw8BAQdA7oYRNd3vG31AtGopYJ8wDkd0GxLjF5Tzty1t
UpOW43m0FlRlc3QgYSA8YUBleGFtcGxlLmNvbT6IkAQTFggAOBYhBJ5pSgpqttpD
2meMpsAajmJvCIzTBQJrAWyEAhsDBQsJCAcCBhUKCQgLAgQWAgMBAh4BAheAAAoJ
EMAajmJvCIzTJDABANTQShrmuU3g3eZesLB+XZvyh2aMZ5mGp2p0+E6/SrmYAP9k
qeCfXjxrFHksyCM76YqZeOSW2HpCjXMthKBm2jt6Aw==
=rkBH
-----END PGP PUBLIC KEY BLOCK-----
`

// item is a resource of a kind, as flow YAML.
func item(format string, args ...any) func(place) string {
	return func(p place) string {
		r := strings.NewReplacer("FILE", p.file, "OUT", p.out, "BASE", p.base, "ID", p.id)
		return r.Replace(fmt.Sprintf(format, args...))
	}
}

func rows() []row {
	return append(append(fileRows(), textRows()...), madeRows()...)
}

func fileRows() []row {
	return []row{
		{kind: "file", name: "content", graph: item(`{name: FILE, content: "new ID\n"}`)},
		{kind: "file", name: "content of root", routes: own, graph: item(`{name: FILE, content: "new\n", owner: root, group: root}`)},
		{kind: "file", name: "content, part of the mode", routes: own, graph: item(`{name: FILE, content: "new\n", owner: root, group: root, mode: go-w}`)},
		{kind: "file", name: "owner", routes: []string{lastLink, aboveLink, setuid, acl}, graph: item(`{name: FILE, owner: root, group: root}`)},
		{kind: "file", name: "owner is the attacker", graph: item(`{name: FILE, owner: "%d", mode: "0640"}`, attackerUID)},
		{kind: "file", name: "mode", graph: item(`{name: FILE, mode: "0666"}`)},
		{kind: "file", name: "part of the mode", routes: []string{lastLink, aboveLink, setuid}, graph: item(`{name: FILE, owner: root, group: root, mode: go-w}`)},
		{kind: "file", name: "force", params: "force", graph: item(`{name: FILE, content: "new\n", force: true}`)},
		{kind: "file", name: "absent", graph: item(`{name: FILE, state: absent}`)},
		{kind: "file", name: "absent folder", dir: true, params: "recurse", graph: item(`{name: FILE/, state: absent, recurse: true, force: true}`)},
		{kind: "file", name: "link", params: "symlink", graph: item(`{name: FILE, symlink: true, source: /nonexistent, force: true}`)},
		{kind: "file", name: "folder", dir: true, graph: item(`{name: FILE/, owner: "%d", mode: "0777"}`, attackerUID)},
		{kind: "file", name: "folder by force", dir: true, graph: item(`{name: FILE/, force: true, mode: "0777"}`)},
		{kind: "file", name: "purge", dir: true, params: "purge", graph: item(`{name: FILE/, recurse: true, purge: true}`)},
		{kind: "file", name: "copied to", dir: true, extra: map[string]string{"src/f": "new\n"}, graph: item(`{name: FILE/, source: BASE/src/, recurse: true}`)},
		{kind: "file", name: "copied and purged", dir: true, extra: map[string]string{"src/g": "new\n"}, graph: item(`{name: FILE/, source: BASE/src/, recurse: true, purge: true}`)},
		{kind: "file", name: "dirname", params: "dirname basename path", graph: item(`{name: ID, path: /x/f, dirname: %s, basename: f, content: "new\n"}`, "BASE/user/sub/")},
		{kind: "file", name: "source", params: "source", reads: true, graph: item(`{name: OUT, source: FILE, mode: "0644"}`)},
		{kind: "file", name: "source of root", reads: true, routes: own, graph: item(`{name: OUT, source: FILE, owner: root, group: root}`)},
		{kind: "file", name: "source folder", reads: true, dir: true, graph: item(`{name: OUT/, source: FILE/, recurse: true, mode: "0755"}`)},
		{kind: "file", name: "fragments", params: "fragments", reads: true, graph: item(`{name: OUT, fragments: [FILE], mode: "0644"}`)},
		{kind: "file", name: "fragments of a folder", reads: true, dir: true, graph: item(`{name: OUT, fragments: [FILE/], mode: "0644"}`)},
	}
}

func textRows() []row {
	return []row{
		{kind: "line", name: "added", params: "file", graph: item(`{name: ID, file: FILE, content: "new ID"}`)},
		{kind: "line", name: "removed", mine: "mine\nvictim\n", graph: item(`{name: ID, file: FILE, match: "victim", state: absent}`)},
		{kind: "ini_setting", name: "set", params: "path", graph: item(`{name: ID, path: FILE, section: a, setting: b, value: c}`)},
		{kind: "ini_setting", name: "removed", mine: "[a]\nb = c\n", victim: "[a]\nb = c\n", graph: item(`{name: ID, path: FILE, section: a, setting: b, ensure: absent}`)},
		{kind: "crontab", name: "job", params: "target", graph: item(`{name: ID, target: FILE, command: /bin/true, special: daily}`)},
		{kind: "host", name: "line", params: "target", graph: item(`{name: h-ID.example, target: FILE, ip: 192.0.2.1}`)},
		{kind: "sysctl", name: "kept", file: "f.conf", params: "path", graph: item(`{name: ID, key: vm.swappiness, value: "60", runtime: false, path: FILE}`)},
		{kind: "apt_key", name: "added", file: "f.asc", mine: nothing, victim: nothing, params: "keyring", graph: func(p place) string {
			return fmt.Sprintf("{name: %s, id: %s, keyring: %s, content: %q}", p.id, aptID, p.file, aptKey)
		}},
		{kind: "apt_key", name: "removed", file: "f.asc", mine: aptKey, victim: aptKey, graph: item(`{name: ID, id: %s, keyring: FILE, ensure: absent}`, aptID)},
		{kind: "apt_key", name: "source", reads: true, unseen: true, params: "source", mine: aptKey, victim: "", graph: item(`{name: ID, id: %s, keyring: OUT, source: FILE}`, aptID)},
		{kind: "ssh_authorized_key", name: "target", params: "target", graph: item(`{name: ID, user: %s, target: FILE, type: ssh-ed25519, key: %s}`, attackerName, sshKey)},
		{kind: "ssh_authorized_key", name: "target of root", unseen: true, graph: item(`{name: ID, user: root, target: FILE, type: ssh-ed25519, key: %s}`, sshKey)},
		{kind: "ssh_authorized_key", name: "removed", mine: "ssh-ed25519 " + sshKey + " ID\n", victim: "ssh-ed25519 " + sshKey + " ID\n",
			graph: item(`{name: ID, user: %s, target: FILE, ensure: absent}`, attackerName)},
		{kind: "ssh_authorized_key", name: "home", file: "authorized_keys", home: true, graph: item(`{name: ID, user: u-ID, type: ssh-ed25519, key: %s}`, sshKey)},
		{kind: "ssh_authorized_key", name: "home, removed", file: "authorized_keys", home: true, mine: "ssh-ed25519 " + sshKey + " ID\n", victim: "ssh-ed25519 " + sshKey + " ID\n",
			graph: item(`{name: ID, user: u-ID, ensure: absent}`)},
		{kind: "mount", name: "table", params: "fstab", graph: item(`{name: /mnt/ID, state: unmounted, device: none, type: tmpfs, fstab: FILE}`)},
		{kind: "mount", name: "device", params: "device", reads: true, dir: true, unseen: true, extra: map[string]string{"point/f": "\n"},
			graph: item(`{name: BASE/point, device: FILE, options: [bind], persist: false}`)},
		{kind: "mount", name: "point", params: "path", dir: true, unseen: true, graph: item(`{name: FILE, device: none, type: tmpfs, persist: false}`)},
	}
}

func madeRows() []row {
	image := map[string]string{
		"etc/passwd": fmt.Sprintf("root:x:0:0::/root:/bin/sh\nID:x:%d:%[1]d::/user/old:/bin/sh\n", attackerUID), "etc/group": "root:x:0:\ng:x:4000:\n", "etc/shadow": "", "etc/gshadow": "", "etc/skel/.profile": "x\n",
	}
	return []row{
		{kind: "download", name: "to", routes: own, extra: map[string]string{"src": "new\n"}, params: "path", graph: item(`{name: FILE, url: "file://BASE/src", owner: root, group: root}`)},
		{kind: "download", name: "from", reads: true, params: "url", graph: item(`{name: OUT, url: "file://FILE", mode: "0644"}`)},
		{kind: "gzip", name: "to", routes: own, params: "path", graph: item(`{name: FILE, content: "new\n", owner: root, group: root}`)},
		{kind: "gzip", name: "from", reads: true, params: "input", graph: item(`{name: OUT, input: FILE, mode: "0644", level: 0}`)},
		{kind: "tar", name: "to", routes: own, extra: map[string]string{"src": "new\n"}, params: "path", graph: item(`{name: FILE, inputs: [BASE/src], owner: root, group: root}`)},
		{kind: "tar", name: "from", reads: true, params: "inputs", graph: item(`{name: OUT, inputs: [FILE], mode: "0644"}`)},
		{kind: "tar", name: "from a folder", dir: true, reads: true, graph: item(`{name: OUT, inputs: [FILE/], mode: "0644"}`)},
		{kind: "tar", name: "unpacked to", dir: true, extra: map[string]string{"src.tar": archiveOf("f", "new\n")}, graph: item(`{name: FILE/, extract: BASE/src.tar}`)},
		{kind: "tar", name: "unpacked to her", dir: true, extra: map[string]string{"src.tar": archiveOf("f", "new\n")}, graph: item(`{name: FILE/, extract: BASE/src.tar, owner: "%d"}`, attackerUID)},
		{kind: "tar", name: "unpacked from", reads: true, tar: true, params: "extract", graph: item(`{name: OUT/, extract: FILE}`)},
		{kind: "exec", name: "cwd", dir: true, params: "cwd", graph: item(`{name: ID, shell: /bin/sh, cmd: "echo new > f", ifcmd: /bin/true, cwd: FILE}`)},
		{kind: "exec", name: "cwd of a condition", dir: true, params: "ifcwd nifcwd donecwd", graph: item(`{name: ID, cmd: /bin/true, shell: /bin/sh, nifshell: /bin/sh, nifcmd: "echo new > f", nifcwd: FILE}`)},
		{kind: "user", name: "home", dir: true, unseen: true, params: "homedir root", extra: image, graph: item(`{name: ID, root: BASE, homedir: /user/sub/f, managehome: true}`)},
		{kind: "user", name: "moved home", dir: true, unseen: true, extra: image, graph: item(`{name: ID, root: BASE, homedir: /user/sub/f, managehome: true}`)},
		{kind: "user", name: "image", dir: true, unseen: true, graph: item(`{name: ID, root: FILE}`)},
		{kind: "group", name: "image", dir: true, unseen: true, params: "root", graph: item(`{name: ID, root: FILE}`)},
	}
}
