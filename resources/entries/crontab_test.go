package entries

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
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/provided"
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
	kindtest.Lay(t, dir+"/crontab", fakeCrontab)
	kindtest.Lay(t, dir+"/spool/bob", "# bob's\n")
	kindtest.Must(t, os.Chmod(dir+"/crontab", 0o700))
}

func crontabsAt(dir string) *crontabs {
	return &crontabs{program: dir + "/crontab", spools: []string{dir + "/spool", dir + "/none"}, self: func() string { return "me" }}
}

func crontabKindAt(t *testing.T) (*provider.Kind, *kindtest.Place) {
	t.Helper()
	var at kindtest.Place
	k, _ := kindtest.KindOf(t, crontabDefinition(), func() provider.Provider { return crontabsAt(strings.TrimSuffix(at.Path("x"), "/x")) })
	return k, &at
}

func TestCrontabEdits(t *testing.T) {
	k, at := crontabKindAt(t)
	type m = map[string]any
	const job = "# mgmt name: backup\n30 2 * * * /bin/backup\n"
	times := m{"command": "/bin/backup", "minute": int64(30), "hour": "2"}
	kindtest.RunEdits(t, k, func(t *testing.T, dir string) { layCrontab(t, dir); at.Set(dir) }, []kindtest.Edit{
		{Name: "a new crontab", Title: "backup", Values: times, File: "spool/me", Before: "-", Want: job, Says: ""},
		{Name: "a new job", Title: "backup", Values: times, File: "spool/me", Before: "# mine\n@daily x\n", Want: "# mine\n@daily x\n" + job, Says: ""},
		{Name: "of somebody else", Title: "backup of bob", Values: times, File: "spool/bob", Before: "# bob\n", Want: "# bob\n" + job, Says: ""},
		{Name: "lists, ranges and names", Title: "backup", Values: m{"command": "x", "minute": []any{int64(30), "0"}, "hour": "*/2", "monthday": "1-7", "month": "Jan,mar", "weekday": "sun"},
			File: "spool/me", Before: "#\n", Want: "#\n# mgmt name: backup\n0,30 */2 1-7 1,3 0 x\n", Says: ""},
		{Name: "absent is any", Title: "backup", Values: m{"minute": "absent"}, File: "spool/me", Before: job, Want: strings.Replace(job, "30", "*", 1), Says: ""},
		{Name: "Puppet's is taken over", Title: "backup", Values: times, File: "spool/me", Before: "# Puppet Name: backup\n30 2 * * * /bin/backup\n", Want: "# Puppet Name: backup\n30 2 * * * /bin/backup\n", Says: ""},
		{Name: "and rewritten", Title: "backup", Values: m{"hour": "3"}, File: "spool/me", Before: "# Puppet Name: backup\n30 2 * * * /bin/backup\n", Want: strings.Replace(job, "2", "3", 1), Says: ""},
		{Name: "special", Title: "backup", Values: m{"special": "midnight"}, File: "spool/me", Before: job, Want: "# mgmt name: backup\n@daily /bin/backup\n", Says: ""},
		{Name: "no longer special", Title: "backup", Values: m{"hour": "2", "special": ""}, File: "spool/me", Before: "# mgmt name: backup\n@daily /bin/backup\n", Want: "# mgmt name: backup\n* 2 * * * /bin/backup\n", Says: ""},
		{Name: "an environment", Title: "backup", Values: m{"environment": []string{"A = b", "MAILTO="}}, File: "spool/me", Before: job, Want: "# mgmt name: backup\nA=b\nMAILTO=\n30 2 * * * /bin/backup\n", Says: ""},
		{Name: "gone", Title: "backup", Values: m{"ensure": "absent"}, File: "spool/me", Before: "#\n" + job + "#\n", Want: "#\n#\n", Says: ""},
		{Name: "a file", Title: "backup in $DIR/table", Values: times, File: "table", Before: "#\n", Want: "#\n" + job, Says: ""},
		{Name: "a file and a user", Title: "backup of bob in $DIR/table", Values: times, File: "table", Before: "#\n", Want: "#\n" + job, Says: ""},

		{Name: "no command", Title: "backup", Values: m{"hour": "2"}, File: "spool/me", Before: "#\n", Want: "", Says: "command"},
		{Name: "both", Title: "backup", Values: m{"command": "x", "hour": "2", "special": "daily"}, File: "spool/me", Before: "#\n", Want: "", Says: "exclude each other"},
		{Name: "a bad time", Title: "backup", Values: m{"command": "x", "hour": "24"}, File: "spool/me", Before: "#\n", Want: "", Says: `"24" is no hour`},
		{Name: "a line in a time", Title: "backup", Values: m{"command": "x", "hour": "2\n* * * * * evil"}, File: "spool/me", Before: "#\n", Want: "", Says: "hour"},
		{Name: "a line in the command", Title: "backup", Values: m{"command": "x\n* * * * * evil"}, File: "spool/me", Before: "#\n", Want: "", Says: "command"},
		{Name: "a return in the command", Title: "backup", Values: m{"command": "x\revil"}, File: "spool/me", Before: "#\n", Want: "", Says: "command"},
		{Name: "a line in the name", Title: "backup\n* * * * * evil", Values: times, File: "spool/me", Before: "#\n", Want: "", Says: "job"},
		{Name: "a line in the environment", Title: "backup", Values: m{"command": "x", "environment": []string{"A=b\n* * * * * evil"}}, File: "spool/me", Before: "#\n", Want: "", Says: "environment"},
		{Name: "no setting", Title: "backup", Values: m{"command": "x", "environment": []string{"A"}}, File: "spool/me", Before: "#\n", Want: "", Says: "environment"},
		{Name: "an option for a user", Title: "backup", Values: m{"command": "x", "user": "-r"}, File: "spool/me", Before: "#\n", Want: "", Says: "user"},
		{Name: "no such user", Title: "backup of nobody", Values: times, File: "spool/me", Before: "#\n", Want: "", Says: "user nobody unknown"},
		{Name: "the command refuses", Title: "backup", Values: m{"command": "REFUSE"}, File: "spool/me", Before: "#\n", Want: "", Says: "bad minute"},
	}, enginetest.WithHost(kindtest.RealHost(t)))
}

