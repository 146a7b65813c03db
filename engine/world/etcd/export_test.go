//go:build !small

package etcd

// Abandon ends the World as the death of its process would: the store ends its leases by the clock.
func (w *World) Abandon() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.end()
	w.owned.Wait()
	if w.client != nil {
		_ = w.client.Close()
	}
}
