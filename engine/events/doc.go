// Package events has how a host tells a resource that what it watches may have changed: a stream of wake-ups, and the
// causes of the last one.
package events
