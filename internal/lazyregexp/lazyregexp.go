// Package lazyregexp has regular expressions that are compiled when they are used for the first time.
//
// A program compiles the package variables of every package that it links before its main function begins, although
// one run uses few of them. A variable of this type costs nothing until then.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression of Go's package regexp. It is safe for concurrent use. Its methods are those of
// the package regexp, by the same names; the first call of one of them panics if the expression is wrong.
type Regexp struct{ *lazy }

// lazy is what all copies of a Regexp share. Its fields are no result of sync.OnceValue, whose closures the compiler
// would write out anew for each variable.
type lazy struct {
	once sync.Once
	expr string
	re   *regexp.Regexp
}

func (l *lazy) get() *regexp.Regexp {
	l.once.Do(func() { l.re = regexp.MustCompile(l.expr) })
	return l.re
}

// New returns the expression without compiling it. It is meant for package variables.
func New(expr string) Regexp { return Regexp{&lazy{expr: expr}} }

// MatchString is the method of the same name of package regexp.
func (r Regexp) MatchString(s string) bool { return r.get().MatchString(s) }

// FindString is the method of the same name of package regexp.
func (r Regexp) FindString(s string) string { return r.get().FindString(s) }

// FindStringSubmatch is the method of the same name of package regexp.
func (r Regexp) FindStringSubmatch(s string) []string { return r.get().FindStringSubmatch(s) }

// ReplaceAllString is the method of the same name of package regexp.
func (r Regexp) ReplaceAllString(s, with string) string { return r.get().ReplaceAllString(s, with) }

// ReplaceAllStringFunc is the method of regexp.
func (r Regexp) ReplaceAllStringFunc(s string, with func(string) string) string {
	return r.get().ReplaceAllStringFunc(s, with)
}

// FindAllString is the method of the same name of package regexp.
func (r Regexp) FindAllString(s string, n int) []string { return r.get().FindAllString(s, n) }

// FindAllStringIndex is the method of the same name of package regexp.
func (r Regexp) FindAllStringIndex(s string, n int) [][]int { return r.get().FindAllStringIndex(s, n) }

// FindAllStringSubmatch is the method of the same name of package regexp.
func (r Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.get().FindAllStringSubmatch(s, n)
}

// FindIndex is the method of the same name of package regexp.
func (r Regexp) FindIndex(b []byte) []int { return r.get().FindIndex(b) }

// SubexpNames is the method of the same name of package regexp.
func (r Regexp) SubexpNames() []string { return r.get().SubexpNames() }
