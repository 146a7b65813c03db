// Command mgmt keeps a machine in the state that a graph of resources describes,
// and repairs it the moment it drifts. `mgmt help` lists its verbs, each of which
// is in a file of its own here.
package main

import (
	"context"
	"os"
)

func main() {
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, exit: os.Exit}
	os.Exit(a.main(context.Background(), os.Args[1:]))
}
