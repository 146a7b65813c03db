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

// Servers are the endpoints that the World knows now.
func (w *World) Servers() []string {
	w.connecting <- struct{}{}
	defer func() { <-w.connecting }()
	if w.client == nil {
		return nil
	}
	return w.client.Endpoints()
}
