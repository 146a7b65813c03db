package puppet

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// presence says what the words of ensure are in kinds whose states are exists and absent.
var presence = map[string]string{"present": "exists", "absent": "absent"}

// packageType refuses attributes that would install something else as a whole: without them
// another package could come.
var packageType = &kindType{
	name: "package", kind: "pkg", how: convert,
	attributes: append([]attribute{
		{name: "name", how: same},
		{name: "ensure", how: convert, to: "state", note: "`present` and `installed`: installed; `latest`: newest; `absent`: uninstalled; any other text is a version", do: packageEnsure},
		{name: "provider", how: convert, to: "meta.backend", note: "`apt`, `aptitude` and `dpkg`: apt; `dnf` and `yum`: dnf; `zypper`, `pacman`, `apk`; with `rpm` the package manager of the system; others are refused",
			do: backendBy("mgmt installs packages of the system only", map[string]string{
				"apt": "apt", "aptitude": "apt", "dpkg": "apt", "dnf": "dnf", "yum": "dnf", "rpm": "", "zypper": "zypper", "pacman": "pacman", "apk": "apk",
			})},
		{name: "reinstall_on_refresh", how: refused, note: "a refresh installs nothing again", do: except(false, "a refresh installs nothing again", "false")},
		{name: "mark", how: refused, note: "mgmt does not hold packages", do: except(false, "mgmt does not hold packages", "none")},
		{name: "allow_virtual", how: ignored, note: "names are the names of the package manager"},
		{name: "allowcdrom", how: ignored, note: "never a question is asked"},
		{name: "configfiles", how: refused, note: "configuration files are kept", do: except(false, "configuration files are kept", "keep")},
	}, breaking("mgmt installs packages of the repositories of the system, without options", "source", "install_options", "uninstall_options", "responsefile",
		"adminfile", "flavor", "package_settings", "enable_only", "install_only", "command", "instance", "status", "category", "platform", "root", "vendor", "description")...),
}

// packageEnsure translates the wanted state of a package. Words for which mgmt has no
// state are refused with the reason, and all other text is a version.
func packageEnsure(t *translation, p *param) {
	text, ok := t.scalar(p)
	if !ok {
		return
	}
	switch text {
	case "present", "installed", "true":
		text = "installed"
	case "latest":
		text = "newest"
	case "absent":
		text = "uninstalled"
	case "purged", "disabled", "held":
		t.refuse(p.name, "mgmt has no state "+text+" of a package", true)
		return
	}
	t.set("state", textNode(t.at, text), p)
}

const notInit = "mgmt asks the service manager, not scripts"

// serviceType says restart where nothing is said, since Puppet restarts at a refresh. Our kind
// would try a reload first.
var serviceType = &kindType{
	name: "service", kind: "svc", how: convert, refreshes: true,
	attributes: append([]attribute{
		{name: "name", how: same},
		{name: "ensure", how: convert, to: "state", note: "`running` or `stopped`",
			do: wordsTo("state", map[string]string{"running": "running", "true": "running", "stopped": "stopped", "false": "stopped"})},
		{name: "enable", how: convert, to: "startup", note: "`true`: enabled; `false`: disabled; `mask`: masked",
			do: wordsTo("startup", map[string]string{"true": "enabled", "false": "disabled", "mask": "masked"})},
		{name: "hasstatus", how: ignored, note: "the service manager knows"},
		{name: "hasrestart", how: ignored, note: "the service manager restarts"},
		{name: "restart", how: convert, to: "refresh", note: "a command that has the service manager reload or restart the service: reload, restart or try; any other one is refused, and the service manager restarts it. Without one a refresh restarts, as in Puppet", do: serviceRestart},
		{name: "status", how: convert, note: "a command that asks the service manager for the service; any other one is refused", do: serviceStatus},
		{name: "pattern", how: ignored, note: "the service manager knows what runs"},
		{name: "path", how: ignored, note: "the service manager knows"},
		{name: "timeout", how: ignored, note: "the service manager has its own"},
		{name: "provider", how: convert, to: "meta.backend", note: "`systemd`; `openrc` and `gentoo`: openrc; `runit`; `init`, `debian` and `redhat`: sysv; with `service` and `base` the service manager of the system; others are refused",
			do: backendBy("mgmt uses the service manager of the system", map[string]string{
				"systemd": "systemd", "openrc": "openrc", "gentoo": "openrc", "runit": "runit", "init": "sysv", "debian": "sysv", "redhat": "sysv", "service": "", "base": "",
			})},
	}, breaking(notInit, "start", "stop", "binary", "control", "manifest", "flags", "logonaccount", "logonpassword")...),
	finish: func(t *translation) {
		if t.value.Get("refresh") == nil {
			t.put("refresh", textNode(t.at, "restart"))
		}
	},
}

