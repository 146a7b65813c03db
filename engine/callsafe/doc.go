// Package callsafe calls code of other modules. A panic of it, and a call that ends its goroutine,
// become errors, and an error that it returns is copied once, so that nobody who prints it later runs
// its methods.
package callsafe
