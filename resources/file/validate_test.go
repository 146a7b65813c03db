package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// checked is a file with a validator, in a folder of its own.
func checked(t *testing.T, old, content, validate string) (r *Res, f *enginetest.Fake, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "f")
	if old != "" {
		kindtest.Put(t, path, old)
	}
	r = &Res{Path: path, Content: &content, ValidateCmd: strings.ReplaceAll(validate, "DIR", filepath.Dir(path)), limit: await.Left()}
	return r, kindtest.Begin(t, "file", r, enginetest.WithHost(kindtest.NewHost(t))), path
}

// TestFindingD7Validate: a new file takes its place only if the command that checks it
// agrees; else the old one stays, and the error has what the command printed.
func TestFindingD7Validate(t *testing.T) {
	for name, c := range map[string]struct {
		old, content, validate, err, left string
	}{
		"agrees":             {"old\n", "new\n", "grep -q new %", "", "new\n"},
		"agrees to a new":    {"", "new\n", "grep -q new", "", "new\n"},
		"%s":                 {"old\n", "new\n", "grep -q new %s", "", "new\n"},
		"in a word":          {"old\n", "new\n", `sh -c 'grep -q new "%" && test %% = "%%"'`, "", "new\n"},
		"by its name":        {"old\n", "new\n", "sh -c 'test $(basename %) = f && grep -q old DIR/f'", "", "new\n"},
		"runs it":            {"old\n", "#!/bin/sh\n", "sh -c 'chmod u=rx % && exec %'", "the check has changed", "old\n"},
		"refuses":            {"old\n", "new\n", "sh -c 'echo line 3 is wrong >&2; exit 4' %", "validate: sh refuses the new file (exit status 4), so the old one stays: line 3 is wrong", "old\n"},
		"refuses a new":      {"", "new\n", "sh -c 'echo wrong; exit 1'", "validate: sh refuses the new file (exit status 1), so the old one stays: wrong", ""},
		"names it":           {"old\n", "new\n", "sh -c 'echo %: bad; exit 1'", "validate: sh refuses the new file (exit status 1), so the old one stays: the new file: bad", "old\n"},
		"says nothing":       {"old\n", "new\n", "false", "validate: false refuses the new file (exit status 1), so the old one stays", "old\n"},
		"is not there":       {"old\n", "new\n", "/no/such/program", "validate: ", "old\n"},
		"dies":               {"old\n", "new\n", "sh -c 'kill -9 $$'", "validate: sh was ended by the signal SIGKILL", "old\n"},
		"changes it":         {"old\n", "new\n", "sh -c 'echo more >> %'", "the check has changed the file that it was asked about, so that file is not used", "old\n"},
		"makes it another":   {"old\n", "new\n", "sh -c 'cp % DIR/x; mv DIR/x %'", "the check has changed", "old\n"},
		"takes it away":      {"old\n", "new\n", "rm %", "the check has changed", "old\n"},
		"changes its mode":   {"old\n", "new\n", "chmod 777 %", "the check has changed", "old\n"},
		"nothing to be done": {"new\n", "new\n", "false", "", "new\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r, f, path := checked(t, c.old, c.content, c.validate)
			got := kindtest.Verbs(t, f, r, true)
			if err, _ := strings.CutPrefix(got, "error: "); c.err == "" && err != got || !strings.Contains(got, c.err) {
				t.Error(got)
			}
			kindtest.Alone(t, path, c.left)
		})
	}
}

// TestFindingJ1ValidateCopy: the check gets a copy of the same name that no other user can replace, alter or list, with the
// permissions for reading that the file will have, and nothing is left of it.
func TestFindingJ1ValidateCopy(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for mode, want := range map[schema.Mode]string{"": "644", "0600": "600", "0640": "640", "0666": "644", "4755": "755"} {
		r, f, path := checked(t, "", "#!/bin/sh\nexit 0\n", `sh -c 'stat -c "%%a %%n" "$(dirname $0)" $0 >DIR.said; ls DIR >>DIR.said; test ! -x $0 || exec $0'`)
		r.Mode = mode
		if got := kindtest.Verbs(t, f, r, true); strings.Contains(got, "error") {
			t.Error(mode, got)
		}
		said, err := os.ReadFile(filepath.Dir(path) + ".said")
		kindtest.Must(t, err)
		lines := strings.Split(string(said), "\n") // the target's folder is empty: ls says nothing
		if len(lines) != 3 || !strings.HasPrefix(lines[0], "711 "+tmp+"/mgmt-check-") || !strings.HasPrefix(lines[1], want+" ") || !strings.HasSuffix(lines[1], "/f") {
			t.Errorf("%s: %q", mode, said)
		}
		if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
			t.Error("left are", left, err)
		}
	}
}