// managerCall is a command that has the service manager do one thing with one service.
// It knows systemctl, service, invoke-rc.d and scripts of init, each with its path or without.
// Options other than -q are not read: such a command is another one.
var managerCall = lazyregexp.New(`^(?:/usr)?(?:/s?bin/)?(?:systemctl (?:-q |--quiet )?(?P<verb>[a-z-]+) (?P<name>\S+)|service (?P<name>\S+) (?P<verb>[a-z-]+)|` +
	`(?:invoke-rc\.d |/etc/(?:rc\.d/)?init\.d/)(?P<name>\S+) (?P<verb>[a-z-]+))$`)

// asksManager returns the action that a command asks of the service manager for the
// service of a resource; false for another command, or another service.
// The name may have the suffix .service in either place.
func (t *translation) asksManager(p *param) (verb string, ok bool) {
	if p.secret || !isScalar(p.value) {
		return "", false
	}
	m := managerCall.FindStringSubmatch(strings.Join(strings.Fields(p.value.Text), " "))
	var name string
	for i, group := range managerCall.SubexpNames() {
		switch {
		case m == nil || m[i] == "":
		case group == "verb":
			verb = m[i]
		case group == "name":
			name = strings.TrimSuffix(m[i], ".service")
		}
	}
	return verb, name != "" && name == strings.TrimSuffix(cmp.Or(t.text("name"), t.title), ".service")
}

// refreshes says what a command for a restart is as a refresh.
// try stands for a reload where the service can do that, and a restart otherwise.
var refreshes = map[string]string{
	"restart": "restart", "reload": "reload", "force-reload": "try", "reload-or-restart": "try", "try-reload-or-restart": "try", "try-restart": "restart", "condrestart": "restart",
}

// serviceRestart takes a command only where it asks the service manager to restart: mgmt
// does that by itself. Any other command is refused.
func serviceRestart(t *translation, p *param) {
	verb, ok := t.asksManager(p)
	if word := refreshes[verb]; ok && word != "" {
		t.set("refresh", textNode(t.at, word), nil)
		return
	}
	t.refuse(p.name, notInit+": it restarts the service", false)
}

// serviceStatus takes a command only where it asks the service manager for the state.
func serviceStatus(t *translation, p *param) {
	verb, ok := t.asksManager(p)
	if !ok || verb != "status" && verb != "is-active" {
		t.refuse(p.name, notInit+": it knows whether the service runs", false)
	}
}

// userType takes Puppet's hash of a password as it is. It is a secret here.
var userType = &kindType{
	name: "user", kind: "user", how: convert,
	attributes: append([]attribute{
		{name: "name", how: same},
		{name: "ensure", how: convert, to: "state", note: "`present`: exists; `absent`", do: wordsTo("state", presence)},
		{name: "uid", how: convert, to: "uid", note: "a number, or digits", do: numberTo("uid")},
		{name: "gid", how: convert, to: "gid, group", note: "a number is gid, a name is group", do: userGID},
		{name: "groups", how: convert, to: "groups", note: "one or a list", do: textsTo("groups")},
		{name: "home", how: rename, to: "homedir"},
		{name: "allowdupe", how: rename, to: "allowduplicateuid"},
		{name: "provider", how: convert, to: "meta.backend", note: "`useradd`: shadow; others are refused", do: backendBy("mgmt has the users of the databases of the machine", map[string]string{"useradd": "shadow"})},
		{name: "forcelocal", how: ignored, note: "users are those of this machine"},
	}, append(sames("shell", "comment", "password", "membership", "managehome", "system", "expiry",
		"password_min_age", "password_max_age", "password_warn_days"),
		refusals("mgmt has nothing of it", "purge_ssh_keys", "roles", "auths", "profiles", "keys", "project", "attributes", "salt", "iterations", "loginclass",
			"role_membership", "auth_membership", "profile_membership", "key_membership", "attribute_membership", "ia_load_module")...)...),
}

