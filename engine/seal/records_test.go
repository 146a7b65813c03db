package seal_test

import (
	"fmt"
	"testing"

	"github.com/reactivegraph/mgmt/engine/seal"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// TestBadRecordsHideNoReader: the record of one host, damaged or with a word that is no recipient, hides no other host.
func TestBadRecordsHideNoReader(t *testing.T) {
	w := memory.New()
	defer w.Close()
	good := newIdentity(t).Recipient()
	all := []string{"all"}
	for _, r := range []seal.Recipient{{Host: "good", Recipient: good, Topics: all}, {Host: "word", Recipient: "age1nothing", Topics: all}, {Host: "empty", Topics: all}} {
		if err := seal.Publish(t.Context(), w, r); err != nil {
			t.Fatal(err)
		}
	}
	ops := []world.Op{{Key: seal.Prefix + "torn", Value: []byte(`{"host":`)}, {Key: seal.Prefix + "other", Value: fmt.Appendf(nil, `{"host":"good","recipient":%q,"topics":["all"]}`, newIdentity(t).Recipient())}}
	if _, _, err := w.Txn(t.Context(), nil, ops); err != nil {
		t.Fatal(err)
	}
	list, err := seal.Hosts(t.Context(), w)
	if err != nil || len(list) != 1 || list[0].Recipient != good {
		t.Errorf("the hosts are %v, %v", list, err)
	}
}
