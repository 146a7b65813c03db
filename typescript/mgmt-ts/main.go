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
	"runtime/metrics"
	"time"

	"github.com/reactivegraph/mgmt/typescript"
)

// The limits of one program. mgmt adds a longer time limit of its own, for the case that this one fails.
const (
	maxTime   = 30 * time.Second
	maxMemory = 512 << 20 // of its values; the process ends at twice that, for one step that takes too much
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
	debug.SetGCPercent(400) // it lives for one program: below the limit, memory is cheaper than to collect it
	if err := limitMemory(2 * maxMemory); err != nil {
		return fmt.Errorf("the memory can't be limited: %w", err)
	}
	var r typescript.Request
	if err := json.NewDecoder(bufio.NewReader(os.Stdin)).Decode(&r); err != nil {
		return fmt.Errorf("the request can't be read (mgmt starts this program for --ts): %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), maxTime, fmt.Errorf("the program has not ended within %s", maxTime))
	defer cancel()
	ctx, full := context.WithCancelCause(ctx)
	defer full(nil)
	go guard(ctx, full, maxMemory)
	out := os.NewFile(3, "the answer")
	w := bufio.NewWriter(out)
	if err := typescript.Build(ctx, &r).Write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return out.Close()
}

// guard ends a program whose values take more than so many bytes. It does so between two steps of the program, so that the answer has the
// place. It returns when ctx ends.
func guard(ctx context.Context, full context.CancelCauseFunc, most uint64) {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	used := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if metrics.Read(used); used[0].Value.Uint64() > most {
			full(fmt.Errorf("the program uses more than %d MiB of memory: a loop may add to a list or a text without an end", maxMemory>>20))
			return
		}
	}
}
