package program_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/program"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/secrets"
)

// TestDo: what comes out of each way in which a program ends.
func TestDo(t *testing.T) {
	lost := errors.New("no such program")
	var hidden secrets.Texts
	hidden.Learn("canary-text", true)
	for _, c := range []struct {
		result *engine.Result
		err    error
		out    string
		want   string // the error; empty for none
	}{
		{&engine.Result{Stdout: []byte("x")}, nil, "x", ""},
		{nil, lost, "", "no such program"},
		{nil, nil, "", "it was not run"},
		{&engine.Result{Stdout: []byte("part")}, lost, "part", "no such program"},
		{&engine.Result{Stdout: []byte("x"), Stderr: []byte(" why\n"), ExitCode: 3}, nil, "x", "/bin/p ended with code 3: why"},
		{&engine.Result{ExitCode: 3}, nil, "", "/bin/p ended with code 3"},
		{&engine.Result{ExitCode: -1, Signal: "SIGKILL"}, nil, "", "/bin/p was ended by SIGKILL"},
		{&engine.Result{Stdout: []byte("x"), Truncated: true}, nil, "x", "/bin/p has written more than 64 MiB"},
		{&engine.Result{ExitCode: 1, Stderr: []byte("it is canary-text")}, nil, "", "/bin/p ended with code 1: it is " + schema.Redacted},
		{&engine.Result{ExitCode: 1, Stderr: []byte("it is canary-te"), Truncated: true}, nil, "", "/bin/p ended with code 1: it is " + schema.Redacted},
	} {
		call := program.Call{Command: engine.Command{Argv: []string{"/bin/p", "-x"}, Stdin: []byte("in"), MaxOutput: 64 << 20}, Hidden: &hidden}
		out, err := call.Do(t.Context(), func(_ context.Context, cmd engine.Command) (*engine.Result, error) {
			if string(cmd.Stdin) != "in" || !slices.Equal(cmd.Argv, []string{"/bin/p", "-x"}) {
				t.Errorf("%+v", cmd)
			}
			return c.result, c.err
		})
		if got := said(err); string(out) != c.out || got != c.want {
			t.Errorf("%q, %q, want %q, %q", out, got, c.out, c.want)
		}
	}
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestTimeout: a program that does not end is ended, and the error says why.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call, begin := program.Call{Timeout: time.Minute}, time.Now()
		_, err := call.Do(t.Context(), func(ctx context.Context, _ engine.Command) (*engine.Result, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		if said(err) != "it has not ended within 1m0s" || time.Since(begin) != time.Minute {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
	})
}

// TestEndless: a program that never stops writing is ended before its time is over, on either output, and with empty lines too.
func TestEndless(t *testing.T) {
	for _, c := range []struct {
		line string
		to   func(engine.Command) func([]byte)
	}{
		{"", func(cmd engine.Command) func([]byte) { return cmd.Stdout }},
		{strings.Repeat("x", 1000), func(cmd engine.Command) func([]byte) { return cmd.Stderr }},
	} {
		heard := 0
		call := program.Call{Timeout: time.Hour, Command: engine.Command{Argv: []string{"/bin/p"}, MaxOutput: 10_000, Stdout: func([]byte) { heard++ }}}
		lines := 0
		_, err := call.Do(t.Context(), func(ctx context.Context, cmd engine.Command) (*engine.Result, error) {
			for ; ctx.Err() == nil && lines < 100_000; lines++ {
				c.to(cmd)([]byte(c.line))
			}
			return &engine.Result{Truncated: true}, context.Cause(ctx)
		})
		if said(err) != "/bin/p has written more than 10000 bytes" || lines*(len(c.line)+1) < 20_000 || lines*(len(c.line)+1) > 30_000 || heard != 0 && heard != lines {
			t.Errorf("%v after %d lines, of which %d were heard", err, lines, heard)
		}
	}
}

// TestUnsaid: an error without the output says why it lacks it.
func TestUnsaid(t *testing.T) {
	f := &program.Failure{Name: "p", How: "ended with code 3", Said: "canary"}
	if got := f.Unsaid("a reason").Error(); got != "p ended with code 3; what it said is not shown, a reason" {
		t.Error(got)
	}
	if got := (&program.Failure{Name: "p", How: "ended with code 3"}).Unsaid("a reason").Error(); got != "p ended with code 3" {
		t.Error(got)
	}
}

// TestTail: an error is bounded, and is text.
func TestTail(t *testing.T) {
	if got := program.Tail(strings.Repeat("ä", 4000) + "\xff end \n"); len(got) > 1<<10 || !strings.HasSuffix(got, "ä? end") {
		t.Errorf("%q", got)
	}
}

// TestLine: a line is JSON that a shell can read, and ends.
func TestLine(t *testing.T) {
	if got := string(program.Line(map[string]any{"b": "<&>\n", "a": 1})); got != "{\"a\":1,\"b\":\"<&>\\n\"}\n" {
		t.Errorf("%q", got)
	}
}

// TestEnvironment: PATH is there, unless the caller has one.
func TestEnvironment(t *testing.T) {
	if got := program.Environment(map[string]string{"B": "2", "A": "1"}); !slices.Equal(got, []string{"PATH=" + program.SearchPath, "A=1", "B=2"}) {
		t.Errorf("%q", got)
	}
	if got := program.Environment(map[string]string{"PATH": "/x"}); !slices.Equal(got, []string{"PATH=/x"}) {
		t.Errorf("%q", got)
	}
}
