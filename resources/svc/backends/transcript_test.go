package backends

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// A transcript says what the tools of a service manager are asked and what they answer:
//
//	call FUNCTION NAME
//	$ the command that has to be run next
//	what it prints
//	= its exit status
//	-> what the call returns, or error: and a part of the message
type transcript struct {
	t     *testing.T
	name  string
	lines []string
	at    int
}

func (s *transcript) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s:%d: %s", s.name, s.at, fmt.Sprintf(format, args...))
}

// next returns the next line that says something.
func (s *transcript) next() (string, bool) {
	for s.at < len(s.lines) {
		line := s.lines[s.at]
		s.at++
		if line != "" && line[0] != '#' {
			return line, true
		}
	}
	return "", false
}

// command is the machine's Command: it answers what stands there, if it is asked what
// stands there.
func (s *transcript) command(_ context.Context, c engine.Command) (*engine.Result, error) {
	line, _ := s.next()
	if want := "$ " + strings.Join(c.Argv, " "); line != want {
		return nil, fmt.Errorf("line %d: %q was run, and %q stands there", s.at, want, line)
	}
	var out strings.Builder
	for s.at < len(s.lines) {
		line := s.lines[s.at]
		s.at++
		var code int
		if _, err := fmt.Sscanf(line, "= %d", &code); err == nil {
			text := []byte(out.String())
			return &engine.Result{ExitCode: code, Stdout: text, Output: text}, nil
		}
		out.WriteString(line + "\n")
	}
	return nil, fmt.Errorf("the answer to %q has no end", line)
}

// call makes one call and compares what comes back.
func (s *transcript) call(m *virtual.Module, line string) {
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "call" {
		s.fail("%q is no call", line)
	}
	args := virtual.Args{}
	if len(words) > 2 {
		args.Named = map[string]any{"name": words[2]}
	}
	r, err := m.Call(s.t.Context(), words[1], args)
	want, _ := s.next()
	text, isErr := strings.CutPrefix(want, "-> error: ")
	switch {
	case isErr && (err == nil || !strings.Contains(err.Error(), text)):
		s.fail("%s returned the error %v, want %s", line, err, text)
	case !isErr && err != nil:
		s.fail("%s: %v", line, err)
	case !isErr && "-> "+show(r) != want:
		s.fail("%s returned %s, want %s", line, show(r), want)
	}
}

func show(r *virtual.Result) string {
	switch {
	case !r.Found:
		return "not found"
	case r.Common == nil:
		return "ok"
	}
	return strings.TrimPrefix(fmt.Sprint(r.Common), "map")
}

func TestTranscripts(t *testing.T) {
	for _, b := range Backends() {
		if b.Name == "systemd" {
			continue // has a bus instead
		}
		files, err := filepath.Glob("testdata/" + b.Name + "*.txt")
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no transcript: %v", b.Name, err)
		}
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				s := &transcript{t: t, name: file, lines: strings.Split(string(text), "\n")}
				host := enginetest.NewHost()
				host.SetCommand(s.command)
				m := bind(t, b, host)
				for line, ok := s.next(); ok; line, ok = s.next() {
					s.call(m, line)
				}
			})
		}
	}
}

// No tool is run with a name that it could take for something else.
func TestToolsRefuseNames(t *testing.T) {
	for _, b := range Backends() {
		host := enginetest.NewHost()
		host.SetCommand(func(context.Context, engine.Command) (*engine.Result, error) { return &engine.Result{}, nil })
		m := bind(t, b, host)
		opened := len(host.Commands())
		for _, f := range m.Functions() {
			for _, name := range []string{"-o", "--help", "../x", "a/b", "a\nb", "a b", "", "$(id)", "a;b", "a@", strings.Repeat("a", 300)} {
				if _, err := m.Call(t.Context(), f, virtual.Args{Named: map[string]any{"name": name}}); err == nil {
					t.Errorf("%s: %s of %q", b.Name, f, name)
				}
			}
		}
		if ran := host.Commands()[opened:]; len(ran) > 0 {
			t.Errorf("%s has run %v", b.Name, ran)
		}
	}
}

// Each backend without a manager that tells has the paths watched in which its state is.
func TestToolsWatch(t *testing.T) {
	touched := map[string]string{"openrc": "/run/openrc/started/web", "runit": "/etc/sv/web/supervise/status"}
	enabled := map[string]string{"openrc": "/etc/runlevels/default/web", "runit": "/etc/sv/web/down"}
	for _, b := range Backends() {
		if touched[b.Name] == "" {
			continue
		}
		host := enginetest.NewHost()
		host.SetCommand(func(context.Context, engine.Command) (*engine.Result, error) { return &engine.Result{}, nil })
		m := bind(t, b, host)
		for _, name := range []string{"web", "web.service"} {
			sub, err := m.Watch(t.Context(), []string{name})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range []string{touched[b.Name], enabled[b.Name]} {
				if host.Touch(p) != 1 {
					t.Errorf("%s does not watch %s", b.Name, p)
				}
			}
			if host.Touch(strings.ReplaceAll(touched[b.Name], "web", "other")) != 0 {
				t.Errorf("%s watches others", b.Name)
			}
			sub.Close()
		}
		all, err := m.Watch(t.Context(), nil)
		if err != nil || host.Touch(touched[b.Name]) != 1 {
			t.Errorf("%s: all: %v", b.Name, err)
		}
		all.Close()
		if _, err := m.Watch(t.Context(), []string{Watched("web", true)}); err == nil {
			t.Errorf("%s watches a session", b.Name)
		}
		if _, err := m.Watch(t.Context(), []string{"../x"}); err == nil {
			t.Errorf("%s watches a path", b.Name)
		}
	}
}
