package ask

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/gapi"
)

// verdictFlags are those of the verbs that have the daemon read a graph.
type verdictFlags struct {
	remote.Daemon
	color cli.Choice
	// wait is 0 without the flag: the verb then ends with the verdict.
	wait cli.Seconds
}

// defaultWait is the time of --wait alone. It is a text, since pflag reads it as if a user had
// written it.
const defaultWait = "5m"

// flags adds the flags of the verbs that hand over a graph. They say where the daemon is,
// how to write the answer, and how long to wait.
func (f *verdictFlags) flags(cmd *cobra.Command, more ...any) {
	f.Daemon.Flags(cmd, cli.OneOf(append([]any{control.Verdict{}, control.Status{}}, more...)))
	cli.ColorFlag(cmd, &f.color)
	f.waitFlag(cmd)
}

func (f *verdictFlags) waitFlag(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.Var(&f.wait, "wait", "wait until the graph has settled, at most this `time` ("+defaultWait+" without a value), and exit with its status")
	fl.Lookup("wait").NoOptDefVal = defaultWait
}

// NewApply makes the verb apply. The daemon does all checks itself, so the verb says the
// same as a daemon that reads the file.
// The rights are those of the daemon: it takes the order from root and its own user alone, as the
// kernel names the caller.
func NewApply(a *cli.App) *cobra.Command {
	f := &verdictFlags{}
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Replace the graph of the running daemon, and report the outcome",
		Long: `Apply sends a graph to the running daemon. The daemon validates it with its own
types and backends, writes it over its graph file, and loads it. The file keeps
its owner and mode, and FILE.previous keeps its old content. If the daemon rejects
the graph, the file and the running graph stay as they are. Relative paths in the
graph start at the daemon's graph file. FILE is - for standard input.

The exit code is 0 if the graph took effect, and 1 if it was refused. With --wait,
apply waits until the graph has settled, and exits as run does: 0 everything is as
declared, 2 something would change or is held, 4 something failed or is blocked, 6
for both, 5 the wait timed out.

Only root and the daemon's user may do this.`,
		Example: `  mgmt apply graph.yaml --wait
  generate | mgmt apply - --wait=10m`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return f.apply(cmd.Context(), a, args[0]) },
	}
	f.flags(cmd)
	cli.GuardFlag(a, cmd)
	return cmd
}

// NewReload makes the verb reload, which differs from a signal only in that it waits for
// the verdict.
func NewReload(a *cli.App) *cobra.Command {
	f := &verdictFlags{}
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Reload the settings and the graph of the running daemon, and report the outcome",
		Long: `Reload makes the running daemon read its configuration and its graph again,
changed or not. The exit code is 0 if the graph took effect. If either is refused,
reload prints every error, the exit code is 1, and settings and graph stay as they
are. A warning names each setting that needs a restart. With --wait, reload waits
as apply does.

Only root and the daemon's user may do this.`,
		Example: `  mgmt reload --wait`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.reload(cmd.Context(), a) },
	}
	f.flags(cmd)
	return cmd
}

// oneFile checks the argument of apply. A value of --wait behind a blank looks like a
// second file, so the error says how to write it.
// pflag takes no value behind a blank for a flag that has a value without one (NoOptDefVal).
func oneFile(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return errors.New("missing graph, write: mgmt apply FILE (- is standard input)")
	case len(args) > 1:
		return fmt.Errorf("unexpected argument %q, write: mgmt apply FILE; a value of --wait is written with =, as in --wait=%s", args[1], args[1])
	case args[0] == "":
		return errors.New("empty graph name, write: mgmt apply FILE")
	}
	return nil
}

// apply sends the document with its absolute path, so that the findings of the daemon name
// a file that the user knows.
func (f *verdictFlags) apply(ctx context.Context, a *cli.App, file string) error {
	text, err := readDocument(ctx, a, file)
	if err != nil {
		return err
	}
	// The name is for messages alone: the daemon never opens that path, and puts the text in its own
	// file.
	name := file
	if file == "-" {
		name = "<stdin>"
	} else if abs, err := filepath.Abs(file); err == nil {
		name = abs
	}
	v, err := f.Client().Apply(ctx, control.ApplyRequest{Name: name, Document: string(text)})
	return f.end(ctx, a, v, err)
}

// reload asks the daemon to read its graph again, and tells the verdict.
func (f *verdictFlags) reload(ctx context.Context, a *cli.App) error {
	v, err := f.Client().Reload(ctx)
	return f.end(ctx, a, v, err)
}

