package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
)

// Program is what the program calls itself.
func (a *App) Program() string { return cmp.Or(a.Name, render.Product) }

// NameOf returns the name of a program from the word by which it was started. A name
// that a shell would not take as it stands is not repeated.
// Such a name is that of a login shell, which begins with a hyphen, or one with blanks in it.
func NameOf(started string) string {
	name := filepath.Base(started)
	if strings.HasPrefix(name, "-") || strings.Trim(name, ".") == "" || strings.ContainsFunc(name, strange) {
		return render.Product
	}
	return name
}

// strange reports whether a character has no place in the name of a program.
func strange(r rune) bool {
	switch {
	case '0' <= r && r <= '9', 'A' <= r && r <= 'Z', 'a' <= r && r <= 'z':
		return false
	}
	return !strings.ContainsRune("-_.+", r)
}

// Rename replaces the name of the program in the texts of a verb, its flags and its subcommands.
func Rename(cmd *cobra.Command, name string) {
	call := func(text *string) { *text = render.Called(name, *text) }
	call(&cmd.Short)
	call(&cmd.Long)
	call(&cmd.Example)
	flag := func(f *pflag.Flag) { call(&f.Usage) }
	cmd.Flags().VisitAll(flag)
	cmd.PersistentFlags().VisitAll(flag)
	for _, c := range cmd.Commands() {
		Rename(c, name)
	}
}

// Hostname returns the name of this machine, or "". It uses no network.
func Hostname() string {
	name, _ := os.Hostname()
	return name
}
