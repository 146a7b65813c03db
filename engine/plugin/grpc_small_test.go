//go:build small

package plugin_test

import "testing"

// transport returns the line of the descriptor of a test. A small program has lines alone.
func transport(testing.TB) string { return "" }
