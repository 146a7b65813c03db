package cli

import (
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/render"
)

// Output is the flag that says how a verb writes its document: in one of render.Forms, or in a form of the verb's own, such as text.
// A verb hands over the document and how it shows it, and Output writes the form that was chosen.
type Output struct {
	choice Choice
	docs   []reflect.Type // see Forms
}

// Forms adds -o with the verb's own forms, the first of which is the default, and render.Forms. Own may name some of those, for their place
// in the list.
// doc is a value of the document's Go type, or OneOf several, for its schema in docs/reference/documents.json. It is nil if the
// user decides the content, such as a value of a graph.
func Forms(cmd *cobra.Command, o *Output, usage string, doc any, own ...string) {
	words := own
	for _, form := range render.Forms() {
		if !slices.Contains(words, form) {
			words = append(words, form)
		}
	}
	OnlyForms(cmd, o, "output", "o", usage, doc, words...)
}

// OnlyForms is Forms under another name, or without the forms that are not named: a drawing has languages of its own, and findings have
// those of a workflow.
func OnlyForms(cmd *cobra.Command, o *Output, name, short, usage string, doc any, words ...string) {
	choose(cmd, o, &o.choice, name, short, usage, words)
	o.docs = nil
	switch doc := doc.(type) {
	case nil:
	case OneOf:
		for _, d := range doc {
			o.docs = append(o.docs, reflect.TypeOf(d))
		}
	default:
		o.docs = []reflect.Type{reflect.TypeOf(doc)}
	}
}

// OneOf are the documents of a verb that has several.
type OneOf []any

// Described is a document with a schema that its Go type does not tell.
type Described interface{ JSONSchema() map[string]any }

// String implements pflag.Value.
func (o *Output) String() string { return o.choice.Word }

// Type is the word that help would show; the usage lists the words themselves.
func (o *Output) Type() string { return o.choice.Type() }

// Set implements pflag.Value.
func (o *Output) Set(word string) error { return o.choice.Set(word) }

// Documents returns the types of the documents that a verb writes; nil for any.
func (o *Output) Documents() []reflect.Type { return o.docs }

// Form returns the chosen form, for a verb with several of its own.
func (o *Output) Form() string { return o.choice.Word }

// Document reports whether the form is one of documents, and not the verb's own.
func (o *Output) Document() bool { return slices.Contains(render.Forms(), o.choice.Word) }

// Write writes a document; own writes it in the verb's own form.
// It returns an error if Forms did not declare the type of doc.
func (o *Output) Write(w io.Writer, doc any, own func(io.Writer) error) error {
	return o.write(doc, own, w, func(form string) error { return render.WriteDocument(w, form, doc, false) })
}

// Again is Write for a document that others stand before.
func (o *Output) Again(w io.Writer, doc any, own func(io.Writer) error) error {
	return o.write(doc, own, w, func(form string) error { return render.WriteDocument(w, form, doc, true) })
}

// Item is Write for one document of a stream: a program reads them one by one as they come.
func (o *Output) Item(w io.Writer, doc any, own func(io.Writer) error) error {
	return o.write(doc, own, w, func(form string) error { return render.WriteItem(w, form, doc) })
}

func (o *Output) write(doc any, own func(io.Writer) error, w io.Writer, document func(form string) error) error {
	if !o.Document() {
		return own(w)
	}
	if err := o.declared(doc); err != nil {
		return err
	}
	return document(o.choice.Word)
}

// List returns a list of documents that come one after the other; with lines, each on a line where the form has such. The verb asks Document first.
func (o *Output) List(w io.Writer, lines bool) (*render.List, error) {
	return render.NewList(w, o.choice.Word, lines)
}

func (o *Output) declared(doc any) error {
	t := reflect.TypeOf(doc)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if o.docs == nil || slices.Contains(o.docs, t) {
		return nil
	}
	return fmt.Errorf("this verb writes a document of the type %s, which it has not declared: that is a defect of mgmt", t)
}
