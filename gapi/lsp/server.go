package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// DefaultDebounce is how long the server waits after a keystroke before it checks a graph.
const DefaultDebounce = 150 * time.Millisecond

// waiting is how many messages may wait for their turn. The client waits when there are more.
const waiting = 64

// ErrLeft is the error of Serve when the client ends without the notification exit, or sends it before the request shutdown.
var ErrLeft = errors.New("the client has left without a shutdown")

// Options of Serve. The functions are called by one goroutine at a time, and must not block on anything but the disk.
type Options struct {
	Graph string // a file or folder that is a graph from the start; empty for none
	YAML  yaml.Options
	Kinds func() *engine.Registry
	Meta  *schema.Type // of the metaparameters

	TestFile *schema.Type // of a file of tests, for completion; nil where those are not completed

	// Check returns all findings about a graph that was read. It may be called while the others are.
	Check func(*gapi.Declared) schema.Diagnostics
	// Words adds hints to findings, as the command line shows them; nil for none.
	Words func(schema.Diagnostics) schema.Diagnostics
	// Tests returns the findings about a file of tests; nil where those are not checked.
	Tests func(*schema.Node) schema.Diagnostics
	// Format returns a file in its usual form.
	Format func(path string, src []byte) ([]byte, error)

	Version  string        // of the program
	Debounce time.Duration // 0 for DefaultDebounce
	Clock    clock.Clock   // nil for the clock of the machine
	Log      *slog.Logger  // nil for none
}

// server is one session. Its loop owns everything in it.
type server struct {
	o    Options
	from gapi.Source // reads what is not open; its Asker is that of the checks, too
	out  io.Writer

	ready, down bool // initialize and shutdown were answered
	folders     []string
	docs        map[string]*open // by path, or by URI where there is no path
	roots       map[string]*root // by path
	told        map[string]bool  // URIs with diagnostics at the editor

	results chan *checked // of the one check that may run
	busy    bool
	due     <-chan struct{} // a token when the pause after a keystroke is over
	stop    func() bool

	mu       sync.Mutex
	canceled map[string]bool // ids of requests, by the goroutine that reads
}

// open is a document that the editor has open.
type open struct {
	uri     string
	version int
	text    *text
}

// Serve speaks with one client until it sends exit, ends its stream, or ctx ends. It returns nil after an orderly shutdown, else ErrLeft or
// the fault of the stream. The goroutine that reads in ends with in: the caller closes that where ctx ends first.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Debounce == 0 {
		o.Debounce = DefaultDebounce
	}
	o.Clock = clock.Or(o.Clock)
	s := &server{
		o: o, from: gapi.Source{Asker: o.YAML.Source.Asking()}, out: out, docs: map[string]*open{}, roots: map[string]*root{}, told: map[string]bool{},
		results: make(chan *checked, 1), canceled: map[string]bool{},
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The reader ends by the error of its stream or by ctx. Its error has room in ended, so it never waits for a loop that has gone.
	messages, ended := make(chan message, waiting), make(chan error, 1)
	go func() { ended <- s.read(ctx, in, messages) }()
	err := s.loop(ctx, messages, ended)
	cancel()
	// The check reads the documents, so the caller may let nothing go before it has ended.
	if s.busy {
		<-s.results
	}
	if s.stop != nil {
		s.stop()
	}
	return err
}

// read hands over the messages until the stream ends, or exit comes. It notes which requests are canceled at once, since the loop may
// be busy with an earlier one.
func (s *server) read(ctx context.Context, in io.Reader, to chan<- message) error {
	r := bufio.NewReaderSize(in, maxHeader)
	for {
		raw, err := readFrame(r)
		if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			m = message{Error: &failure{codeParse, "the message is no JSON-RPC: " + err.Error()}}
		}
		if m.Method == "$/cancelRequest" {
			var p struct {
				ID json.RawMessage `json:"id"`
			}
			if json.Unmarshal(m.Params, &p) == nil {
				s.cancel(string(p.ID))
			}
			continue
		}
		select {
		case to <- m:
		case <-ctx.Done():
			return nil
		}
		if m.Method == "exit" {
			return nil
		}
	}
}

// maxCanceled bounds the ids of requests that were canceled after their answer, and so are never asked for.
const maxCanceled = 1024

// cancel notes a request that the client has taken back. The id is compared as it is written, a number or a text.
func (s *server) cancel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.canceled) >= maxCanceled {
		clear(s.canceled)
	}
	s.canceled[id] = true
}

