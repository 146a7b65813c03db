package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"sync"
)

//go:embed schema.json
var schema []byte

// The protocol that the program speaks, and the most that a line may have, in bytes.
const (
	version    = 1
	maxMessage = 16 << 20
)

// message is one line of the connection.
type message struct {
	ID     uint64          `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result any             `json:"result,omitempty"`
	Error  *failure        `json:"error,omitempty"`
	Cancel uint64          `json:"cancel,omitempty"`
}

// failure is the error of a call.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error returns the message, which people read. mgmt goes by the code.
func (f *failure) Error() string { return f.Message }

// fail makes the error of a call. The codes are those of the protocol: invalid, denied, unimplemented, internal.
func fail(code, format string, args ...any) error {
	return &failure{code, fmt.Sprintf(format, args...)}
}

// fault is an error of one property.
type fault struct {
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// request has the parameters of all methods.
type request struct {
	Protocols struct {
		Min int `json:"min"`
		Max int `json:"max"`
	} `json:"protocols"`
	Token      string         `json:"token"`
	Name       string         `json:"name"`
	ID         string         `json:"id"`
	Key        string         `json:"key"`
	Properties map[string]any `json:"properties"`
	Pending    []string       `json:"pending"`
	Old        map[string]any `json:"old"`
	New        map[string]any `json:"new"`
	Calls      []struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"calls"`
}

// handshake is the answer to the first question. The hash lets mgmt refuse a program with other types than the schema file.
type handshake struct {
	Protocol   int      `json:"protocol"`
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Features   []string `json:"features"`
	SchemaHash string   `json:"schema_hash"`
}

// checked is the answer to check. Without faults the inputs are right.
type checked struct {
	Failures []fault `json:"failures,omitempty"`
}

// found is the answer to get. It is no error where there is no thing.
type found struct {
	Found      bool           `json:"found"`
	ID         string         `json:"id,omitempty"`
	Properties map[string]any `json:"properties,omitempty"`
}

// made is the answer to create and to update, with the inputs and the outputs.
type made struct {
	ID         string         `json:"id,omitempty"`
	Properties map[string]any `json:"properties,omitempty"`
}

// item is one thing in the answer to list.
type item struct {
	Name       string         `json:"name"`
	ID         string         `json:"id"`
	Properties map[string]any `json:"properties"`
}

// outcome is the answer to one call of a batch.
type outcome struct {
	Result any      `json:"result,omitempty"`
	Error  *failure `json:"error,omitempty"`
}

// kind is what the server needs of one type.
type kind interface {
	check(props map[string]any, pending []string) []fault
	create(r *request) (*made, error)
	get(r *request) (*found, error)
	update(r *request) (*made, error)
	delete(r *request) error
	list() ([]item, error)
}

// server answers the questions of one connection.
type server struct {
	kinds   map[string]kind
	hash    string
	token   string
	out     io.Writer
	writing sync.Mutex
	mu      sync.Mutex
	open    map[uint64]context.CancelFunc
}

// main has one flag of its own. All else comes from mgmt over the connection.
func main() {
	folder := flag.String("folder", ".", "where the things are kept")
	flag.Parse()
	if err := run(*folder); err != nil {
		log.Fatal(err)
	}
}

// run takes the connection on descriptor 3, and ends with it. The end of the standard input ends the connection: so the program does
// not outlive mgmt, also where mgmt was killed.
func run(folder string) error {
	f := os.NewFile(3, "mgmt")
	if f == nil {
		return errors.New("this program is a provider, which mgmt starts")
	}
	conn, err := net.FileConn(f)
	if err != nil {
		return errors.New("this program is a provider, which mgmt starts")
	}
	f.Close()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		conn.Close()
	}()
	sum := sha256.Sum256(schema)
	s := &server{
		kinds: map[string]kind{
			"aws:ec2:SecurityGroup": &groups{file: newFile[securityGroup](folder, "sg")},
			"aws:ec2:VPC":           &networks{file: newFile[vpc](folder, "vpc")},
		},
		hash: hex.EncodeToString(sum[:]), token: os.Getenv("MGMT_PLUGIN_TOKEN"), out: conn, open: map[uint64]context.CancelFunc{},
	}
	return s.serve(conn)
}

