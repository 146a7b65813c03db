package resources

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
)

// fakeCrontab is a crontab command that keeps them in the folder beside it.
const fakeCrontab = `#!/bin/sh
cd "$(dirname "$0")/spool" || exit 1
user=me
if [ "$1" = -u ]; then
	user=$2; shift 2
	if [ $user = me ]; then echo "must be privileged to use -u" >&2; exit 1; fi
fi
case $user in
nobody) echo "crontab: user $user unknown" >&2; exit 1;;
esac
case $1 in
-l) [ -f "$user" ] || { echo "no crontab for $user" >&2; exit 1; }; cat "$user";;
-) text=$(cat; echo .)
	case $text in *REFUSE*) echo "bad minute" >&2; exit 1;; esac
	printf %s "${text%.}" > "$user";;
*) exit 2;;
esac
`

// layCrontab makes the command.
func layCrontab(t *testing.T, dir string) {
	t.Helper()
	lay(t, dir+"/crontab", fakeCrontab)
	lay(t, dir+"/spool/bob", "# bob's\n")
	must(t, os.Chmod(dir+"/crontab", 0o700))
}

func crontabsAt(dir string) *crontabs {
	return &crontabs{program: dir + "/crontab", spools: []string{dir + "/spool", dir + "/none"}, self: "me"}
}

func crontabKindAt(t *testing.T) (*provider.Kind, *place) {
	t.Helper()
	var at place
	k, _ := kindOf(t, crontabDefinition(), func() provider.Provider { return crontabsAt(strings.TrimSuffix(at.path("x"), "/x")) })
	return k, &at
}

func TestCrontabEdits(t *testing.T) {
	k, at := crontabKindAt(t)
	type m = map[string]any
	const job = "# mgmt name: backup\n30 2 * * * /bin/backup\n"
	times := m{"command": "/bin/backup", "minute": int64(30), "hour": "2"}
	runEdits(t, k, func(t *testing.T, dir string) { layCrontab(t, dir); at.set(dir) }, []edit{
		{"a new crontab", "backup", times, "spool/me", "-", job, ""},
		{"a new job", "backup", times, "spool/me", "# mine\n@daily x\n", "# mine\n@daily x\n" + job, ""},
		{"of somebody else", "backup of bob", times, "spool/bob", "# bob\n", "# bob\n" + job, ""},
		{"lists, ranges and names", "backup", m{"command": "x", "minute": []any{int64(30), "0"}, "hour": "*/2", "monthday": "1-7", "month": "Jan,mar", "weekday": "sun"},
			"spool/me", "#\n", "#\n# mgmt name: backup\n0,30 */2 1-7 1,3 0 x\n", ""},
		{"absent is any", "backup", m{"minute": "absent"}, "spool/me", job, strings.Replace(job, "30", "*", 1), ""},
		{"Puppet's is taken over", "backup", times, "spool/me", "# Puppet Name: backup\n30 2 * * * /bin/backup\n", "# Puppet Name: backup\n30 2 * * * /bin/backup\n", ""},
		{"and rewritten", "backup", m{"hour": "3"}, "spool/me", "# Puppet Name: backup\n30 2 * * * /bin/backup\n", strings.Replace(job, "2", "3", 1), ""},
		{"special", "backup", m{"special": "midnight"}, "spool/me", job, "# mgmt name: backup\n@daily /bin/backup\n", ""},
		{"no longer special", "backup", m{"hour": "2", "special": ""}, "spool/me", "# mgmt name: backup\n@daily /bin/backup\n", "# mgmt name: backup\n* 2 * * * /bin/backup\n", ""},
		{"an environment", "backup", m{"environment": []string{"A = b", "MAILTO="}}, "spool/me", job, "# mgmt name: backup\nA=b\nMAILTO=\n30 2 * * * /bin/backup\n", ""},
		{"gone", "backup", m{"ensure": "absent"}, "spool/me", "#\n" + job + "#\n", "#\n#\n", ""},
		{"a file", "backup in $DIR/table", times, "table", "#\n", "#\n" + job, ""},
		{"a file and a user", "backup of bob in $DIR/table", times, "table", "#\n", "#\n" + job, ""},

		{"no command", "backup", m{"hour": "2"}, "spool/me", "#\n", "", "command"},
		{"both", "backup", m{"command": "x", "hour": "2", "special": "daily"}, "spool/me", "#\n", "", "exclude each other"},
		{"a bad time", "backup", m{"command": "x", "hour": "24"}, "spool/me", "#\n", "", `"24" is no hour`},
		{"a line in a time", "backup", m{"command": "x", "hour": "2\n* * * * * evil"}, "spool/me", "#\n", "", "hour"},
		{"a line in the command", "backup", m{"command": "x\n* * * * * evil"}, "spool/me", "#\n", "", "command"},
		{"a return in the command", "backup", m{"command": "x\revil"}, "spool/me", "#\n", "", "command"},
		{"a line in the name", "backup\n* * * * * evil", times, "spool/me", "#\n", "", "job"},
		{"a line in the environment", "backup", m{"command": "x", "environment": []string{"A=b\n* * * * * evil"}}, "spool/me", "#\n", "", "environment"},
		{"no setting", "backup", m{"command": "x", "environment": []string{"A"}}, "spool/me", "#\n", "", "environment"},
		{"an option for a user", "backup", m{"command": "x", "user": "-r"}, "spool/me", "#\n", "", "user"},
		{"no such user", "backup of nobody", times, "spool/me", "#\n", "", "user nobody unknown"},
		{"the command refuses", "backup", m{"command": "REFUSE"}, "spool/me", "#\n", "", "bad minute"},
	}, enginetest.WithHost(realHost(t)))
}

