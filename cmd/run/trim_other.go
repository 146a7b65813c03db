//go:build !linux

package run

// dropProgram does nothing: other systems drop such pages by themselves when memory is short.
func dropProgram() {}