// wasCanceled reports whether the client has taken a request back.
func (s *server) wasCanceled(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer delete(s.canceled, id)
	return s.canceled[id]
}

// loop serves until the session ends. It is the only goroutine that touches the fields of server, except for canceled.
func (s *server) loop(ctx context.Context, messages <-chan message, ended <-chan error) error {
	for {
		select {
		case m := <-messages:
			if m.Method == "exit" {
				return s.exit()
			}
			s.serve(m)
		case err := <-ended:
			// Messages that were read before the end are served first.
			for len(messages) > 0 {
				if m := <-messages; m.Method == "exit" {
					return s.exit()
				} else {
					s.serve(m)
				}
			}
			if err == nil || errors.Is(err, io.EOF) {
				return ErrLeft
			}
			return err
		case <-s.due:
			s.due = nil
			s.check(ctx)
		case r := <-s.results:
			s.busy = false
			s.take(r)
			s.check(ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// exit returns the verdict on the session: the protocol wants code 1 from a server that had no shutdown.
func (s *server) exit() error {
	if s.down {
		return nil
	}
	return ErrLeft
}

// serve answers one message. A panic is the failure of that message alone.
func (s *server) serve(m message) {
	// The server asks nothing, so an answer of the client is dropped. JSON-RPC forbids to answer it.
	if m.Method == "" && m.ID != nil && (m.Result != nil || m.Error != nil) {
		return
	}
	result, err := s.guarded(m)
	if m.ID == nil {
		if err != nil && m.Method != "" {
			s.o.Log.Warn("a notification failed", "method", m.Method, "error", err)
		}
		if m.Error == nil || m.Method != "" {
			return
		}
	}
	// A message that could not be parsed has no id. JSON-RPC wants null in the place of it.
	a := message{ID: m.ID}
	if a.ID == nil {
		a.ID = json.RawMessage("null")
	}
	if err == nil {
		a.Result, err = json.Marshal(result)
	}
	if err != nil {
		f, ok := errors.AsType[*failure](err)
		if !ok {
			f = &failure{codeFailed, err.Error()}
		}
		a.Result, a.Error = nil, f
	}
	s.send(a)
}

// guarded calls the method of a message. A panic is a fault of the program, and the failure of this message.
func (s *server) guarded(m message) (result any, err error) {
	err = callsafe.Do(m.Method, func() (err error) {
		result, err = s.do(m)
		return err
	})
	if p, ok := errors.AsType[*callsafe.PanicError](err); ok {
		s.o.Log.Error("a request panicked", "method", m.Method, "error", p)
		err = &failure{codeInternal, "the program has a fault: " + m.Method + " panicked"}
	}
	return result, err
}

// do calls the method of a message, if its turn has come.
func (s *server) do(m message) (any, error) {
	switch {
	case m.Error != nil && m.Method == "":
		return nil, m.Error
	case m.Method == "":
		return nil, &failure{codeInvalid, "the message has no method"}
	case m.ID != nil && s.wasCanceled(string(m.ID)):
		return nil, &failure{codeCanceled, "the request was canceled"}
	case !s.ready && m.Method != "initialize":
		return nil, &failure{codeNotInitialized, "the first request must be initialize"}
	case s.down:
		return nil, &failure{codeInvalid, "the server is shut down: only exit may follow"}
	}
	do, ok := methods[m.Method]
	if !ok {
		return nil, &failure{codeNoMethod, fmt.Sprintf("there is no method %q", m.Method)}
	}
	return do(s, m.Params)
}

// methods are all methods but exit and $/cancelRequest. It is not altered at run time.
var methods = map[string]func(*server, json.RawMessage) (any, error){
	"initialize":                       asked((*server).initialize),
	"initialized":                      nothing,
	"shutdown":                         func(s *server, _ json.RawMessage) (any, error) { s.down = true; return nil, nil },
	"textDocument/didOpen":             asked((*server).didOpen),
	"textDocument/didChange":           asked((*server).didChange),
	"textDocument/didClose":            asked((*server).didClose),
	"textDocument/didSave":             func(s *server, _ json.RawMessage) (any, error) { s.changedAll(); return nil, nil },
	"workspace/didChangeWatchedFiles":  func(s *server, _ json.RawMessage) (any, error) { s.changedAll(); return nil, nil },
	"workspace/didChangeConfiguration": nothing,
	"$/setTrace":                       nothing,
	"textDocument/completion":          asked((*server).complete),
	"textDocument/hover":               asked((*server).hover),
	"textDocument/definition":          asked((*server).definition),
	"textDocument/references":          asked((*server).references),
	"textDocument/prepareRename":       asked((*server).prepareRename),
	"textDocument/rename":              asked((*server).rename),
	"textDocument/documentSymbol":      asked((*server).symbols),
	"workspace/symbol":                 asked((*server).workspaceSymbols),
	"textDocument/foldingRange":        asked((*server).folds),
	"textDocument/formatting":          asked((*server).format),
	"textDocument/codeAction":          asked((*server).actions),
}

// nothing takes a notification that changes nothing here. Without it the log would have a warning for each.
func nothing(*server, json.RawMessage) (any, error) { return nil, nil }

// asked decodes the parameters of a method.
func asked[P any](do func(*server, P) (any, error)) func(*server, json.RawMessage) (any, error) {
	return func(s *server, raw json.RawMessage) (any, error) {
		var p P
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, &failure{codeBadParams, "the parameters are wrong: " + err.Error()}
		}
		return do(s, p)
	}
}

// send writes a message. It blocks while the client does not read, and then the server takes no further message, so nothing piles up. A fault
// of the stream is logged: the client has gone, and the end of the other stream ends the session.
func (s *server) send(m message) {
	m.Version = "2.0"
	if m.ID != nil && m.Error == nil && m.Result == nil {
		m.Result = json.RawMessage("null")
	}
	raw, err := json.Marshal(m)
	if err == nil {
		err = writeFrame(s.out, raw)
	}
	if err != nil {
		s.o.Log.Warn("a message could not be sent", "error", err)
	}
}

// notify sends a notification. Its parameters are types of this package, which always have a form in JSON.
func (s *server) notify(method string, params any) {
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err) // a programmer's error
	}
	s.send(message{Method: method, Params: raw})
}

// initialize answers the first request, and has the graph of the command line checked. A relative path of that is relative to the folder
// that the editor has open, since editors start servers in any folder.
func (s *server) initialize(p initializeParams) (any, error) {
	if s.ready {
		return nil, &failure{codeInvalid, "the server is initialized already"}
	}
	// Clients that open several folders name all of them, and others name one.
	s.ready = true
	for _, f := range p.Folders {
		if path := pathOf(f.URI); path != "" {
			s.folders = append(s.folders, path)
		}
	}
	if path := pathOf(p.RootURI); len(s.folders) == 0 && path != "" {
		s.folders = append(s.folders, path)
	}
	// The graph of the command line has no open document, and is checked all the same.
	if s.o.Graph != "" {
		path := s.o.Graph
		if !filepath.IsAbs(path) && len(s.folders) > 0 {
			path = filepath.Join(s.folders[0], path)
		}
		if abs, err := filepath.Abs(path); err == nil {
			s.root(abs).named = true
			s.changed(abs)
		}
	}
	return capabilities(s.o.Version), nil
}

// didOpen takes a document. From now on its text counts, and the file on the disk does not.
func (s *server) didOpen(p struct {
	Document document `json:"textDocument"`
}) (any, error) {
	s.docs[keyOf(p.Document.URI)] = &open{p.Document.URI, p.Document.Version, newText(p.Document.Text)}
	s.belongs(keyOf(p.Document.URI), true)
	return nil, nil
}

// didChange edits a document. The edits of one message apply one after the other. The old document stays as it is, because a check may read it.
func (s *server) didChange(p struct {
	Document document        `json:"textDocument"`
	Changes  []contentChange `json:"contentChanges"`
}) (any, error) {
	d := s.docs[keyOf(p.Document.URI)]
	if d == nil {
		return nil, &failure{codeBadParams, p.Document.URI + " is not open"}
	}
	next := &open{d.uri, p.Document.Version, d.text}
	for _, c := range p.Changes {
		next.text = next.text.edited(c)
	}
	s.docs[keyOf(d.uri)] = next
	s.belongs(keyOf(d.uri), false)
	return nil, nil
}

// didClose lets a document go: the file on the disk counts again. Graphs that read it are checked with that.
func (s *server) didClose(p struct {
	Document document `json:"textDocument"`
}) (any, error) {
	key := keyOf(p.Document.URI)
	delete(s.docs, key)
	// The editor has closed this graph, so it is not followed any more.
	if r := s.roots[key]; r != nil && !r.named {
		delete(s.roots, key)
		s.publish()
	}
	s.changedAll()
	return nil, nil
}

// keyOf returns the path of a document. A document without a file has its URI instead.
func keyOf(uri string) string {
	if path := pathOf(uri); path != "" {
		return path
	}
	return uri
}
