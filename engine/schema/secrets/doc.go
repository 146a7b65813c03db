// Package secrets keeps secret texts out of the output of programs: their errors, their
// standard error, their answers, and the engine's log. It is the only redactor of the
// program. A caller that hands secrets to a program adds them to Texts, and cleans by it
// all shown parts of the answer.
//
// # Laws
//
//   - A secret is known in every notation: as it is; as JSON, Go, Python, Ruby, C and
//     shells quote it (also 'a'"'"'b' and $'..'); as a URL, HTML and XML escape it; in hex
//     and in base64, wherever it begins; folded, wrapped or with other blanks; in one of
//     these inside of another one. So is each line of four bytes of a secret of many lines.
//   - What Clean returns holds none of the texts that were added; all else is as it was.
//   - A secret that was cut by an ellipsis is known by its remaining part, from six bytes on.
//   - The cost of cleaning grows with the length of the text, and not with the number of secrets.
//   - Memory is bounded by Most: of more secrets the oldest are forgotten.
//   - Nothing here starts a goroutine or keeps anything but its arguments.
//
// # How
//
// Two trees hold the texts to look for. One has the secrets as they stand in the common
// notations. The other one has them bare: without quotes, backslashes and blanks, and with
// all escapes read until there are none. A text is searched as it is, and bare; as the same
// is done to both, it does not matter who has quoted what, and how often. The price is that
// text which differs from a secret by quotes and blanks alone is taken for it.
package secrets
