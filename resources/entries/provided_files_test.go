package entries

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine/provider"
)

// Each provider knows where a thing is, so that a change there is seen at once.
func TestProvidedFiles(t *testing.T) {
	dir := t.TempDir()
	layHome(t, dir)
	type m = provider.Record
	for _, c := range []struct {
		p interface {
			Files(provider.Record) []string
		}
		wanted provider.Record
		want   []string
	}{
		{&hosts{file: "/h"}, m{"target": ""}, []string{"/h"}},
		{&hosts{file: "/h"}, m{"target": "/x"}, []string{"/x"}},
		{iniSettings{}, m{"path": "/x"}, []string{"/x"}},
		{sshKeysAt(dir), m{"user": "other"}, nil},
		{sshKeysAt(dir), m{"user": "me", "target": "/x"}, []string{"/x"}},
		{crontabsAt(dir), m{"target": ""}, nil},
		{crontabsAt(dir), m{"target": "/x"}, []string{"/x"}},
		{aptKeysAt(dir), m{"keyring": "/x.gpg"}, []string{"/x.gpg"}},
		{aptKeysAt(dir), m{}, nil},
	} {
		if got := c.p.Files(c.wanted); !slices.Equal(got, c.want) {
			t.Errorf("%T: %q for %v", c.p, got, c.wanted)
		}
	}
	for _, c := range []struct {
		wanted provider.Record
		want   []string
	}{
		{m{"user": "", "target": ""}, []string{dir + "/" + keysPath}},
		{m{"user": "other"}, []string{dir + "/other/.ssh/authorized_keys"}},
		{m{"user": "nobody"}, []string{dir + "/passwd"}},
		{m{"user": "me", "target": "/x"}, nil},
	} {
		if got := sshKeysAt(dir).SearchFiles(c.wanted); !slices.Equal(got, c.want) {
			t.Errorf("%q for %v", got, c.wanted)
		}
	}
}