// isNumber reports whether a text is digits alone.
func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// numberTo returns a conversion of a number, which may be written as text.
// Digits are kept as they are, also beyond 64 bits: the kind's own type judges them.
func numberTo(key string) func(*translation, *param) {
	return func(t *translation, p *param) {
		if text, ok := t.scalar(p); ok && isNumber(text) {
			t.set(key, numberNode(t.at, text), p)
		} else if ok {
			t.bad(p, "it must be a number, not %s", describe(p.value))
		}
	}
}

// userGID reads a group by number or by name, which are two parameters of our kind.
// A name of digits counts as a number.
func userGID(t *translation, p *param) {
	text, ok := t.scalar(p)
	if !ok {
		return
	}
	if isNumber(text) {
		t.set("gid", numberNode(t.at, text), p)
	} else {
		t.set("group", p.value, p)
	}
}

// textsTo returns a conversion of a text or a list of texts to a list.
func textsTo(key string) func(*translation, *param) {
	return func(t *translation, p *param) {
		if list, ok := t.scalars(p); ok {
			t.set(key, textsNode(t.at, list), p)
		}
	}
}

// groupType has the attributes that a group of the machine's own databases has.
var groupType = &kindType{
	name: "group", kind: "group", how: convert,
	attributes: append([]attribute{
		{name: "name", how: same},
		{name: "ensure", how: convert, to: "state", note: "`present`: exists; `absent`", do: wordsTo("state", presence)},
		{name: "gid", how: convert, to: "gid", note: "a number, or digits", do: numberTo("gid")},
		{name: "members", how: convert, to: "members", note: "one or a list", do: textsTo("members")},
		{name: "provider", how: convert, to: "meta.backend", note: "`groupadd`: shadow; others are refused", do: backendBy("mgmt has the groups of the databases of the machine", map[string]string{"groupadd": "shadow"})},
		{name: "forcelocal", how: ignored, note: "groups are those of this machine"},
	}, append(sames("system", "allowdupe", "auth_membership"),
		refusals("mgmt has nothing of it", "attributes", "attribute_membership", "ia_load_module")...)...),
}

var hostType = &kindType{
	name: "host", kind: "host", how: convert, note: "the kind has the names of Puppet's type",
	attributes: append([]attribute{
		{name: "name", how: same},
		{name: "host_aliases", how: convert, to: "host_aliases", note: "one or a list", do: textsTo("host_aliases")},
		{name: "provider", how: ignored, note: "there is one"},
	}, sames("ensure", "ip", "comment", "target")...),
}

// cronType names the job by the name or the title: Puppet finds its jobs in a crontab by that.
var cronType = &kindType{
	name: "cron", kind: "crontab", how: convert, note: "the kind has the names of Puppet's type, and takes over the jobs that Puppet has made",
	attributes: append([]attribute{
		{name: "name", how: convert, to: "job", note: "the title if it is not given"},
		{name: "environment", how: convert, to: "environment", note: "one or a list", do: textsTo("environment")},
		{name: "target", how: refused, whole: true, note: "mgmt edits the crontabs of users"},
		{name: "provider", how: ignored, note: "there is one"},
	}, sames("ensure", "command", "user", "minute", "hour", "weekday", "month", "monthday", "special")...),
	finish: func(t *translation) {
		t.set("job", textNode(t.at, cmp.Or(t.text("name"), t.title)), nil)
	},
}

