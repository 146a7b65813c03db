package puppet

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// psqlType is the type of the module postgresql that runs a statement. It is a command,
// which the module gives to a shell.
var psqlType = &kindType{
	name: "postgresql_psql", kind: "exec", how: convert, refreshes: true, note: "`psql` runs the statement, by `/bin/sh`, as in the module",
	attributes: append([]attribute{
		{name: "name", how: ignored, note: "it is the statement where there is no command"},
		{name: "command", how: convert, to: "cmd", note: "the title if it is not given"},
		{name: "unless", how: convert, to: "nifcmd", note: "a query that finds no row"},
		{name: "onlyif", how: convert, to: "ifcmd", note: "a query that finds a row"},
		{name: "refreshonly", how: convert, to: "refreshonly", do: boolTo("refreshonly")},
		{name: "psql_user", how: rename, to: "user"},
		{name: "psql_group", how: rename, to: "group"},
		{name: "environment", how: convert, to: "env", note: "NAME=value, one or a list"},
		{name: "connect_settings", how: convert, to: "env", note: "variables by their names"},
		{name: "cwd", how: convert, to: "cwd, ifcwd, nifcwd", note: "/tmp if it is not given"},
	}, psqlParts()...),
	finish: finishPsql,
}

// psqlParts are the attributes that are a part of the command.
// They have no row of their own in our kind.
func psqlParts() (list []attribute) {
	for _, name := range []string{"db", "port", "search_path", "psql_path", "sensitive"} {
		list = append(list, attribute{name: name, how: convert, to: "cmd", note: "a part of the command", do: openly})
	}
	return list
}

// openly leaves a value to finish, and refuses a secret: every user sees the arguments of a
// process.
func openly(t *translation, p *param) {
	if p.secret {
		t.refuse(p.name, "every user sees the arguments of a process, so it can't be a secret; give it by connect_settings", true)
	}
}

// finishPsql makes a statement an exec of psql, run as the owner of the database. The
// statement goes in quotes for the shell, never through a template.
// A query finds a row where its count is above 0. The user and group are postgres if nothing is
// said, as in the module.
func finishPsql(t *translation) {
	e := &execution{translation: t, shell: true}
	for _, key := range []string{"user", "group"} {
		if t.value.Get(key) == nil {
			t.put(key, textNode(t.at, "postgres"))
		}
	}
	t.put("shell", textNode(t.at, shell))
	command := t.param("command")
	if command == nil {
		command = &param{name: "command", value: textNode(t.at, t.title)}
	}
	if sql, ok := t.scalar(command); ok {
		t.set("cmd", textNode(t.at, t.psql(sql)), command)
	}
	for name, c := range map[string]struct{ key, test string }{"unless": {"nif", "-gt"}, "onlyif": {"if", "-gt"}} {
		p := t.param(name)
		if p == nil {
			continue
		}
		if sql, ok := t.scalar(p); ok {
			script := fmt.Sprintf(`n=$(%s) && test "$n" %s 0`, t.psql("SELECT COUNT(*) FROM ("+sql+") count"), c.test)
			t.put(c.key+"shell", textNode(t.at, shell))
			t.set(c.key+"cmd", textNode(t.at, script), p)
		}
	}
	if t.param("cwd") == nil {
		t.params = append(t.params, param{name: "cwd", value: textNode(t.at, "/tmp"), made: true})
	}
	e.settings()
	e.environment()
	e.folder()
}

// psql is the command for a statement. As in the module, the shell expands variables in
// it, by which passwords are given.
func (t *translation) psql(sql string) string {
	if p := t.param("search_path"); p != nil {
		if list, ok := t.scalars(p); ok {
			sql = "set search_path to " + strings.Join(list, ",") + "; " + sql
		}
	}
	words := []string{cmp.Or(t.text("psql_path"), "psql")}
	if db := t.text("db"); db != "" {
		words = append(words, "-d", shellQuote(db))
	}
	if port := t.text("port"); port != "" {
		words = append(words, "-p", shellQuote(port))
	}
	words = append(words, "-t", "-X", "-c", `"`+strings.ReplaceAll(sql, `"`, `\"`)+`"`)
	return strings.Join(words, " ")
}

