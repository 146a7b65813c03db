package cmd

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// product is what the program is called if nothing else is known.
// It is also the word in all texts of the source, which rename replaces.
const product = "mgmt"

// program is what the program calls itself.
func (a *app) program() string { return cmp.Or(a.name, product) }

// nameOf returns the name of a program from the word by which it was started. A name
// that a shell would not take as it stands is not repeated.
// Such a name is that of a login shell, which begins with a hyphen, or one with blanks in it.
func nameOf(started string) string {
	name := filepath.Base(started)
	if strings.HasPrefix(name, "-") || strings.Trim(name, ".") == "" || strings.ContainsFunc(name, strange) {
		return product
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

// called returns a text that calls the program by its name.
// The word is replaced only where blanks or a new line surround it: /etc/mgmt and mgmt.yaml stay.
func called(name, text string) string {
	if name == product {
		return text
	}
	// The new line in front lets the first word of a text count, too.
	return strings.NewReplacer(" mgmt ", " "+name+" ", "\nmgmt ", "\n"+name+" ").Replace("\n" + text)[1:]
}

// rename has the texts of a verb, of its flags, and of the verbs below it call the
// program by another name than that under which they are written.
func rename(cmd *cobra.Command, name string) {
	call := func(text *string) { *text = called(name, *text) }
	call(&cmd.Short)
	call(&cmd.Long)
	call(&cmd.Example)
	flag := func(f *pflag.Flag) { call(&f.Usage) }
	cmd.Flags().VisitAll(flag)
	cmd.PersistentFlags().VisitAll(flag)
	for _, c := range cmd.Commands() {
		rename(c, name)
	}
}

// hostname returns the name of this machine, empty where it has none. Nothing is looked up in the network.
func hostname() string {
	name, _ := os.Hostname()
	return name
}
