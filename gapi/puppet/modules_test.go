package puppet_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/gapi/puppet"
)

// TestFindingE5ModuleSources: a source in a module is a file of the first folder that has the module; any other one is refused.
func TestFindingE5ModuleSources(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"first/m/files/sub/x", "second/m/files/only", "second/n/files/y", "second/n/secret"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for given, want := range map[string]string{
		`"puppet:///modules/m/sub/x"`:                        "first/m/files/sub/x",
		`["puppet:///modules/n/y"]`:                          "second/n/files/y",
		`"puppet:///modules/m/only"`:                         "",
		`"puppet:///modules/n/../secret"`:                    "",
		`"puppet:///modules/../second/n/files/y"`:            "",
		`"puppet:///modules/none/y"`:                         "",
		`"puppet:///modules/n"`:                              "",
		`"puppet://server/modules/n/y"`:                      "",
		`"puppet:///mount/y"`:                                "",
		`["puppet:///modules/n/y", "puppet:///modules/n/y"]`: "",
	} {
		d := read(t, source([]string{entry(3, "File", "/x", `{"source": `+given+`}`)}), puppet.Options{Modules: []string{dir + "/first", dir + "/second"}})
		got := strings.Join(said(t, d), " ")
		if want != "" && got != `file[/x] {source: "`+filepath.Join(dir, want)+`"}` || want == "" && !strings.Contains(got, "source: ") {
			t.Errorf("%s: %s", given, got)
		}
	}
}

// TestFindingE5Validator: a validator of a connection asks by a command until the server answers.
func TestFindingE5Validator(t *testing.T) {
	for _, c := range []became{
		{"Postgresql_conn_validator", "up", `{"host": "db", "port": 5433, "db_username": "a'b", "tries": 3, "sleep": 1, "run_as": "postgres"}`, []string{
			`exec[up] {user: "postgres", nifshell: "/bin/sh", nifcmd: "n=0; until test -n \"$(psql --tuples-only --quiet --no-psqlrc --host 'db' --port '5433' --username 'a'\\''b' --command 'SELECT 1')\"; do n=$((n+1)); test $n -lt 3 || exit 1; sleep 1; done", ` +
				`shell: "/bin/sh", cmd: "echo 'PostgreSQL does not answer (db:5433)' >&2; exit 1"}`}},
		{"Postgresql_conn_validator", "up", `{"ensure": "absent"}`, nil},
		{"Postgresql_conn_validator", "up", `{"tries": "many"}`, nil},
	} {
		got := said(t, read(t, source([]string{entry(3, c.typ, c.title, c.params)}), puppet.Options{}))
		if c.want != nil {
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		} else if !strings.Contains(strings.Join(got, "\n"), "site.pp:3: ") {
			t.Error(got)
		}
	}
	d := read(t, source([]string{entry(3, "Postgresql_conn_validator", "up", `{"db_password": "canary", "connect_settings": {"PGHOST": "h"}}`)}), puppet.Options{})
	if got := strings.Join(said(t, d), "\n"); strings.Contains(got, "canary") || !strings.Contains(got, "env <- ") {
		t.Error(got)
	}
}
