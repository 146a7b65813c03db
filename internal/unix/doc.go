// Package unix is the one border to the kernel: the names of golang.org/x/sys/unix that this program uses, for every system that
// the program is compiled for. On Linux each name is the one of that package. Elsewhere the types and the constants are
// there, so that kinds, their documentation and their checks compile, and each function answers ErrNeedsLinux.
//
// # Laws
//
//   - Both files declare the same names; a test compares them.
//   - A function does one call of the kernel and has no state. It may be called from every goroutine at once.
//   - Errors are those of the kernel, an Errno. Nothing here is logged or tried again.
//   - No other file of the program imports golang.org/x/sys/unix. A test may.
//   - The build tag mgmt_portable chooses, on Linux, the files for other systems. So tests run here what a
//     person with such a system would run.
//
// The calls stand in unix_linux.go and unix_other.go, the types and numbers of the kernel in
// kernel_linux.go and kernel_other.go.
package unix

import "errors"

// ErrNeedsLinux is what each function answers on a system other than Linux. Errors that users see wrap it.
var ErrNeedsLinux = errors.New("this needs Linux: mgmt manages machines with Linux only")
