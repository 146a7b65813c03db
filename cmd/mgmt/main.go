// Command mgmt keeps a machine in the state that a graph of resources describes,
// and repairs it the moment it drifts. `mgmt help` lists its verbs; they are in
// package cmd.
package main

import "github.com/reactivegraph/mgmt/cmd"

func main() { cmd.Main() }
