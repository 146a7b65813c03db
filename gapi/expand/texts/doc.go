// Package texts executes templates in the notation of Go's text/template, whose parser it uses.
//
// # Laws
//
//   - A template means what it means in text/template, for values of the types nil, bool, int64, uint64, float64, string, []any and
//     map[string]any. The tests execute both and compare the texts.
//   - A missing key is a Fault, and so is a value that is not there: neither becomes "<no value>". The function index returns nil for a missing key.
//   - Parse finds every unknown function, also in branches that no value reaches.
//   - Whole numbers and numbers with a fraction compare as numbers, where text/template refuses that.
//   - The functions html, js, urlquery and call are not there: the caller brings functions of its own.
//   - Execute is bounded: MaxBytes of text, MaxSteps and MaxDepth. It looks at no clock and does no I/O.
//
// The executor of text/template asks values for methods by name. A program with it keeps all exported methods that it links, and is 40 %
// larger for that.
package texts