func TestCrontabList(t *testing.T) {
	dir := t.TempDir()
	layCrontab(t, dir)
	kindtest.Lay(t, dir+"/spool/me", "# mgmt name: a b\n0 1 * * * x\n@daily foreign\n# mgmt name: a b\n0 2 * * * x\n")
	kindtest.Lay(t, dir+"/spool/bob", "# Puppet Name: c\nA=b\n@hourly y\n")
	kindtest.Lay(t, dir+"/spool/tmp.123", "# mgmt name: d\n@hourly y\n")
	var got []string
	for r, err := range crontabsAt(dir).Get(t.Context(), &provider.Runtime{Host: kindtest.RealHost(t)}, provider.Filter{All: true}) {
		kindtest.Must(t, err)
		got = append(got, strings.Join([]string{provided.Str(r, "title"), provided.Str(r, "minute"), provided.Str(r, "hour"), provided.Str(r, "special"), strings.Join(provided.Strs(r, "environment"), " "), provided.Str(r, "command")}, "|"))
	}
	if want := []string{"c of bob|||hourly|A=b|y", "a b of me|0||||x"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// Without the command its jobs can't be read.
func TestCrontabMissing(t *testing.T) {
	dir := t.TempDir()
	k, at := crontabKindAt(t)
	at.Set(dir)
	r := kindtest.Filled(t, k, "backup", map[string]any{"command": "x"})
	kindtest.Begin(t, k.Name(), r, enginetest.WithHost(kindtest.RealHost(t)))
	_, err := r.CheckApply(t.Context(), true)
	if _, ok := errors.AsType[*provider.CommandNotFoundError](err); !ok {
		t.Errorf("got %v", err)
	}
}

// A crontab of which not all was said is not replaced.
func TestCrontabCut(t *testing.T) {
	k, at := crontabKindAt(t)
	dir := t.TempDir()
	at.Set(dir)
	r := kindtest.Filled(t, k, "backup", map[string]any{"command": "x"})
	f := kindtest.Begin(t, k.Name(), r)
	f.Host().SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		if c.Argv[1] != "-l" {
			t.Errorf("called was %q", c.Argv)
		}
		return &engine.Result{Stdout: []byte("# a"), Truncated: true}, nil
	})
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "larger than") {
		t.Errorf("got %s", got)
	}
}
