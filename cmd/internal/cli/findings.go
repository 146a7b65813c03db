package cli

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/gapi"
)

// ModuleHint says where to look up the modules, their functions and parameters, for an error
// without a guess at the meaning.
// Any other error has no hint.
func ModuleHint(a *App, err error) string {
	show := "; " + a.Program() + " interface "
	if e, ok := errors.AsType[*virtual.UnknownModuleError](err); ok && e.Near == "" {
		return show + "list has the modules"
	}
	if e, ok := errors.AsType[*virtual.UnknownFunctionError](err); ok && e.Near == "" {
		return show + "show " + e.Module + " has the functions"
	}
	if e, ok := errors.AsType[*virtual.BadArgumentsError](err); ok {
		return show + "show " + e.Module + "." + e.Function + " has the parameters"
	}
	return ""
}

// Findings is the flag that says how a verb writes what it has found in a text: for people, as a document, or as the commands by which a
// workflow of GitHub shows findings at their lines.
type Findings struct{ output Output }

// Flag adds the flag.
func (f *Findings) Flag(cmd *cobra.Command, usage string) {
	OnlyForms(cmd, &f.output, "format", "", usage, []gapi.Finding{}, gapi.Formats...)
}

// Text reports whether people read the findings. They want a line also where nothing was found, which a program would take for a finding.
func (f *Findings) Text() bool { return f.output.Form() == "text" }

// Write writes findings to standard output. The texts of a graph in them do nothing to a terminal.
func (f *Findings) Write(a *App, ds schema.Diagnostics) error {
	helped := render.Helped(a.Program(), ds)
	return f.output.Write(a.Out, gapi.Findings(helped), func(w io.Writer) error {
		if f.Text() {
			render.PrintDiagnostics(w, a.Program(), ds)
			return nil
		}
		var b strings.Builder
		err := gapi.WriteDiagnostics(&b, f.output.Form(), helped)
		if err == nil {
			_, err = io.WriteString(w, render.EscapeJSON(b.String()))
		}
		return err
	})
}
