package attack_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// swapped is the route of a place whose attacker replaces what a check is about to read.
const swapped = "swapped"

// evil is in what the attacker puts there.
const evil = "EVIL"

// checkScript is a check of root's that waits for the attacker's turn, and then reads its file.
const checkScript = `until [ -e BASE/user/turn ]; do sleep 0.02; done
if grep -q ` + evil + ` "$1"; then echo "a command of root has read what another user wrote" >> BASE/v/f; fi
grep -q new "$1"
`

// checkedRows are the kinds whose new files a command checks. They are attacked by the route
// swapped, beside those of the other rows.
func checkedRows() []row {
	const check = `validate: "/bin/sh BASE/check %%"`
	return []row{
		{kind: "file", name: "checked", params: "validate", graph: item(`{name: FILE, content: "new\n", ` + check + `}`)},
		{kind: "file", name: "checked source", graph: item(`{name: FILE, source: BASE/src, ` + check + `}`)},
		{kind: "line", name: "checked", params: "validate", graph: item(`{name: ID, file: FILE, content: new, ` + check + `}`)},
		{kind: "ini_setting", name: "checked", params: "validate", mine: "[a]\n", graph: item(`{name: ID, path: FILE, section: a, setting: b, value: new, ` + check + `}`)},
	}
}

func swappedPlaces(dir string) []place {
	var all []place
	for _, r := range checkedRows() {
		p := newPlace(dir, r, swapped, len(all))
		p.extra = map[string]string{"src": "new\n", "check": strings.ReplaceAll(checkScript, "BASE", p.base)}
		all = append(all, p)
	}
	return all
}

// swapAll replaces the file of each check that runs, by every path that leads to it.
func swapAll(root string) error {
	unix.Umask(0o022)
	open := swappedPlaces(root)
	for len(open) > 0 {
		var rest []place
		for _, p := range open {
			at := p.checked()
			if at == "" {
				rest = append(rest, p)
				continue
			}
			if err := p.swap(at); err != nil {
				return err
			}
		}
		open = rest
	}
	return nil
}

// checked is the file that the check of the place was asked about, nothing before it runs.
func (p place) checked() string {
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, proc := range procs {
		text, _ := os.ReadFile(proc)
		argv := bytes.Split(bytes.TrimSuffix(text, []byte{0}), []byte{0})
		if len(argv) == 3 && string(argv[1]) == filepath.Join(p.base, "check") {
			return string(argv[2])
		}
	}
	return ""
}

// swap has the attacker's turn.
func (p place) swap(at string) error {
	mine := filepath.Join(p.user, "mine")
	if err := errors.Join(os.MkdirAll(mine, 0o755), os.WriteFile(filepath.Join(mine, filepath.Base(at)), []byte(evil+" new\n"), 0o644)); err != nil {
		return err
	}
	_ = os.WriteFile(at, []byte(evil+" new\n"), 0o644)
	_ = os.Link(at, filepath.Join(p.user, "linked"))
	for dir := filepath.Dir(at); dir != "/"; dir = filepath.Dir(dir) {
		if dir == p.sub || dir == p.user || dir == p.base {
			continue
		}
		if os.Rename(dir, filepath.Join(p.user, "theirs")) == nil {
			_ = os.Rename(mine, dir)
		}
	}
	_ = os.Rename(filepath.Join(mine, filepath.Base(at)), at)
	return os.WriteFile(filepath.Join(p.user, "turn"), nil, 0o644)
}

// TestFindingJ1SwappedUnderACheck: a command that checks a file for root never reads what another user has put there, and the
// bytes that it has read are those of the file afterwards.
func TestFindingJ1SwappedUnderACheck(t *testing.T) {
	w := newWorldOf(t, swappedPlaces)
	out, err := w.role(t.Context(), "own").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	attacker := w.role(t.Context(), "swap")
	var said bytes.Buffer
	attacker.Stderr = &said
	w.must(attacker.Start())
	d := w.daemon(t.Context(), "", "--flapping", "off")
	if err := attacker.Wait(); err != nil {
		t.Errorf("the attacker: %v\n%s", err, &said)
	}
	soon(t, d, "the checks have not ended", func(log string) bool { return strings.Contains(log, "converged: ") })
	w.tell(w.judge(d.stop()))
	for _, p := range w.places {
		text, err := os.ReadFile(p.file)
		if err != nil || !strings.Contains(string(text), "new") || strings.Contains(string(text), evil) {
			t.Errorf("%s: %q, %v", p, text, err)
		}
	}
	if t.Failed() {
		t.Log(d.log())
	}
}

// ownAll makes the attacker's own files.
func ownAll(root string) error {
	unix.Umask(0o022)
	for _, p := range swappedPlaces(root) {
		if err := errors.Join(os.Mkdir(p.sub, 0o755), p.own(p.file)); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}
