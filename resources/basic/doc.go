// Package basic has the small kinds that touch nothing of the machine but a log: noop, print, msg,
// value, timer and test.
//
// # Laws
//
//   - An action without a state of its own is due once for each cause. A second look finds nothing due.
//   - A line in the own log is no change, so a mere look writes it too. A message to another log is a change.
package basic
