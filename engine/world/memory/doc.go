// Package memory keeps an world.World in the memory of one process. A resource gets it
// where no other World was configured; tests and simulations of many hosts share one.
// Package engine/world/internal/mvcc states its laws.
package memory
