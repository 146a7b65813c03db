// Package sorted sorts lists of structs by code that all structs share.
//
// The functions of package slices are compiled anew for each struct: a sort costs 10 KB of program with its tables, and its names
// repeat all fields of the struct. Here a struct costs three short methods. In return, each comparison is a call through an interface, which
// takes about twice as long. So sort pointers, numbers and texts with package slices, which compiles them once, and short lists of structs with this one.
package sorted

import "sort"

// Func sorts a list in place. compare is negative where a belongs before b, and positive where it belongs after b.
// Elements for which it is zero may change places. It blocks for O(n log n) comparisons.
func Func[T any](list []T, compare func(a, b T) int) { sort.Sort(&order[T]{list, compare}) }

// Stable sorts as Func does, and keeps the order of elements for which compare is zero.
func Stable[T any](list []T, compare func(a, b T) int) { sort.Stable(&order[T]{list, compare}) }

// order is a list that package sort can sort.
type order[T any] struct {
	list    []T
	compare func(a, b T) int
}

func (o *order[T]) Len() int           { return len(o.list) }
func (o *order[T]) Less(i, j int) bool { return o.compare(o.list[i], o.list[j]) < 0 }
func (o *order[T]) Swap(i, j int)      { o.list[i], o.list[j] = o.list[j], o.list[i] }