// TestFindingJ1ValidateLeftovers: the next check removes the copy of a killed process, and leaves one that is in use.
func TestFindingJ1ValidateLeftovers(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for _, dir := range []string{"mgmt-check-dead", "mgmt-check-used"} {
		kindtest.Must(t, os.Mkdir(tmp+"/"+dir, 0o711))
		kindtest.Put(t, tmp+"/"+dir+"/f", "x")
	}
	used, err := os.Open(tmp + "/mgmt-check-used")
	kindtest.Must(t, err)
	defer used.Close()
	kindtest.Must(t, unix.Flock(int(used.Fd()), unix.LOCK_EX))
	r, f, path := checked(t, "old\n", "new\n", "true")
	if got := kindtest.Verbs(t, f, r, true); strings.Contains(got, "error") {
		t.Error(got)
	}
	kindtest.Alone(t, path, "new\n")
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 1 || left[0].Name() != "mgmt-check-used" {
		t.Error(left, err)
	}
}

// TestFindingJ1ValidateTemp: no check is run where another user could replace the copy, and the error says where.
func TestFindingJ1ValidateTemp(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has another user to fear: run it as root")
	}
	tmp := filepath.Join(t.TempDir(), "theirs")
	kindtest.Must(t, os.Mkdir(tmp, 0o755))
	kindtest.Must(t, os.Chown(tmp, 4711, 4711))
	t.Setenv("TMPDIR", tmp)
	r, f, path := checked(t, "old\n", "new\n", "true")
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "the folder for temporary files (TMPDIR)") || !strings.Contains(got, tmp) || !strings.Contains(got, "can be replaced") {
		t.Error(got)
	}
	kindtest.Alone(t, path, "old\n")
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Error("left are", left, err)
	}
}

// TestFindingD7ValidateBounds: a command that hangs is ended, and one that prints
// without end costs no memory.
func TestFindingD7ValidateBounds(t *testing.T) {
	r, f, path := checked(t, "old\n", "new\n", "sh -c 'sleep 1000 & echo $! > DIR.pid; wait'")
	r.limit = 300 * time.Millisecond
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "still running after 300ms") {
		t.Error(got)
	}
	kindtest.Alone(t, path, "old\n")
	kindtest.Must(t, os.Remove(filepath.Dir(path)+".pid"))

	r, f, path = checked(t, "old\n", "new\n", "sh -c 'yes | head -c 1000000000; echo the end >&2; exit 1'")
	if got := kindtest.Verbs(t, f, r, true); !strings.HasSuffix(got, "so the old one stays: the end") {
		t.Error(got)
	}
	kindtest.Alone(t, path, "old\n")
}

// TestFindingD7ValidateEscapes: what a check has started in a session of its own ends with it, whether the check hangs, prints
// without end, or alters the file; and the old file stays.
func TestFindingD7ValidateEscapes(t *testing.T) {
	const start = "setsid sh -c 'sleep 1000 & echo $! >$1.pid; wait' x DIR & until test -s DIR.pid; do sleep 0.01; done; "
	for name, c := range map[string]struct{ script, want string }{
		"hangs":   {"sleep 1000", "still running after"},
		"prints":  {"yes | head -c 1000000000; exit 1", "so the old one stays: "},
		"endless": {"exec yes", "still running after"},
		"alters":  {"echo more >>$1", "the check has changed"},
		"later":   {"setsid sh -c 'sleep 0.3; echo more >>$1' x $1 & exit 1", "so the old one stays"},
	} {
		t.Run(name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "check")
			r, f, path := checked(t, "old\n", "new\n", "sh "+script)
			kindtest.Put(t, script, strings.ReplaceAll(start, "DIR", filepath.Dir(path))+c.script+"\n")
			if strings.HasPrefix(c.want, "still") {
				r.limit = 500 * time.Millisecond
			}
			if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, c.want) {
				t.Error(got)
			}
			kindtest.Alone(t, path, "old\n")
			kindtest.Gone(t, kindtest.PidIn(t, filepath.Dir(path)+".pid"))
		})
	}
}

