// Package expr compiles and computes the expressions of a graph: CEL between ${{ and }}. It is the only importer of cel-go, so no other
// package sees a type of that library.
//
// # Laws
//
//   - Split is the only reader of the notation. $${{ stands for the characters ${{, and every other text keeps its meaning.
//   - An expression is compiled against a Scope, which declares every name with its type. A Program of a Scope is checked. An unknown
//     name, an unknown field and a wrong type are faults of Compile, and not of Eval.
//   - A Fault has the place inside the expression, in characters. The caller knows where the expression stands in a file.
//   - An expression does no I/O of its own. Its caller declares the functions, and answers for them.
//   - An expression is bounded: MaxSource bytes, a cost limit and a memory limit. None of them looks at a clock.
//   - The environment of the library is built by the first NewScope of a process. A program without expressions does not pay for it.
//   - Values are the plain values of package schema: nil, bool, int64, uint64, float64, string, []any and map[string]any.
//   - A Scope and a Program are immutable and safe for concurrent use.
package expr
