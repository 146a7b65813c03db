// Package kindtest has the helpers of the tests of all kinds: a resource at work on a fake host,
// files that are laid and compared, namespaces, and a fake systemd. Only tests import it.
package kindtest
