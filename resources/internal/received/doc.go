// Package received answers which parameters of a resource hold a value that came from a secret.
// Such a value is never shown, whatever the type of the parameter is.
package received
