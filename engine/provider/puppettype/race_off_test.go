//go:build !race

package puppettype_test

const raced = false