// TestFindingD7ValidateSecret: what a command prints of a file that is not for all is
// shown without the text of the file, and nothing of what it prints of a secret.
func TestFindingD7ValidateSecret(t *testing.T) {
	const print = "sh -c 'cat % >&2; echo bad >&2; exit 1'"
	r, f, path := checked(t, "old\n", "key = canary-1234\n", print)
	r.Mode = "0600"
	if got := kindtest.Verbs(t, f, r, true); strings.Contains(got, "canary") || !strings.HasSuffix(got, "; bad") {
		t.Error(got)
	}
	kindtest.Alone(t, path, "old\n")

	r, f, path = checked(t, "old\n", "key = canary-1234\n", print)
	f.SetRecv(map[string]*engine.Send{"content": {Secret: true, Changed: true}})
	if got := kindtest.Verbs(t, f, r, true); strings.Contains(got, "canary") || !strings.HasSuffix(got, "is not shown, since the file holds a secret") {
		t.Error(got)
	}
	kindtest.Alone(t, path, "old\n")
}

// TestFindingD7ValidateWords: a command that can't be one is an error of the graph.
func TestFindingD7ValidateWords(t *testing.T) {
	content := "x"
	for _, c := range []struct {
		res  Res
		want string
	}{
		{Res{Path: "/x", Content: &content, ValidateCmd: "sh -c 'x"}, "validate: a quote is not closed"},
		{Res{Path: "/x", Content: &content, ValidateCmd: " "}, "validate: there is no command"},
		{Res{Path: "/x/", ValidateCmd: "true"}, "validate is for a file with a content"},
		{Res{Path: "/x", State: Absent, ValidateCmd: "true"}, "validate is for a file with a content"},
		{Res{Path: "/x", Symlink: true, Source: "/y", ValidateCmd: "true"}, "validate is for a file with a content"},
	} {
		if err := c.res.Validate(); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v", c.res, err)
		}
	}
}

// TestFindingD7ValidateSource: a copied file is checked, too, and so is one of fragments.
func TestFindingD7ValidateSource(t *testing.T) {
	dir := t.TempDir()
	kindtest.Put(t, dir+"/src", "new\n")
	for name, r := range map[string]*Res{
		"source": {Source: dir + "/src"}, "fragments": {Fragments: []string{dir + "/src", dir + "/src"}},
	} {
		r.Path, r.ValidateCmd = filepath.Join(t.TempDir(), name), "grep -q other"
		kindtest.Put(t, r.Path, "old\n")
		f := kindtest.Begin(t, "file", r, enginetest.WithHost(kindtest.NewHost(t)))
		if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "refuses the new file") {
			t.Error(name, got)
		}
		kindtest.Alone(t, r.Path, "old\n")
	}
}

// TestFindingD7ValidateRuns: looking runs no command, and one without the parameter none
// at all.
func TestFindingD7ValidateRuns(t *testing.T) {
	content, path := "new", filepath.Join(t.TempDir(), "f")
	r := &Res{Path: path, Content: &content, ValidateCmd: "check"}
	f := kindtest.Begin(t, "file", r)
	kindtest.Verbs(t, f, r, false)
	if n := len(f.Host().Commands()); n != 0 {
		t.Error(n)
	}
	r.ValidateCmd = ""
	kindtest.Verbs(t, f, r, true)
	if diff := cmp.Diff(0, len(f.Host().Commands())); diff != "" {
		t.Error(diff)
	}
	kindtest.Alone(t, path, "new")
}

