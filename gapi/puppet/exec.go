package puppet

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// execTimeout is Puppet's default, in seconds.
// Our kind has no limit by itself.
const execTimeout = 300

var execType = &kindType{
	name: "exec", kind: "exec", how: convert, refreshes: true,
	note: "without a condition it runs once when mgmt starts, as it does once in each run of Puppet",
	attributes: []attribute{
		{name: "command", how: convert, to: "cmd, args, shell", note: "a list is run as it is; a text that a shell would do something with is run by `/bin/sh`, as Ruby does, any other one is split into words"},
		{name: "provider", how: convert, note: "`posix`, or `shell`, which always runs `/bin/sh`", do: except(true, "mgmt runs commands as posix and shell do", "posix", "shell")},
		{name: "path", how: convert, to: "env.PATH", note: "a list is joined by colons"},
		{name: "environment", how: convert, to: "env", note: "NAME=value, one or a list"},
		{name: "cwd", how: convert, to: "cwd, ifcwd, nifcwd", note: "the same for the conditions"},
		{name: "user", how: same},
		{name: "group", how: same},
		{name: "umask", how: convert, to: "cmd", note: "set by `/bin/sh` before the command"},
		{name: "creates", how: convert, to: "creates", note: "the same; mgmt calls it a failure if the command does not make it. Several become a part of nifcmd"},
		{name: "onlyif", how: convert, to: "ifcmd", note: "of a list all must succeed"},
		{name: "unless", how: convert, to: "nifcmd", note: "of a list none may succeed"},
		{name: "refreshonly", how: convert, to: "refreshonly", do: boolTo("refreshonly")},
		{name: "refresh", how: refused, whole: true, note: "a refresh runs the command itself; false is fine", do: except(true, "a refresh runs the command itself", "false")},
		{name: "returns", how: convert, to: "cmd", note: "other codes than 0 are judged by `/bin/sh` behind the command"},
		{name: "timeout", how: convert, to: "timeout", note: "seconds; 300 if it is not given, as in Puppet; 0 for none"},
		{name: "tries", how: convert, to: "meta.retry", note: "one less, counted anew after a success", do: (*translation).tries},
		{name: "try_sleep", how: convert, to: "meta.delay", note: "seconds", do: func(t *translation, p *param) {
			if d, ok := t.seconds(p); ok && d != "0s" {
				t.metaparam("delay", textNode(t.at, d))
			}
		}},
		{name: "logoutput", how: ignored, note: "the output of a failed command is in its error"},
	},
	finish: finishExec,
}

// line is one command: a text for a shell, or a list that is run as it is.
// Exactly one of both is set.
type line struct {
	text string
	argv []string
}

// script returns the command for a shell.
// The words of a list are quoted, so no shell expands them.
func (l line) script() string {
	if l.argv == nil {
		return l.text
	}
	quoted := make([]string, len(l.argv))
	for i, a := range l.argv {
		quoted[i] = shellQuote(a)
	}
	return strings.Join(quoted, " ")
}

// shellQuote quotes a word for a shell. A single quote ends the quotes, stands escaped,
// and begins them again.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// meta finds the reason for which Ruby gives a command to a shell. It is a sign that means
// something there, or a word at the beginning that only a shell knows. It is the rule of Ruby's
// Process.spawn for a command in one text.
var meta = lazyregexp.New("[*?{}\\[\\]<>()~&|\\\\$;'`\"\n#=%]" +
	`|^\s*(!|\.|:|break|case|continue|do|done|elif|else|esac|eval|exec|exit|export|fi|for|if|in|readonly|return|set|shift|then|times|trap|unset|until|while)(\s|$)`)

// plain reports whether a command needs no shell.
// A list never needs one, but it is not plain: our kind takes it by its words.
func (l line) plain() bool { return l.argv == nil && !meta.MatchString(l.text) }

// shell runs the commands that need a shell, as in Ruby.
const shell = "/bin/sh"

// execution is what the parameters of an exec say together.
// It lives for one call of finish.
type execution struct {
	*translation
	shell bool // everything is run by one
}

// finishExec reads the parameters of an exec that only together say how it runs. The order
// matters: folder and limit also set the conditions, which come before.
func finishExec(t *translation) {
	e := &execution{translation: t, shell: t.text("provider") == "shell"}
	e.command()
	e.environment()
	e.conditions()
	e.folder()
	e.limit()
}

