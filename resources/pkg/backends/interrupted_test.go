package backends

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// script is tools that answer what stands there, by the beginning of the command; of several answers one after the other.
type script struct {
	answers map[string][]engine.Result
	ran     []engine.Command
}

func says(lines ...string) []engine.Result {
	var all []engine.Result
	for _, l := range lines {
		all = append(all, engine.Result{Stdout: []byte(l)})
	}
	return all
}

func (s *script) command(_ context.Context, c engine.Command) (*engine.Result, error) {
	line := strings.Join(c.Argv, " ")
	for begin, answers := range s.answers {
		if strings.HasPrefix(line, begin) {
			if len(answers) > 1 {
				s.answers[begin] = answers[1:]
			}
			s.note(c)
			return &answers[0], nil
		}
	}
	s.note(c)
	return &engine.Result{}, nil
}

// note keeps what alters something: only that has a cost.
func (s *script) note(c engine.Command) {
	if c.Cost != "" {
		s.ran = append(s.ran, c)
	}
}

func (s *script) lines() (list []string) {
	for _, c := range s.ran {
		list = append(list, strings.Join(c.Argv, " "))
	}
	return list
}

func (s *script) tools() tools {
	host := enginetest.NewHost()
	host.SetCommand(s.command)
	return tools{host: host, root: "/nonexistent", judge: func(*engine.Result) error { return nil }}
}

// mender is a backend that repairs.
type mender interface {
	interrupted(context.Context, virtual.Nothing) ([]string, error)
	repair(context.Context, virtual.Nothing) (map[string]Change, error)
}

const audit = `The following packages are only half configured, probably due to problems
configuring them the first time.  The configuration should be retried using
dpkg --configure <package> or the configure menu option in dselect:
 tiny                 for tests

The following packages have been unpacked but not yet configured.
 other:i386           for tests
`

// TestFindingB1EachBackendRepairs: each finds what a transaction has left half done, says it by name, and repairs it by commands that
// are let finish. Where all is well nothing is run that alters anything.
func TestFindingB1EachBackendRepairs(t *testing.T) {
	const names, history = "rpm -qa --qf %{NAME}.%{ARCH}", "dnf -q -C --setopt=color=never history info last"
	damaged := engine.Result{ExitCode: 1, Stderr: []byte("error: rpmdbNextIterator: database disk image is malformed\n")}
	aborted := "Transaction ID : 7\nReturn-Code    : ** Aborted **\n"
	for name, c := range map[string]struct {
		make    func(tools) mender
		answers map[string][]engine.Result
		what    []string
		runs    []string
	}{
		"apt": {
			func(x tools) mender { return &apt{tools: x} },
			map[string][]engine.Result{"dpkg --audit": says(audit)}, []string{"tiny", "other:i386"},
			[]string{"dpkg --force-confdef --force-confold --configure -a", strings.Join(get, " ") + " --fix-broken install"},
		},
		"apt, torn": {
			func(x tools) mender { return &apt{tools: x} },
			map[string][]engine.Result{"dpkg --audit": says(audit), "dpkg-query": says("iHR\ttiny\tall\t1.0\ttiny\t\tfor tests\nii \tother\ti386\t1.0\ttiny\t\tfor tests\n")}, []string{"tiny", "other:i386"},
			[]string{"dpkg --force-confdef --force-confold --configure -a", strings.Join(get, " ") + " --fix-broken --reinstall install -- tiny:all"},
		},
		"apt, well": {func(x tools) mender { return &apt{tools: x} }, nil, nil, nil},
		"dnf, twice": {
			func(x tools) mender { return &dnf{rpm{x}} },
			map[string][]engine.Result{names: says("a.noarch\ntiny.noarch\ntiny.noarch\nkernel.x86_64\nkernel.x86_64\ngpg-pubkey.(none)\ngpg-pubkey.(none)\n"), "rpm -q --whatprovides": says("kernel.x86_64\n")},
			[]string{"tiny.noarch"}, []string{strings.Join(dnfRun, " ") + " remove --duplicates"},
		},
		"dnf, aborted": {
			func(x tools) mender { return &dnf{rpm{x}} }, map[string][]engine.Result{history: says(aborted)},
			[]string{"the last transaction was aborted"}, []string{strings.Join(dnfRun, " ") + " history redo last"},
		},
		"dnf, damaged": {
			func(x tools) mender { return &dnf{rpm{x}} },
			map[string][]engine.Result{names: {damaged, damaged, {}}},
			[]string{"the database of rpm is damaged"}, []string{"rpm --rebuilddb"},
		},
		"dnf, well": {func(x tools) mender { return &dnf{rpm{x}} }, map[string][]engine.Result{names: says("a.noarch\n"), history: says("Return-Code    : Success\n")}, nil, nil},
		"zypper": {
			func(x tools) mender { return &zypper{rpm{x}} }, map[string][]engine.Result{names: says("tiny.noarch\ntiny.noarch\n")},
			[]string{"tiny.noarch"}, []string{"zypper --non-interactive --no-color --no-refresh install --force --no-recommends tiny.noarch", "zypper --non-interactive --no-color --no-refresh verify --no-recommends"},
		},
		"zypper, well": {func(x tools) mender { return &zypper{rpm{x}} }, map[string][]engine.Result{names: says("tiny.noarch\n")}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{answers: c.answers}
			m := c.make(s.tools())
			what, err := m.interrupted(t.Context(), virtual.Nothing{})
			if err != nil || !slices.Equal(what, c.what) || len(s.ran) > 0 {
				t.Fatalf("%q, %v, %q; want %q", what, err, s.lines(), c.what)
			}
			if len(what) == 0 {
				return
			}
			if _, err := m.repair(t.Context(), virtual.Nothing{}); err != nil {
				t.Error(err)
			}
			if !slices.Equal(s.lines(), c.runs) {
				t.Errorf("it ran\n%s\nwant\n%s", strings.Join(s.lines(), "\n"), strings.Join(c.runs, "\n"))
			}
		})
	}
}

