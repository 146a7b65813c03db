// Mgmt-ts runs a program in TypeScript that makes a graph, for mgmt. It reads one request at standard input, writes one
// answer to descriptor 3, and ends. Standard output is that of the program.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/reactivegraph/mgmt/typescript"
)

// The limits of one program. mgmt adds a longer time limit of its own, for the case that this one fails.
const (
	maxTime   = 30 * time.Second
	maxMemory = 512 << 20
)

// main ends with code 0 when there is an answer. The answer may say that the program is wrong.
func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mgmt-ts:", err)
		os.Exit(1)
	}
}

// run serves one request. A fault of mgmt-ts itself is an error; a fault of the program is a part of the answer.
func run() error {
	time.Local = time.UTC // a program is told no time zone
	debug.SetMemoryLimit(maxMemory / 4 * 3)
	if err := limitMemory(maxMemory); err != nil {
		return fmt.Errorf("the memory can't be limited: %w", err)
	}
	var r typescript.Request
	if err := json.NewDecoder(bufio.NewReader(os.Stdin)).Decode(&r); err != nil {
		return fmt.Errorf("the request can't be read (mgmt starts this program for --ts): %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), maxTime, fmt.Errorf("the program has not ended within %s", maxTime))
	defer cancel()
	out := os.NewFile(3, "the answer")
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(typescript.Build(ctx, &r)); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return out.Close()
}