// serve reads questions until the connection ends.
func (s *server) serve(conn net.Conn) error {
	ctx, end := context.WithCancel(context.Background())
	var all sync.WaitGroup
	defer all.Wait()
	defer end()
	in := bufio.NewScanner(conn)
	in.Buffer(make([]byte, 64<<10), maxMessage)
	for in.Scan() {
		m := &message{}
		if err := json.Unmarshal(in.Bytes(), m); err != nil {
			return errors.New("a line of mgmt is no message")
		}
		switch {
		case m.Cancel != 0:
			s.mu.Lock()
			if cancel := s.open[m.Cancel]; cancel != nil {
				cancel()
			}
			s.mu.Unlock()
		case m.Method != "":
			call, cancel := context.WithCancel(ctx)
			s.mu.Lock()
			s.open[m.ID] = cancel
			s.mu.Unlock()
			all.Go(func() {
				defer func() {
					cancel()
					s.mu.Lock()
					delete(s.open, m.ID)
					s.mu.Unlock()
				}()
				s.answer(call, m)
			})
		}
	}
	if err := in.Err(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// answer answers one question.
func (s *server) answer(ctx context.Context, m *message) {
	result, err := s.safely(m.Method, m.Params)
	reply := &message{ID: m.ID, Result: result}
	if err != nil {
		reply.Result, reply.Error = nil, failureOf(ctx, err)
	}
	text, err := json.Marshal(reply)
	if err == nil && len(text) >= maxMessage {
		err = errors.New("the answer is too long")
	}
	if err != nil {
		text, _ = json.Marshal(&message{ID: m.ID, Error: &failure{"internal", err.Error()}})
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, _ = s.out.Write(append(text, '\n'))
}

// failureOf returns an error as the protocol has it. Each error that has no code of its own is internal.
func failureOf(ctx context.Context, err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if ctx.Err() != nil {
		return &failure{"canceled", err.Error()}
	}
	return &failure{"internal", err.Error()}
}

// safely does a call. A panic is its error.
func (s *server) safely(method string, params json.RawMessage) (_ any, err error) {
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(os.Stderr, "panic in %s: %v\n%s", method, v, debug.Stack())
			err = fail("internal", "panic in %s: %v", method, v)
		}
	}()
	r := &request{}
	if len(params) > 0 {
		if err := json.Unmarshal(params, r); err != nil {
			return nil, fail("invalid", "the parameters are wrong: %v", err)
		}
	}
	return s.call(method, r)
}

// call finds the method.
func (s *server) call(method string, r *request) (any, error) {
	switch method {
	case "handshake":
		return s.handshake(r)
	case "schema":
		return map[string]string{"schema": string(schema)}, nil
	case "configure", "shutdown":
		return struct{}{}, nil
	case "check", "diff", "get", "create", "update", "delete", "list", "batch":
	default:
		return nil, fail("unimplemented", "there is no method %q", method)
	}
	k := s.kinds[r.Token]
	if k == nil {
		return nil, fail("invalid", "there is no type %q here", r.Token)
	}
	switch method {
	case "check":
		return checked{k.check(r.Properties, r.Pending)}, nil
	case "get":
		return k.get(r)
	case "create":
		return k.create(r)
	case "update":
		return k.update(r)
	case "delete":
		return struct{}{}, k.delete(r)
	case "list":
		items, err := k.list()
		return map[string]any{"items": items}, err
	case "batch":
		return map[string]any{"outcomes": s.batch(r)}, nil
	}
	return struct{}{}, nil // diff leaves all to the schema
}

// handshake agrees on the version. The token is compared in constant time, so that no caller learns it by trying.
func (s *server) handshake(r *request) (any, error) {
	if subtle.ConstantTimeCompare([]byte(r.Token), []byte(s.token)) != 1 {
		return nil, fail("denied", "the token is not the one of MGMT_PLUGIN_TOKEN")
	}
	if r.Protocols.Min > version || r.Protocols.Max < version {
		return nil, fail("invalid", "mgmt speaks the versions %d to %d, and this provider speaks %d", r.Protocols.Min, r.Protocols.Max, version)
	}
	return handshake{version, "aws", "0.0.0", []string{"batch", "list"}, s.hash}, nil
}

// batch does several calls one by one. Each has an outcome of its own, in their order.
func (s *server) batch(r *request) []outcome {
	out := make([]outcome, len(r.Calls))
	for i, c := range r.Calls {
		result, err := s.safely(c.Method, c.Params)
		if out[i].Result = result; err != nil {
			out[i] = outcome{Error: failureOf(context.Background(), err)}
		}
	}
	return out
}

// reader reads properties, and collects all faults.
type reader struct {
	props   map[string]any
	path    string
	pending []string
	known   []string
	faults  []fault
}

// at returns the path of a property, as a.b[0].c.
func (r *reader) at(key string) string {
	if r.path == "" {
		return key
	}
	return r.path + "." + key
}

// bad notes a fault. The reading goes on, so that all faults are told at once.
func (r *reader) bad(key, format string, args ...any) {
	r.faults = append(r.faults, fault{r.at(key), fmt.Sprintf(format, args...)})
}

// value returns a property that is there.
func (r *reader) value(key string, required bool) (any, bool) {
	r.known = append(r.known, key)
	v := r.props[key]
	if v == nil && required && !slices.Contains(r.pending, r.at(key)) {
		r.bad(key, "it is missing")
	}
	return v, v != nil
}

// text returns a property that has to be there.
func (r *reader) text(key string) (out string) {
	if v, ok := r.value(key, true); ok {
		if out, ok = v.(string); !ok {
			r.bad(key, "it must be text")
		}
	}
	return out
}

// optionalText returns a property that may be absent; nil where it is.
func (r *reader) optionalText(key string) *string {
	v, ok := r.value(key, false)
	if !ok {
		return nil
	}
	text, ok := v.(string)
	if !ok {
		r.bad(key, "it must be text")
		return nil
	}
	return &text
}

// optionalNumber returns a number that may be absent; nil where it is.
func (r *reader) optionalNumber(key string) *float64 {
	v, ok := r.value(key, false)
	if !ok {
		return nil
	}
	n, ok := v.(float64)
	if !ok {
		r.bad(key, "it must be a number")
		return nil
	}
	return &n
}

// output refuses a property that the provider alone sets.
func (r *reader) output(key string) {
	if _, ok := r.value(key, false); ok {
		r.bad(key, "it is an output, and can't be given")
	}
}

// end finds the properties that no graph has asked for.
func (r *reader) end() []fault {
	for key := range r.props {
		if !slices.Contains(r.known, key) {
			r.bad(key, "there is no such property")
		}
	}
	return r.faults
}
