package entries

import (
	"fmt"
	"os"
	"testing"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// A user that is new is watched as soon as he is in the file of users.
func TestSSHAuthorizedKeyNewUser(t *testing.T) {
	dir := t.TempDir()
	layHome(t, dir)
	kindtest.Lay(t, dir+"/new/.ssh/authorized_keys", "")
	h := enginetest.NewHost()
	armed, changed := make(chan struct{}, 1), make(chan struct{}, 10)
	ended := make(chan error, 1)
	rt := &provider.Runtime{Host: h}
	ctx := t.Context()
	go func() {
		ended <- sshKeysAt(dir).Watch(ctx, rt, func() { armed <- struct{}{} }, func(...provider.Name) { changed <- struct{}{} })
	}()
	t.Cleanup(func() { kindtest.Must(t, <-ended) })
	<-armed
	h.Touch(dir + "/" + keysPath)
	<-changed
	f, err := os.OpenFile(dir+"/passwd", os.O_APPEND|os.O_WRONLY, 0)
	kindtest.Must(t, err)
	_, err = fmt.Fprintf(f, "new:x:12:34::%s/new:/bin/sh\n", dir)
	kindtest.Must(t, err)
	kindtest.Must(t, f.Close())
	h.Touch(dir + "/passwd")
	<-changed // of the file
	<-changed // since nothing was seen until the new user was watched
	if h.Touch(dir+"/new/.ssh/authorized_keys") != 1 {
		t.Errorf("watched are %q", h.Subscriptions())
	}
	<-changed
}
