// Command sleeper is what runs in the containers of the tests. With "end" it ends at
// once, with exit code 3; else when it is told to.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "end" {
		os.Exit(3)
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	<-told
}
