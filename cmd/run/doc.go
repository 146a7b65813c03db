// Package run has the verb run: a daemon.Daemon with the flags as its Config, and with what a program adds to it as further parts. These are signals, the
// news on a terminal, dumps at SIGQUIT and the memory that is given back. A reload makes the Config anew from all settings.
package run