// readDocument reads a graph that is one file. Text outside of UTF-8 is refused here: on
// the way to the daemon each wrong byte would become another sign.
// The daemon's own bound on a document counts here too, so a wrong file is refused before it is sent.
func readDocument(ctx context.Context, a *cli.App, file string) ([]byte, error) {
	in := a.In
	if file != "-" {
		info, err := a.Asking().Stat(ctx, file)
		switch {
		case errors.Is(err, gapi.ErrSilent):
			return nil, err
		case err == nil && info.IsDir():
			return nil, fmt.Errorf("%s is a folder, and apply takes one file: copy the files into the daemon's folder, and run mgmt reload", file)
		case err == nil && info.Mode().IsRegular():
			src, err := a.Source().ReadRegular(ctx, file, control.MaxDocument+1, "")
			if err != nil {
				return nil, err
			}
			in = bytes.NewReader(src)
		default:
			f, err := a.Source().Open(file)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			// A named pipe may have no writer for hours, so the read ends with the context.
			in = gapi.Patient(ctx, f)
		}
	}
	text, err := io.ReadAll(io.LimitReader(in, control.MaxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	case len(text) > control.MaxDocument:
		return nil, fmt.Errorf("%s is longer than the maximum of %d bytes", file, control.MaxDocument)
	case len(text) == 0:
		// An empty file is a graph without resources to YAML. It is likely the trace of a program
		// that has failed.
		return nil, fmt.Errorf("%s is empty: write an empty graph as resources: {}", file)
	case !utf8.Valid(text):
		return nil, fmt.Errorf("%s is not UTF-8: save it as UTF-8, or write raw bytes as !!binary; mgmt validate shows where", file)
	}
	return text, nil
}

// end tells the verdict, waits if asked to, and ends with its code.
// A graph that is held by a limit is neither refused nor in effect: its exit code is that
// of a pending change.
func (f *verdictFlags) end(ctx context.Context, a *cli.App, v *control.Verdict, err error) error {
	switch {
	case err != nil:
		return remote.Explained(err)
	case v.Refused != "":
		return f.refused(a, v)
	case v.Held != "":
		// The file stays in its place, and mgmt resume lets the graph take effect.
		return cli.WithCode(cli.ExitChange, errors.New("graph "+render.Visible(v.Held)))
	}
	// These are warnings: a graph with an error is refused and does not come here.
	for _, finding := range v.Findings {
		fmt.Fprintln(a.Err, render.Visible(finding))
	}
	// With --wait the document comes at the end.
	if f.wait == 0 || !f.Output.Document() {
		err = f.Output.Write(a.Out, v, func(w io.Writer) error { return f.inEffect(w, v) })
	}
	if f.wait == 0 || err != nil {
		return err
	}
	return f.await(ctx, a, v)
}

// inEffect tells of the graph that took effect and, on a line each, of what has left with it.
func (f *verdictFlags) inEffect(w io.Writer, v *control.Verdict) error {
	text := ""
	if f.wait == 0 {
		text = fmt.Sprintf("the graph is in effect, generation %d\n", v.Generation)
	}
	for _, l := range v.Leaving {
		text += render.Visible(l.Resource) + " " + render.LeavingText(l.Undone) + "\n"
	}
	if v.More > 0 {
		text += render.MoreLeaving(v.More) + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// refused tells why a graph was refused, and that nothing has changed: neither the graph
// nor its file. The exit code is 1.
func (f *verdictFlags) refused(a *cli.App, v *control.Verdict) error {
	text := "graph refused, the last good one stays in effect"
	if v.Path != "" {
		text += ", and " + v.Path + " is unchanged"
	}
	var refused error // a document says it all, so no line of text follows on standard error
	err := f.Output.Write(a.Out, v, func(io.Writer) error {
		for _, finding := range v.Findings {
			fmt.Fprintln(a.Err, render.Visible(finding))
		}
		if len(v.Findings) == 0 {
			text += ": " + render.Visible(v.Refused)
		}
		refused = errors.New(text)
		return nil
	})
	if err != nil {
		return err
	}
	return cli.WithCode(cli.ExitUsage, refused)
}

// await waits until the graph of a verdict has come to rest.
// Session and generation tell whether it is still the same daemon and the same graph.
// Without that, a newer graph at rest would be taken for this one.
func (f *verdictFlags) await(ctx context.Context, a *cli.App, v *control.Verdict) error {
	// The wait is that of mgmt status --wait=converged, so both verbs mean the same by it.
	s := &statusFlags{Daemon: f.Daemon, color: f.color, timeout: f.wait, wait: "converged"}
	st, err := s.ask(ctx)
	switch {
	case err != nil:
		// The verdict has come, so the graph took effect. Only its end is not known, as after a
		// wait that is over.
		return cli.WithCode(cli.ExitTime, fmt.Errorf("the daemon exited before the graph had settled: %w", remote.Explained(err)))
	case st.Session != v.Session:
		return errors.New("the daemon was restarted before the graph had settled; see mgmt status")
	case st.Generation != v.Generation && (st.SameSince == 0 || st.SameSince > v.Generation):
		return fmt.Errorf("another graph took effect before this one had settled: generation %d, not %d; see mgmt status", st.Generation, v.Generation)
	}
	if err := s.write(a, st); err != nil {
		return err
	}
	if !st.Converged {
		return cli.WithCode(cli.ExitTime, fmt.Errorf("not converged after %s", time.Duration(f.wait)))
	}
	return cli.WithCode(st.Code(), nil)
}
