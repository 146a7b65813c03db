// Package hosting has what a Host may offer beyond engine.Host. Each ability is an interface of its
// own, and whoever needs it asks for it. Most serve the engine: it makes subscriptions without a
// goroutine, waits for what a neighbour is writing, and starts the programs of providers.
package hosting
