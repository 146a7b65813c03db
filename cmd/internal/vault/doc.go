// Package vault reads what a file of secrets says of itself: for whom it is encrypted, and which identities decrypt it.
package vault
