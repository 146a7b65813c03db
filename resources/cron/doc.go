// Package cron has the kind cron: a timer of systemd that starts a service. Res is its type, and importing the package
// registers the kind in engine.DefaultRegistry.
//
// # Laws
//
//   - The text of a unit follows from the parameters alone, so two looks at one resource write the same file.
//   - A time that systemd would refuse is an error of the graph, and names the wrong part.
//   - The timer that runs is compared too: a unit that was read before its file was changed is restarted.
package cron
