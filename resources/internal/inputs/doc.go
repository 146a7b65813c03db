// Package inputs tells whether the inputs of a file that a kind makes have changed since the file was found right. Then neither
// they nor the file are read again.
//
// # Laws
//
//   - A Look is a digest of names and of the results of looks. Nothing of the contents is kept.
//   - A Look that is not settled proves nothing later: a change right after it may show the same times.
package inputs
