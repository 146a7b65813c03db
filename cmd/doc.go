// Package cmd is the program mgmt: the tree of its verbs, which stand in the packages below it, over the
// engine as package mgmt puts it together. `mgmt help` lists them.
//
// Command mgmt is nothing but a call of [Main]. A program with more kinds imports
// them, too:
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
//
// # How a verb is built
//
// A verb stands in the room of those who use it: run, plan, ask, api, fleet, secret, author or machine. A file has
// one verb: a struct with its flags, a function New... that makes the command, and a method run that does the work.
// The table verbs names all of them. Flags that several verbs share are structs of packages inputs and remote. A verb
// holds them as fields and calls their method Flags. What the verbs of a room share is a type of its own, and never
// the flags of one of them.
//
// A setting is a flag that the environment and the configuration file can give too. The table of package cli
// declares all of them, and cli.Bind makes the flag. A verb reads a setting only from the field that Bind has filled.
//
// What a verb shows is a document: package render writes it as JSON or YAML, and the verb itself as text. A table of text is a render.Table.
//
// # Laws
//
//   - Results go to standard output. All else, such as the log, warnings and errors, goes to
//     standard error.
//   - The exit code is 0 when all is as wanted, 1 after a wrong use or a refused graph, and 2
//     for a change. It is 4 for a failure and 5 for time that is over. The code 6 says both 2
//     and 4.
//   - A verb that listens to no signal is ended by the default action of the signal. The shell
//     then shows 128 and the number of the signal.
//   - JSON has the same keys in the log, in a verb and in the API of the daemon.
//   - Text that comes from a resource, a file or another process passes through render.Visible before
//     a terminal sees it, since it may hold control characters.
//   - A verb that acts refuses files that other users can write, when it runs as root.
//   - A verb that only asks changes nothing, not even the state folder.
//   - No verb leaves a goroutine or a child behind when its run returns.
//
// # Time
//
// Waits and times of the verbs are those of the wall clock: they are for people. The
// engine below has a Clock of its own.
package cmd

import (
	"context"
	"os"

	"github.com/reactivegraph/mgmt/cmd/early"
	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// Main runs the program with the arguments, the standard streams and the signals of
// the process. It ends the process with the exit code of the verb, and does not return.
// Help, the manual page and the scripts for shells have the name by which the program
// was started. So a program of another name has its own.
func Main() {
	keepInherited()
	shutOut()
	a := &cli.App{Name: cli.NameOf(os.Args[0]), In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Exit: os.Exit, Early: early.Hangups()}
	os.Exit(execute(context.Background(), a, os.Args[1:]))
}

// shutOut takes the right to write from group and others for all that the program and its commands make without a mode, as
// systemd's default does. Who starts it with a stricter umask keeps that.
func shutOut() {
	const least = 0o022
	if was := unix.Umask(least); was&^least != 0 {
		unix.Umask(was | least)
	}
}
