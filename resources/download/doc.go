// Package download is the kind download: a file that comes from a server.
//
// # Laws
//
//   - A content is fetched into a private folder, compared, and put in its place at once. A wrong or partial one changes nothing.
//   - Headers go to the host of the address alone, and no error has an address, in which there may be a secret.
//   - A look fetches only where it cannot tell otherwise what would change.
package download
