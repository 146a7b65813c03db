package trust

import (
	"log/slog"
	"testing"

	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/internal/await"
)

// TestFindingH9ListIsFollowed: each record of the store has the certificates of open connections judged again.
func TestFindingH9ListIsFollowed(t *testing.T) {
	w := memory.New()
	defer w.Close()
	key, err := deploy.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	keys := []deploy.Public{key.Public()}
	by := &Operators{world: w, host: "h1", log: slog.New(slog.DiscardHandler)}
	by.keys.Store(&keys)
	by.pin = deploy.OpenPin(deploy.PinOptions{Host: "h1", Trusted: by.Trusted})
	asked := make(chan struct{}, 100)
	defer by.OnList(func() { asked <- struct{}{} })()
	if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: deploy.StoreKey(), Value: []byte("{}")}}); err != nil {
		t.Fatal(err)
	}
	defer by.Start(t.Context())()
	await.Of(t, "a look at the connections", asked)
	if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: deploy.StoreKey(), Value: []byte("[]")}}); err != nil {
		t.Fatal(err)
	}
	await.Of(t, "a look after the second record", asked)
}
