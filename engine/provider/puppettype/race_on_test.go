//go:build race

package puppettype_test

// raced says that pools forget what they hold now and then, so that package regexp
// allocates.
const raced = true
