// Package cmd is the program mgmt: its verbs, each in a file of its own, over the
// engine as package mgmt puts it together. `mgmt help` lists them.
//
// Command mgmt is nothing but a call of [Main]. A program with more kinds imports
// them beside it:
//
//	package main
//
//	import (
//		"github.com/reactivegraph/mgmt/cmd"
//
//		_ "example.com/marker" // registers its kind
//	)
//
//	func main() { cmd.Main() }
package cmd

import (
	"context"
	"os"

	"github.com/reactivegraph/mgmt/cmd/early"
)

// Main runs the program with the arguments, the standard streams and the signals of
// the process, and ends the process with the exit code of the verb; it does not
// return. In its help, its manual page and the scripts for shells the program is called as
// it was started: those of a program of another name are its own.
func Main() {
	keepInherited()
	a := &app{name: nameOf(os.Args[0]), in: os.Stdin, out: os.Stdout, err: os.Stderr, exit: os.Exit, early: early.Hangups()}
	os.Exit(a.main(context.Background(), os.Args[1:]))
}
