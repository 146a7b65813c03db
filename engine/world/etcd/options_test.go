//go:build !small

package etcd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/world/etcd"
)

// TestParseAddress: an address gives endpoints and a prefix, and an error names each fault.
func TestParseAddress(t *testing.T) {
	for _, c := range []struct{ address, endpoints, prefix, fault string }{
		{"etcd://a:2379", "a:2379", "", ""},
		{"etcd://a:2379,b:2380,[::1]:1/x/y", "a:2379 b:2380 [::1]:1", "/x/y", ""},
		{"etcd://a:2379/", "a:2379", "", ""},
		{"etcd://", "", "", `endpoint "": it has to be HOST:PORT`},
		{"etcd://a", "", "", `endpoint "a": it has to be HOST:PORT`},
		{"etcd://a:1,", "", "", `endpoint ""`},
		{"etcd://:1", "", "", `endpoint ":1": it has to be HOST:PORT`},
		{"etcd://a:0", "", "", "the port has to be a number from 1 to 65535"},
		{"etcd://a:65536", "", "", "the port has to be a number from 1 to 65535"},
		{"etcd://u:p@a:1", "", "", "a user is a setting of its own"},
		{"http://a:1", "", "", "it has to be etcd://HOST:PORT"},
		{"etcd://a:1/" + strings.Repeat("x", 30), "a:1", "/" + strings.Repeat("x", 30), ""},
		{"etcd://a:1/" + strings.Repeat("x", 31), "", "", "has 33 bytes with its end, and at most 32 are allowed"},
	} {
		o, err := etcd.ParseAddress(c.address)
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "u:p") {
				t.Errorf("%s: %v, want %s", c.address, err, c.fault)
			}
			continue
		}
		if got := strings.Join(o.Endpoints, " "); err != nil || got != c.endpoints || o.Prefix != c.prefix {
			t.Errorf("%s: %q below %q, %v", c.address, got, o.Prefix, err)
		}
	}
	_, err := etcd.ParseAddress("etcd://a,b:x")
	if err == nil || !strings.Contains(err.Error(), `"a"`) || !strings.Contains(err.Error(), `"b:x"`) {
		t.Errorf("two faults: %v", err)
	}
}

// TestExposed: an unencrypted connection over a network is told, and no other.
func TestExposed(t *testing.T) {
	all := etcd.Options{Endpoints: []string{"127.0.0.1:1", "127.9.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "localhost:1", "192.0.2.1:1", "localhost.example.org:1", "[fe80::1%eth0]:1"}}
	if got := strings.Join(all.Exposed(), " "); got != "192.0.2.1:1 localhost.example.org:1 [fe80::1%eth0]:1" {
		t.Errorf("exposed: %s", got)
	}
	all.CA = "ca.pem"
	if got := all.Exposed(); got != nil {
		t.Errorf("exposed with encryption: %s", got)
	}
}

// TestWrongOptions: Open refuses wrong options and files before it connects, and says all that is wrong.
func TestWrongOptions(t *testing.T) {
	junk := filepath.Join(t.TempDir(), "junk.pem")
	if err := os.WriteFile(junk, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := []string{"127.0.0.1:1"}
	for _, c := range []struct {
		o    etcd.Options
		want []string
	}{
		{etcd.Options{}, []string{"no endpoint"}},
		{etcd.Options{Endpoints: []string{"x"}, Cert: junk, User: "u"}, []string{"HOST:PORT", "its key belong together", "a password belong together"}},
		{etcd.Options{Endpoints: at, Cert: junk, Key: junk}, []string{junk, "PEM"}},
		{etcd.Options{Endpoints: at, CA: junk}, []string{junk, "holds no certificate in PEM"}},
		{etcd.Options{Endpoints: at, CA: junk + "x"}, []string{junk + "x", "no such file"}},
	} {
		_, err := etcd.Open(t.Context(), c.o)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %s", c.o, err, want)
			}
		}
	}
}
