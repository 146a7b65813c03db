package typescript

import (
	"errors"
	"fmt"
	"strings"

	"github.com/grafana/sobek"
)

// looking are the methods of texts whose results depend on the characters. Those that join texts are not among them.
const looking = `at charAt charCodeAt codePointAt endsWith includes indexOf isWellFormed lastIndexOf localeCompare match matchAll normalize padEnd padStart
	replace replaceAll search slice split startsWith substr substring toLocaleLowerCase toLocaleUpperCase toLowerCase toUpperCase toWellFormed`

// trimming are the methods that look at the ends of a text alone.
const trimming = "trim trimEnd trimStart"

// guardTexts has the methods of texts refuse one with an output in it: they would see the mark in the place of the value. It is called with the
// first mark, so a program without one pays nothing. Length, index, comparison and arithmetic are no methods, and can't be refused.
func (m *machine) guardTexts() error {
	var errs []error
	builtin := func(names ...string) *sobek.Object {
		o := m.vm.GlobalObject()
		for _, name := range names {
			next, ok := o.Get(name).(*sobek.Object)
			if !ok {
				errs = append(errs, fmt.Errorf("there is no %s", name))
				return m.vm.NewObject()
			}
			o = next
		}
		return o
	}
	texts, patterns, json := builtin("String", "prototype"), builtin("RegExp", "prototype"), builtin("JSON")
	for name := range strings.FieldsSeq(looking) {
		errs = append(errs, m.guard(texts, name, func(c sobek.FunctionCall) {
			m.plainThis(c)
			for i, arg := range c.Arguments {
				if i == 0 || !strings.HasPrefix(name, "replace") { // the replacement is joined to the rest
					m.plainArgument(arg)
				}
			}
		}, nil))
	}
	for name := range strings.FieldsSeq(trimming) {
		errs = append(errs, m.guard(texts, name, nil, func(v sobek.Value) {
			text := v.String()
			if strings.HasPrefix(text, markBegin) && name != "trimEnd" || strings.HasSuffix(text, markEnd) && name != "trimStart" {
				m.plainText(v)
			}
		}))
	}
	for _, name := range []string{"exec", "test"} {
		errs = append(errs, m.guard(patterns, name, func(c sobek.FunctionCall) {
			if o, ok := c.This.(*sobek.Object); ok && o.ClassName() == "RegExp" {
				m.plainArgument(o.Get("source"))
			}
			m.plainArgument(c.Argument(0))
		}, nil))
	}
	first := func(c sobek.FunctionCall) { m.plainArgument(c.Argument(0)) }
	errs = append(errs, m.guard(json, "parse", first, nil))
	errs = append(errs, m.guard(json, "stringify", nil, m.plainArgument))
	for _, name := range []string{"decodeURI", "decodeURIComponent", "unescape", "parseInt", "parseFloat", "isNaN", "isFinite"} {
		errs = append(errs, m.guard(m.vm.GlobalObject(), name, first, nil))
	}
	for _, name := range []string{"parseInt", "parseFloat"} {
		errs = append(errs, m.guard(builtin("Number"), name, first, nil))
	}
	chars, ok := sobek.AssertFunction(texts.GetSymbol(sobek.SymIterator))
	if !ok {
		return errors.New("the interpreter does not visit the characters of a text")
	}
	return errors.Join(append(errs, texts.SetSymbol(sobek.SymIterator, m.guarded(chars, m.plainThis, nil)))...)
}

// guard puts a check before or after a method of an object.
func (m *machine) guard(o *sobek.Object, name string, before func(sobek.FunctionCall), after func(sobek.Value)) error {
	f, ok := sobek.AssertFunction(o.Get(name))
	if !ok {
		return nil // a later interpreter may have it
	}
	return o.Set(name, m.guarded(f, before, after))
}

// guarded returns a function with a check before or after it.
func (m *machine) guarded(f sobek.Callable, before func(sobek.FunctionCall), after func(sobek.Value)) func(sobek.FunctionCall) sobek.Value {
	return func(c sobek.FunctionCall) sobek.Value {
		if before != nil {
			before(c)
		}
		v, err := f(c.This, c.Arguments...)
		if err != nil {
			panic(err)
		}
		if after != nil {
			after(v)
		}
		return v
	}
}

// plainThis refuses the text that a method is called on, if it has an output in it.
func (m *machine) plainThis(c sobek.FunctionCall) {
	if o, ok := c.This.(*sobek.Object); ok && o.ClassName() == "String" {
		m.plainText(c.This)
	}
	m.plainArgument(c.This)
}

// plainArgument refuses a text with an output in it.
func (m *machine) plainArgument(v sobek.Value) {
	if sobek.IsString(v) {
		m.plainText(v)
	}
}