// folder sets where all commands run.
// Puppet runs the conditions in the folder of the command; our kind has a folder for each.
// Only the conditions that were set before get one.
func (e *execution) folder() {
	p := e.param("cwd")
	if p == nil {
		return
	}
	for _, c := range []struct{ key, of string }{{"cwd", ""}, {"ifcwd", "ifcmd"}, {"nifcwd", "nifcmd"}} {
		if c.of == "" || e.value.Get(c.of) != nil {
			e.set(c.key, p.value, p)
		}
	}
}

// lines reads commands: a text is one, a list several; in a list another list is a command that
// is run as it is. An undef in a list is left out.
func (e *execution) lines(p *param) (list []line) {
	items := []*schema.Node{p.value}
	if p.value.Kind == schema.NodeList {
		items = p.value.Items
	}
	for _, n := range items {
		switch {
		case n.Kind == schema.NodeList:
			argv, ok := e.scalars(&param{name: p.name, value: n, secret: p.secret})
			if ok && len(argv) > 0 {
				list = append(list, line{argv: argv})
			}
		case isScalar(n):
			list = append(list, line{text: n.Text})
		case n.Kind != schema.NodeNull:
			e.bad(p, "a command is text or a list of texts, not %s", describe(n))
		}
	}
	return list
}

// command sets the command.
// The title is the command where none is given. A secret command becomes a secret parameter, or
// is refused by setSecret.
func (e *execution) command() {
	p := e.param("command")
	if p == nil {
		p = &param{name: "command", value: textNode(e.at, e.title)}
	}
	var l line
	if p.value.Kind == schema.NodeList {
		argv, ok := e.scalars(p)
		if !ok {
			return
		}
		l.argv = argv
	} else if text, ok := e.scalar(p); ok {
		l.text = text
	}
	if strings.TrimSpace(strings.Join(l.argv, "")+l.text) == "" {
		e.bad(p, "there is no command")
		return
	}
	script, wrapped := e.wrapped(l.script())
	switch {
	case wrapped || e.shell || l.argv == nil && !l.plain():
		e.set("shell", textNode(e.at, shell), nil)
		e.set("cmd", textNode(e.at, script), p)
	case len(l.argv) > 1:
		e.set("cmd", textNode(e.at, l.argv[0]), p)
		e.set("args", textsNode(e.at, l.argv[1:]), p)
	default:
		e.set("cmd", textNode(e.at, script), p)
	}
}

// wrapped puts what umask and returns ask for around a script.
// The shell judges the code, so a signal that ends the command is a failure in every case.
// It reports whether a shell is needed because of that. With returns the command runs in a
// subshell, so that an exit in it does not skip the judgement.
func (e *execution) wrapped(script string) (string, bool) {
	before := script
	if p := e.param("umask"); p != nil {
		mask, ok := e.scalar(p)
		if ok && !octalMask.MatchString(mask) {
			e.bad(p, "it must be octal, such as 022, not %s", describe(p.value))
		}
		script = "umask " + mask + "\n" + script
	}
	if codes := e.returns(); codes != nil {
		script = fmt.Sprintf("(\n%s\n)\ns=$?\ncase $s in\n%s) exit 0 ;;\n0) exit 1 ;;\nesac\nexit $s", script, strings.Join(codes, "|"))
	}
	return script, script != before
}

var octalMask = lazyregexp.New(`^0?[0-7]{1,4}$`)

// returns returns the codes that are success, nil where it is 0 alone.
// A code beyond 255 can't come from a process.
func (e *execution) returns() []string {
	p := e.param("returns")
	if p == nil {
		return nil
	}
	codes, ok := e.scalars(p)
	for _, c := range codes {
		if n, err := strconv.Atoi(c); err != nil || n < 0 || n > 255 {
			e.bad(p, "a code is a number from 0 to 255, not %s", quote(c))
			ok = false
		}
	}
	if !ok || len(codes) == 0 || slices.Equal(codes, []string{"0"}) {
		return nil
	}
	return codes
}

