// Package machines tests the program on machines that a test boots, with what systemd, cron, apt
// and the rest of a Debian do. It has nothing to import. docs/development/machines.md says
// how to run the tests and how to add one.
package machines
