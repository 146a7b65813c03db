// Package early keeps a daemon from ending by a signal that comes before it listens.
// SIGHUP asks a daemon for a reload, and its default action is to end the program;
// most of the time between the start of the process and its first own statement belongs
// to the initialisation of packages. So this package imports next to nothing, is
// therefore initialised among the first, and only where the program was started as
// `... run`. The kernel's default still holds until the runtime of Go has begun, about a
// millisecond after exec; a caller that has to be sure waits for READY=1.
package early

import (
	"os"
	"os/signal"
	"syscall"
)

// hangups has what came before the daemon listens. It is the one state of this package,
// because an initialisation has nowhere else to leave it.
var hangups = listen()

// Hangups returns the channel that has the SIGHUP which came before the daemon listened;
// nil where the program was not started as a daemon.
func Hangups() <-chan os.Signal { return hangups }

// listen has SIGHUP and SIGPIPE do nothing but fill a channel, unless they are ignored,
// as by nohup. SIGPIPE only says that the log has no reader.
func listen() chan os.Signal {
	if len(os.Args) < 2 || os.Args[1] != "run" {
		return nil
	}
	ch := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(ch, syscall.SIGHUP)
	}
	if !signal.Ignored(syscall.SIGPIPE) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	}
	return ch
}
