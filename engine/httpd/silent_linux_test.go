package httpd

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/internal/nstest"
)

// TestFindingJ3SilentCertificate: the API goes on with its certificate while the files are on a file system that does not answer. Only the
// caller whose handshake looks at them waits.
func TestFindingJ3SilentCertificate(t *testing.T) {
	if !nstest.InNamespace(t) {
		return
	}
	silent, wake := nstest.Silent(t)
	r := newTLSRig(t)
	for _, name := range []string{"cert", "key", "ca"} {
		path := filepath.Join(r.dir, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(silent, name), path); err != nil {
			t.Fatal(err)
		}
	}
	r.clock.Advance(2 * time.Second)
	anna := r.ca.sign(t, "anna", x509.ExtKeyUsageClientAuth, 24*time.Hour)
	answered := make(chan error, 2)
	var callers sync.WaitGroup
	for range cap(answered) {
		c := r.caller(t, &anna)
		callers.Go(func() {
			_, _, err := r.who(t, c)
			answered <- err
		})
	}
	err := <-answered
	if err != nil { // the one that waits was cut by the limit of the server
		err = <-answered
	}
	if err != nil {
		t.Error(err)
	}
	wake()
	callers.Wait()
	r.end()
}

// TestFindingJ3IrregularCertificate: a pipe in the place of a file is refused at once, and leaves the old certificate in effect.
func TestFindingJ3IrregularCertificate(t *testing.T) {
	r := newTLSRig(t)
	anna := r.ca.sign(t, "anna", x509.ExtKeyUsageClientAuth, 24*time.Hour)
	path := filepath.Join(r.dir, "key")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(2 * time.Second)
	if _, _, err := r.who(t, r.caller(t, &anna)); err != nil {
		t.Error(err)
	}
	if said := r.log.String(); !strings.Contains(said, "the old one stays in effect") || !strings.Contains(said, "not a plain file") {
		t.Error(said)
	}
	r.end()
}
