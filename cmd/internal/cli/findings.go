package cli

import (
	"errors"
	"io"
	"strings"

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

// WriteFindings writes findings for a program. The texts of a graph in them do nothing to a terminal.
func WriteFindings(a *App, format string, ds schema.Diagnostics) error {
	var b strings.Builder
	err := gapi.WriteDiagnostics(&b, format, render.Helped(a.Program(), ds))
	if err == nil {
		_, err = io.WriteString(a.Out, render.EscapeJSON(b.String()))
	}
	return err
}