// environment sets the variables of all commands.
// path comes first, so a PATH in environment wins, as in Puppet.
// A later variable of one name takes the place of an earlier one. If one of the values is
// secret, all of env is.
func (e *execution) environment() {
	env := &schema.Node{Kind: schema.NodeMap, Pos: e.at}
	add := func(name, v string) {
		env.Pairs = slices.DeleteFunc(env.Pairs, func(p schema.Pair) bool { return p.Key == name })
		env.Pairs = append(env.Pairs, schema.Pair{Key: name, Pos: e.at, Value: textNode(e.at, v)})
	}
	from := &param{name: "environment"}
	if p := e.param("path"); p != nil {
		if dirs, ok := e.scalars(p); ok {
			add("PATH", strings.Join(dirs, ":"))
		}
		from.secret = p.secret
	}
	if p := e.param("environment"); p != nil {
		from.secret = from.secret || p.secret
		list, _ := e.scalars(p)
		for _, kv := range list {
			name, v, ok := strings.Cut(kv, "=")
			if !ok || name == "" {
				e.bad(p, "a variable is NAME=value, not %s", quote(kv))
				continue
			}
			add(name, v)
		}
	}
	if len(env.Pairs) > 0 {
		e.set("env", env, from)
	}
}

// conditions sets the questions before a run.
// Several files of creates become tests in the condition, since our kind waits for one
// file.
func (e *execution) conditions() {
	if p := e.param("onlyif"); p != nil {
		e.condition("if", e.lines(p), " &&\n", p)
	}
	var stop []line
	from := &param{name: "unless"}
	if p := e.param("unless"); p != nil {
		stop, from = e.lines(p), p
	}
	if p := e.param("creates"); p != nil {
		paths, ok := e.scalars(p)
		switch {
		case !ok:
		case len(paths) == 1:
			e.set("creates", textNode(e.at, paths[0]), p)
		default:
			for _, path := range paths {
				stop = append(stop, line{argv: []string{"test", "-e", path}})
			}
		}
	}
	e.condition("nif", stop, " ||\n", from)
}

// condition sets one command made of several.
// Several commands are joined by && or ||, each in a subshell of its own. The key is if or nif,
// which begins the parameters of our kind.
func (e *execution) condition(key string, lines []line, join string, from *param) {
	switch {
	case len(lines) == 0:
		return
	case len(lines) == 1 && lines[0].plain() && !e.shell:
		e.set(key+"cmd", textNode(e.at, lines[0].text), from)
		return
	}
	scripts := make([]string, len(lines))
	for i, l := range lines {
		scripts[i] = l.script()
		if len(lines) > 1 {
			scripts[i] = "(\n" + scripts[i] + "\n)"
		}
	}
	e.set(key+"shell", textNode(e.at, shell), nil)
	e.set(key+"cmd", textNode(e.at, strings.Join(scripts, join)), from)
}

// limit sets the timeout.
// Puppet has a limit of 300 seconds by default, our kind none; so it is always written.
func (e *execution) limit() {
	p := e.param("timeout")
	if p == nil {
		e.put("timeout", intNode(e.at, execTimeout))
		return
	}
	if d, ok := e.seconds(p); ok {
		e.set("timeout", textNode(e.at, d), nil)
	}
}

// seconds reads a number of seconds as a duration.
// Fractions are allowed. The bound of 1e9 s keeps it within a duration.
func (t *translation) seconds(p *param) (string, bool) {
	n := p.value
	if list := asList(n); len(list) == 1 {
		n = list[0]
	}
	if s, err := strconv.ParseFloat(n.Text, 64); err == nil && isScalar(n) && s >= 0 && s < 1e9 {
		return strconv.FormatFloat(s, 'f', -1, 64) + "s", true
	}
	t.bad(p, "it must be a number of seconds, not %s", describe(p.value))
	return "", false
}

// tries sets how often it is tried again. Puppet counts the tries of one run, our kind retries
// over all time; retryreset makes the two alike. Any value but a whole number from 1 is a
// finding.
func (t *translation) tries(p *param) {
	n, err := strconv.Atoi(p.value.Text)
	if err != nil || n < 1 {
		t.bad(p, "it must be a number from 1, not %s", describe(p.value))
		return
	}
	if n > 1 {
		t.metaparam("retry", intNode(t.at, n-1))
		t.metaparam("retryreset", boolNode(t.at, true))
	}
}