// TestFindingE5Keep: a content is for a file that is made; mode and owner are for every
// one.
func TestFindingE5Keep(t *testing.T) {
	content, path := "new\n", filepath.Join(t.TempDir(), "f")
	r := &Res{Path: path, Content: &content, Mode: "0600", Keep: true}
	f := kindtest.Begin(t, "file", r)
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "state created") {
		t.Error(got)
	}
	kindtest.Put(t, path, "edited\n")
	kindtest.Want(t, f, r, "")
	kindtest.Must(t, os.Chmod(path, 0o644))
	if got := kindtest.Verbs(t, f, r, true); got != `mode: "0644" -> "0600"` {
		t.Error(got)
	}
	kindtest.Alone(t, path, "edited\n")
	kindtest.Must(t, os.Remove(path))
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "state created") {
		t.Error(got)
	}
	kindtest.Alone(t, path, "new\n")
	if err := (&Res{Path: "/x/", Keep: true}).Validate(); err == nil {
		t.Error("a folder has no content")
	}
}

// TestFindingE1CopyMode: what is copied gets the permissions that copy_mode says.
func TestFindingE1CopyMode(t *testing.T) {
	for name, c := range map[string]struct{ mode, file, script, folder, there string }{
		"source":  {"", "0600", "0755", "0700", "0600"},
		"new":     {"new", "0644", "0644", "0755", "0666"},
		"octal":   {"0640", "0640", "0640", "0750", "0640"},
		"letters": {"u=rwX,go=rX", "0644", "0644", "0755", "0644"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			kindtest.Must(t, os.MkdirAll(dir+"/src/sub", 0o700))
			kindtest.Must(t, os.MkdirAll(dir+"/dst", 0o755))
			for file, mode := range map[string]os.FileMode{"file": 0o600, "script": 0o755, "there": 0o600} {
				kindtest.Put(t, dir+"/src/"+file, file)
				kindtest.Must(t, os.Chmod(dir+"/src/"+file, mode))
			}
			kindtest.Must(t, os.Chmod(dir+"/src/sub", 0o700))
			kindtest.Put(t, dir+"/dst/there", "old")
			kindtest.Must(t, os.Chmod(dir+"/dst/there", 0o666))
			r := &Res{Path: dir + "/dst/", Source: dir + "/src/", Recurse: true, CopyMode: c.mode}
			f := kindtest.Begin(t, "file", r)
			if got := kindtest.Verbs(t, f, r, true); strings.Contains(got, "error") {
				t.Fatal(got)
			}
			for file, want := range map[string]string{"file": c.file, "script": c.script, "sub": c.folder, "there": c.there} {
				st, err := os.Stat(dir + "/dst/" + file)
				kindtest.Must(t, err)
				if got := files.Octal(uint32(st.Mode().Perm())); got != want {
					t.Errorf("%s has %s, not %s", file, got, want)
				}
			}
			kindtest.Want(t, f, r, "")
		})
	}
	if err := (&Res{Path: "/x/", CopyMode: "0644"}).Validate(); err == nil {
		t.Error("nothing is copied")
	}
}

// TestFindingE4ReplaceLink: a link in the place is replaced, and what is behind it stays; a folder
// is none.
func TestFindingE4ReplaceLink(t *testing.T) {
	dir, content := t.TempDir(), "new"
	kindtest.Put(t, dir+"/behind", "old")
	kindtest.Must(t, os.Symlink("behind", dir+"/f"))
	r := &Res{Path: dir + "/f", Content: &content, ReplaceLink: true}
	f := kindtest.Begin(t, "file", r)
	if got := kindtest.Verbs(t, f, r, true); strings.Contains(got, "error") {
		t.Error(got)
	}
	kindtest.Want(t, f, r, "")
	behind, err := os.ReadFile(dir + "/behind")
	kindtest.Must(t, err)
	if st, err := os.Lstat(dir + "/f"); err != nil || !st.Mode().IsRegular() || string(behind) != "old" {
		t.Error(st, err, string(behind))
	}
	kindtest.Must(t, os.Remove(dir+"/f"))
	kindtest.Must(t, os.Mkdir(dir+"/f", 0o755))
	if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, "is a folder and not a file") {
		t.Error(got)
	}
}
