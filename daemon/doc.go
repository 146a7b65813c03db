// Package daemon makes a running Engine of a configuration: with its state folder and its store, the kinds of its folders, the graph of its
// input and what the store adds to that, the socket that the verbs of mgmt ask, metrics, and systemd. The verb run is a program over it,
// and so is any other program that wants all of that:
//
//	d, err := daemon.Open(ctx, daemon.Config{Graph: input.Config{YAML: "graph.yaml"}, State: state.Place{Prefix: "/var/lib/webd"}})
//	if err != nil {
//		return err
//	}
//	defer d.Close()
//	report, err := d.Run(ctx)
//
// A program that wants the engine alone takes package mgmt.
//
// # Laws
//
//   - A daemon is a list of parts with one life: all of them are opened before anything is altered, started when the engine answers, and
//     closed after it in reverse order. A part that can't be opened is an error, and closes those before it.
//   - A reload takes over everything or nothing: kinds, limits, keys and graph. Another input counts when its first graph is in effect.
//   - The state is given up last, so what a part writes at the end is kept.
//   - Nothing is read from the command line, and of the environment only what the packages below document.
package daemon