func TestCrontabList(t *testing.T) {
	dir := t.TempDir()
	layCrontab(t, dir)
	lay(t, dir+"/spool/me", "# mgmt name: a b\n0 1 * * * x\n@daily foreign\n# mgmt name: a b\n0 2 * * * x\n")
	lay(t, dir+"/spool/bob", "# Puppet Name: c\nA=b\n@hourly y\n")
	lay(t, dir+"/spool/tmp.123", "# mgmt name: d\n@hourly y\n")
	var got []string
	for r, err := range crontabsAt(dir).Get(t.Context(), &provider.Runtime{Host: realHost(t)}, provider.Filter{All: true}) {
		must(t, err)
		got = append(got, strings.Join([]string{str(r, "title"), str(r, "minute"), str(r, "hour"), str(r, "special"), strings.Join(strs(r, "environment"), " "), str(r, "command")}, "|"))
	}
	if want := []string{"c of bob|||hourly|A=b|y", "a b of me|0||||x"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// Without the command its jobs can't be read.
func TestCrontabMissing(t *testing.T) {
	dir := t.TempDir()
	k, at := crontabKindAt(t)
	at.set(dir)
	r := filled(t, k, "backup", map[string]any{"command": "x"})
	begin(t, k.Name(), r, enginetest.WithHost(realHost(t)))
	_, err := r.CheckApply(t.Context(), true)
	if _, ok := errors.AsType[*provider.CommandNotFoundError](err); !ok {
		t.Errorf("got %v", err)
	}
}

// A crontab of which not all was said is not replaced.
func TestCrontabCut(t *testing.T) {
	k, at := crontabKindAt(t)
	dir := t.TempDir()
	at.set(dir)
	r := filled(t, k, "backup", map[string]any{"command": "x"})
	f := begin(t, k.Name(), r)
	f.Host().SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		if c.Argv[1] != "-l" {
			t.Errorf("called was %q", c.Argv)
		}
		return &engine.Result{Stdout: []byte("# a"), Truncated: true}, nil
	})
	if got := verbs(t, f, r, true); !strings.Contains(got, "larger than") {
		t.Errorf("got %s", got)
	}
}