// mountType translates ensure to the states of our kind: listed is a line in fstab without a
// mount.
var mountType = &kindType{
	name: "mount", kind: "mount", how: convert,
	attributes: []attribute{
		{name: "name", how: rename, to: "path"},
		{name: "ensure", how: convert, to: "state", note: "`mounted`: exists; `present` and `defined`: listed; `unmounted`; `absent`", do: wordsTo("state", mounted)},
		{name: "device", how: same},
		{name: "fstype", how: rename, to: "type"},
		{name: "options", how: convert, to: "options", note: "a text with commas between, or a list", do: mountOptions},
		{name: "dump", how: convert, to: "freq", note: "a number, or digits", do: numberTo("freq")},
		{name: "pass", how: convert, to: "passno", note: "a number, or digits", do: numberTo("passno")},
		{name: "target", how: rename, to: "fstab"},
		{name: "atboot", how: refused, note: "the option noauto says that; true is fine", do: except(false, "the option noauto says that", "true", "yes")},
		{name: "blockdevice", how: ignored, note: "it is found out"},
		{name: "remounts", how: ignored, note: "it is found out"},
		{name: "provider", how: ignored, note: "there is one"},
	},
}

// mounted says what the words of ensure are.
var mounted = map[string]string{"mounted": "exists", "present": "listed", "defined": "listed", "unmounted": "unmounted", "absent": "absent"}

// mountOptions splits options at commas, since our kind has a list.
// Blanks around an option are left out, and so are empty ones.
func mountOptions(t *translation, p *param) {
	list, ok := t.scalars(p)
	if !ok {
		return
	}
	var all []string
	for _, text := range list {
		for option := range strings.SplitSeq(text, ",") {
			if option = strings.TrimSpace(option); option != "" {
				all = append(all, option)
			}
		}
	}
	t.set("options", textsNode(t.at, all), p)
}

// sshKeyType sets the comment of the key to the name or the title of the resource.
var sshKeyType = &kindType{
	name: "ssh_authorized_key", kind: "ssh_authorized_key", how: convert, note: "the kind has the names of Puppet's type",
	attributes: append([]attribute{
		{name: "name", how: convert, to: "comment", note: "the title if it is not given"},
		{name: "options", how: convert, to: "options", note: "one or a list", do: textsTo("options")},
		{name: "provider", how: ignored, note: "there is one"},
	}, sames("ensure", "user", "key", "type", "target")...),
	finish: func(t *translation) {
		t.set("comment", textNode(t.at, cmp.Or(t.text("name"), t.title)), nil)
	},
}

// notifyType is silent: in Puppet a notify counts as changed in each run, and refreshes.
var notifyType = &kindType{
	name: "notify", kind: "msg", how: convert, silent: true,
	note: "a message does not count as a change: it goes out once, again when it is another one, and nothing is refreshed by it",
	attributes: []attribute{
		{name: "name", how: ignored, note: "it is the message where there is no other one"},
		{name: "message", how: convert, to: "body", note: "a list or a hash is written as JSON; the title if it is not given", do: (*translation).message},
		{name: "withpath", how: ignored, note: "a message is logged with its resource"},
	},
	finish: finishNotify,
}

// message writes anything but text as JSON, since Puppet would print it in Ruby's
// notation, which changes between versions.
func (t *translation) message(p *param) {
	v := p.value
	if !isScalar(v) {
		v = textNode(t.at, jsonOf(v))
	}
	t.set("body", v, p)
}

// priorities are the levels of Puppet that our kind msg has under the same names.
var priorities = []string{"debug", "info", "notice", "warning", "err", "alert", "emerg", "crit"}

// finishNotify sets the message and its priority. The word verbose is Puppet's and means
// info.
// Without a loglevel it is notice, as in Puppet.
func finishNotify(t *translation) {
	if t.param("message") == nil {
		t.put("body", textNode(t.at, cmp.Or(t.text("name"), t.title)))
	}
	level := "notice"
	if p := t.param("loglevel"); p != nil {
		level = p.value.Text
	}
	if level == "verbose" {
		level = "info"
	}
	if slices.Contains(priorities, level) {
		t.put("priority", textNode(t.at, level))
	}
}