// TestFindingB1DpkgUpdates: apt-get refuses to work while dpkg has changes that it has not merged, whatever the audit says.
func TestFindingB1DpkgUpdates(t *testing.T) {
	a := &apt{tools: (&script{}).tools()}
	a.root = t.TempDir()
	dir := a.at(dpkgUpdates)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]int{"tmp.i": 0, "0003": 1} {
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if what, err := a.interrupted(t.Context(), virtual.Nothing{}); file == "0003" && (err != nil || len(what) != want) {
			t.Errorf("%q, %v", what, err)
		}
	}
}

// TestFindingB1PacmanRepairs: a lock that a killed pacman has left goes, one that a process holds does not; a package that is in the
// database in part is installed anew.
func TestFindingB1PacmanRepairs(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		pacmanLock: "", pacmanLocal + "/ok-1.0-1/desc": "x", pacmanLocal + "/ok-1.0-1/files": "x",
		pacmanLocal + "/half-a-1.0-1/desc": "", pacmanLocal + "/half-a-1.0-1/files": "x", pacmanLocal + "/ALPM_DB_VERSION": "9",
	} {
		path = filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	s := &script{}
	p := &pacman{s.tools()}
	p.root = root
	what, err := p.interrupted(t.Context(), virtual.Nothing{})
	if err != nil || !slices.Equal(what, []string{staleLock, "half-a-1.0-1"}) {
		t.Fatalf("%q, %v", what, err)
	}
	if _, err := p.repair(t.Context(), virtual.Nothing{}); err != nil {
		t.Fatal(err)
	}
	if want := []string{strings.Join(pacmanRun, " ") + " -S --overwrite * half-a"}; !slices.Equal(s.lines(), want) {
		t.Errorf("it ran %q, want %q", s.lines(), want)
	}
	if what, err := p.interrupted(t.Context(), virtual.Nothing{}); err != nil || len(what) > 0 {
		t.Errorf("after that: %q, %v", what, err)
	}
}

// TestFindingB1ApkRepairs: what apk says to be broken is mended.
func TestFindingB1ApkRepairs(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, apkInstalled)
	text := "C:Q1\nP:tiny\nV:1.0-r0\nf:fs\n\nC:Q1\nP:other\nV:3.0-r1\nF:etc\n\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	s := &script{}
	a := &apk{s.tools()}
	a.root = root
	what, err := a.interrupted(t.Context(), virtual.Nothing{})
	if err != nil || !slices.Equal(what, []string{"tiny"}) {
		t.Fatalf("%q, %v", what, err)
	}
	if _, err := a.repair(t.Context(), virtual.Nothing{}); err != nil || !slices.Equal(s.lines(), []string{"apk --no-progress fix"}) {
		t.Errorf("%v, %q", err, s.lines())
	}
}

// TestFindingB1CostOfTransactions: of each backend what writes the database is let finish, and what only fetches or looks is not; none waits
// for a lock by itself.
func TestFindingB1CostOfTransactions(t *testing.T) {
	for _, b := range backends {
		s := &script{answers: map[string][]engine.Result{"dpkg-query": says("ii \ttiny\tall\t1.0\ttiny\t\tfor tests\n"), "apt-cache policy": says("tiny:\n  Candidate: 1.0\n"), "rpm -q": says("tiny\t0:1.0-1\tnoarch\tx\tfor tests\n")}}
		host := s.tools().host.(*enginetest.FakeHost)
		m := bind(t, b.backend, b.facts, host)
		if _, _, err := RefreshDB.Call(t.Context(), m, virtual.Nothing{}); err != nil || len(s.ran) > 0 {
			t.Errorf("%s: to fetch lists is no transaction: %v, %q", b.backend.Name, err, s.lines())
		}
		if _, _, err := Install.Call(t.Context(), m, InstallArgs{Pkgs: map[string]string{"tiny": ""}}); err != nil || len(s.ran) != 1 {
			t.Errorf("%s: %v, %q", b.backend.Name, err, s.lines())
		}
		for _, c := range host.Commands() {
			if line := strings.Join(c.Argv, " "); strings.Contains(line, "--wait") || strings.Contains(line, "Lock::Timeout") || strings.Contains(line, "--download-only") && c.Cost != "" {
				t.Errorf("%s: %+v", b.backend.Name, c)
			}
		}
	}
}