// settings makes variables of connect_settings. Those of environment win.
// They become items of environment, which e.environment reads later; so settings comes before
// it.
func (e *execution) settings() {
	p := e.param("connect_settings")
	if p == nil || p.value.Kind != schema.NodeMap || len(p.value.Pairs) == 0 {
		return
	}
	list := &schema.Node{Kind: schema.NodeList, Pos: e.at}
	secret := p.secret
	for _, pair := range p.value.Pairs {
		list.Items = append(list.Items, textNode(e.at, pair.Key+"="+pair.Value.Text))
	}
	for i := range e.params {
		if own := &e.params[i]; own.name == "environment" {
			list.Items = append(list.Items, asList(own.value)...)
			own.value, own.secret = list, own.secret || secret
			return
		}
	}
	e.params = append(e.params, param{name: "environment", value: list, secret: secret, made: true})
}

// psqlValidatorType is the type of the module postgresql that waits until a server answers.
var psqlValidatorType = &kindType{
	name: "postgresql_conn_validator", kind: "exec", how: convert, refreshes: true,
	note: "`psql` asks the server, by `/bin/sh`, as often as the module does; the resource fails where it never answers",
	attributes: append([]attribute{
		{name: "name", how: ignored, note: "the title names it"},
		{name: "ensure", how: convert, note: "`present`; `absent` is refused", do: except(true, "mgmt does not ask for a server that does not answer", "present")},
		{name: "run_as", how: rename, to: "user"},
		{name: "provider", how: ignored, note: "there is one"},
	}, validatorParts()...),
	finish: finishValidator,
}

// validatorParts are the attributes that are a part of the command.
func validatorParts() (list []attribute) {
	for _, name := range []string{"db_name", "db_username", "host", "port", "psql_path", "command", "tries", "sleep"} {
		list = append(list, attribute{name: name, how: convert, to: "nifcmd", note: "a part of the question", do: openly})
	}
	for _, name := range []string{"db_password", "connect_settings"} {
		list = append(list, attribute{name: name, how: convert, to: "env", note: "variables of psql"})
	}
	return list
}

// finishValidator makes a question that is asked until the server answers, and a command that fails where it never has.
// The defaults are the module's: 10 tries, 2 seconds apart. An answer makes the condition true,
// and so the command is skipped.
func finishValidator(t *translation) {
	e := &execution{translation: t, shell: true}
	ask := []string{cmp.Or(t.text("psql_path"), "psql"), "--tuples-only", "--quiet", "--no-psqlrc"}
	for _, part := range [][2]string{{"host", "--host"}, {"port", "--port"}, {"db_username", "--username"}, {"db_name", "--dbname"}} {
		if text := t.text(part[0]); text != "" {
			ask = append(ask, part[1], shellQuote(text))
		}
	}
	ask = append(ask, "--command", shellQuote(cmp.Or(t.text("command"), "SELECT 1")))
	again := fmt.Sprintf(`n=0; until test -n "$(%s)"; do n=$((n+1)); test $n -lt %d || exit 1; sleep %d; done`,
		strings.Join(ask, " "), t.count("tries", 10), t.count("sleep", 2))
	t.put("nifshell", textNode(t.at, shell))
	t.put("nifcmd", textNode(t.at, again))
	t.put("shell", textNode(t.at, shell))
	where := cmp.Or(t.text("host"), "this machine") + ":" + cmp.Or(t.text("port"), "5432")
	t.put("cmd", textNode(t.at, "echo "+shellQuote("PostgreSQL does not answer ("+where+")")+" >&2; exit 1"))
	e.settings()
	if p := t.param("db_password"); p != nil {
		e.password(p)
	}
	e.environment()
}

// password gives psql a password, by the environment, where no list of processes shows it.
// Environments of processes can be read by their own user and root alone.
func (e *execution) password(p *param) {
	text, ok := e.scalar(p)
	if !ok {
		return
	}
	item := textNode(e.at, "PGPASSWORD="+text)
	for i := range e.params {
		if own := &e.params[i]; own.name == "environment" {
			own.value.Items, own.secret = append(own.value.Items, item), true
			return
		}
	}
	e.params = append(e.params, param{name: "environment", secret: true, made: true,
		value: &schema.Node{Kind: schema.NodeList, Pos: e.at, Items: []*schema.Node{item}}})
}

// count returns a whole number, or the default of a parameter that is absent.
// It is 0 after a finding.
func (t *translation) count(name string, without int) int {
	p := t.param(name)
	if p == nil {
		return without
	}
	n, err := strconv.Atoi(p.value.Text)
	if err != nil || n < 0 {
		t.bad(p, "it must be a whole number from 0, not %s", describe(p.value))
	}
	return n
}
