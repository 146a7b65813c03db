// Package typescript bundles and runs a program in TypeScript that makes a graph. The program mgmt-ts serves it to mgmt,
// which has neither a bundler nor an interpreter of its own. A Request is all that such a program gets, and an Answer all that
// comes of it.
//
// # Laws
//
//   - A program is a function of its request and of its files: it has no network, clock, random number or environment. For a package in
//     node_modules the clock stands, and its random numbers are the same each time.
//   - Timers do not wait. They run in the order of their times when the script has ended.
//   - A program reads files only by import, and only those below Request.Root.
//   - Every problem and every resource has its place in the source that the author wrote.
//   - A fault of the program is a Problem of the answer. Build never panics, and ends soon after its context.
//   - What JSON has no form for is a problem: NaN, infinities, whole numbers beyond 2^53, functions, symbols, cycles.
package typescript
