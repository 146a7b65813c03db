package main

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// limitMemory bounds the memory of this process, in bytes. The address space that Go has reserved by now does not count:
// it is much larger than the used memory.
func limitMemory(most uint64) error {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Fscan(bytes.NewReader(text), &pages); err != nil {
		return err
	}
	most += pages * uint64(os.Getpagesize())
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: most, Max: most})
}
