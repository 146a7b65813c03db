package lsp

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// symbols lists the resources that a file declares, in their order. A resource that a loop has made stands at the entry with the loop.
func (s *server) symbols(p struct {
	Document document `json:"textDocument"`
}) (any, error) {
	key := keyOf(p.Document.URI)
	d, c := s.docs[key], s.graph(key)
	list := []documentSymbol{}
	if d == nil || c == nil {
		return list, nil
	}
	for i := range c.declared.Resources {
		r := &c.declared.Resources[i]
		if filepath.Clean(r.Pos.File) != key {
			continue
		}
		m := mention{id: r.ID(), name: r.Name, pos: r.NamePos, declaration: true}
		from, to, ok := m.span(d.text)
		if !ok {
			from, to = d.text.word(d.text.offsetOf(r.Pos))
		}
		begin := min(d.text.offsetOf(r.Pos), from)
		list = append(list, documentSymbol{Name: r.ID(), Kind: symbolObject, Range: d.text.span(begin, to), Selection: d.text.span(from, to)})
	}
	return list, nil
}

// maxSymbols bounds the answer of workspaceSymbols: a person asks again with more letters.
const maxSymbols = 500

// workspaceSymbols lists the resources of all graphs whose reference has the letters of a query in their order. An empty query asks for all.
func (s *server) workspaceSymbols(p struct {
	Query string `json:"query"`
}) (any, error) {
	list := []symbolInformation{}
	for _, path := range sorted(s.roots) {
		c := s.roots[path].good
		if c == nil {
			continue
		}
		found := slices.DeleteFunc(mentions(c.declared), func(m mention) bool { return !m.declaration || !subsequence(m.id, p.Query) })
		for _, m := range found {
			at := symbolInformation{m.id, symbolObject, c.locations([]mention{m})[0]}
			// Two graphs may read one file.
			if slices.Contains(list, at) {
				continue
			}
			if list = append(list, at); len(list) == maxSymbols {
				return list, nil
			}
		}
	}
	return list, nil
}

// subsequence reports whether a text has these letters in their order. Small and capital letters are the same.
func subsequence(text, letters string) bool {
	rest := []rune(strings.ToLower(letters))
	for _, r := range strings.ToLower(text) {
		if len(rest) > 0 && r == rest[0] {
			rest = rest[1:]
		}
	}
	return len(rest) == 0
}

// format returns the edit that brings a file to its usual form. It is one edit of the whole file, and none where nothing changes.
func (s *server) format(p struct {
	Document document `json:"textDocument"`
}) (any, error) {
	key := keyOf(p.Document.URI)
	d := s.docs[key]
	if d == nil || s.o.Format == nil {
		return []textEdit{}, nil
	}
	out, err := s.o.Format(key, []byte(d.text.src))
	if err != nil {
		return nil, &failure{codeFailed, fmt.Sprintf("the file can't be formatted: %v", err)}
	}
	// An empty list leaves the document without a mark of a change.
	if string(out) == d.text.src {
		return []textEdit{}, nil
	}
	return []textEdit{{d.text.span(0, len(d.text.src)), string(out)}}, nil
}

// actions offers the word that a finding suggests. The finding comes back from the editor with the word in it, so the server keeps no list.
func (s *server) actions(p struct {
	Document document `json:"textDocument"`
	Context  struct {
		Diagnostics []diagnostic `json:"diagnostics"`
	} `json:"context"`
}) (any, error) {
	list := []codeAction{}
	d := s.docs[keyOf(p.Document.URI)]
	if d == nil {
		return list, nil
	}
	for _, f := range p.Context.Diagnostics {
		if f.Data == nil || f.Source != "mgmt" {
			continue
		}
		from, to := d.text.offset(f.Range.Start), d.text.offset(f.Range.End)
		// The text may have changed since the finding was told: the offsets are those of the text now, as the editor moves its ranges along.
		was := d.text.src[from:max(from, to)]
		word := f.Data.Word
		// Quotes stay, and so does the rest of a reference.
		if n := len(was); n > 1 && (was[0] == '"' || was[0] == '\'') && was[n-1] == was[0] {
			from, to, was = from+1, to-1, was[1:n-1]
		}
		if r, err := schema.ParseRef(was); err == nil {
			if other, err := schema.ParseRef(word); err == nil && other.Key == "" && r.Key != "" {
				word += "." + r.Key
			}
		}
		edit := &workspaceEdit{map[string][]textEdit{d.uri: {{d.text.span(from, to), word}}}}
		list = append(list, codeAction{Title: "Write " + word, Kind: "quickfix", Diagnostics: []diagnostic{f}, Preferred: true, Edit: edit})
	}
	return list, nil
}
