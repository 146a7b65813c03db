package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/reactivegraph/mgmt/engine/httpd"
)

// Client asks for objects. An error of the server is a *httpd.Problem; one of the transport is as it came. It may be
// used by many goroutines, and needs no closing.
type Client struct {
	// HTTP carries the requests: to a daemon, or to a handler in this process.
	HTTP http.RoundTripper
}

// Request is one request of a Client.
// The zero Query and Header are good. Header has names and values by turns.
type Request struct {
	Method string
	Path   string // escaped; see PathOf
	Query  url.Values
	Body   []byte // nil for none
	Header []string
}

// PathOf returns the path of a table, and of more segments below it: an id, and a word behind that.
// All segments are escaped here, so they are given as they are.
func PathOf(table string, more ...string) string {
	var path strings.Builder
	path.WriteString("/v1/api/" + Escape(table))
	for _, segment := range more {
		path.WriteString("/" + Escape(segment))
	}
	return path.String()
}

// maxProblem bounds how much of an error is read.
const maxProblem = 1 << 20

// Do sends a request. The caller closes the body of the answer, which is a good one.
// It blocks until the head of the answer has come; the context ends it. Nothing is tried again: a change may have been made
// although its answer was lost. Only the caller knows whether a second time does harm.
func (c *Client) Do(ctx context.Context, q Request) (*http.Response, error) {
	target := "http://mgmt" + q.Path
	if len(q.Query) > 0 {
		target += "?" + q.Query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, q.Method, target, bytes.NewReader(q.Body))
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(q.Header); i += 2 {
		req.Header.Set(q.Header[i], q.Header[i+1])
	}
	resp, err := c.HTTP.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	p := &httpd.Problem{}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err == nil {
		err = json.Unmarshal(text, p)
	}
	if err != nil || p.Detail == "" {
		p = httpd.NewProblem(resp.StatusCode, "the answer is %s", resp.Status)
	}
	return nil, p
}

// Ask sends a request and decodes the answer into out, which may be nil. A number in an any is a json.Number, so that no
// digit is lost. An answer of more than httpd.MaxAnswer is an error.
func (c *Client) Ask(ctx context.Context, q Request, out any) (http.Header, error) {
	resp, err := c.Do(ctx, q)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if out == nil {
		return resp.Header, nil
	}
	dec := json.NewDecoder(httpd.NewBound(resp.Body, httpd.MaxAnswer))
	dec.UseNumber()
	if err := dec.Decode(out); err != nil {
		return nil, fmt.Errorf("the answer to %s %s cannot be read: %w", q.Method, q.Path, err)
	}
	return resp.Header, nil
}

// Tables asks for the tables, or for one of them by its name.
// The types of the fields say how the text of a person is written in JSON.
func (c *Client) Tables(ctx context.Context, table string) (list []Table, err error) {
	q := Request{Method: http.MethodGet, Path: "/v1/api"}
	if table != "" {
		q.Query = url.Values{"table": {table}}
	}
	_, err = c.Ask(ctx, q, &list)
	return list, err
}

// List yields the objects of a table as they come. An error is the last.
// Numbers are json.Number, so that no digit is lost. A list that was cut is an error and no short list. It may have any length, and an object
// of it httpd.MaxRecord.
func (c *Client) List(ctx context.Context, table string, query url.Values) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		resp, err := c.Do(ctx, Request{Method: http.MethodGet, Path: PathOf(table), Query: query})
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		in := httpd.NewBound(resp.Body, httpd.MaxRecord)
		dec := json.NewDecoder(in)
		dec.UseNumber()
		if err = begin(dec); err == nil {
			for dec.More() {
				var o Object
				if err = dec.Decode(&o); err != nil {
					break
				}
				if in.Next(); !yield(o, nil) {
					return
				}
			}
		}
		if err == nil {
			_, err = dec.Token() // the end of the list: without it, the answer was cut between two objects
		}
		if err != nil {
			yield(nil, fmt.Errorf("the list cannot be read to its end: %w", err))
		}
	}
}

// begin reads the begin of a list. A document of another form is an error, and no empty list.
func begin(dec *json.Decoder) error {
	t, err := dec.Token()
	if err == nil && t != json.Delim('[') {
		err = errors.New("it is no list")
	}
	return err
}

// Lines yields the values of an answer that has one in each line, as those of a dump or a watch. An error is the last. There
// may be any number of them, and each may have httpd.MaxRecord.
func Lines[T any](ctx context.Context, c *Client, q Request) iter.Seq2[T, error] {
	q.Header = append(q.Header, "Accept", httpd.LinesType)
	return func(yield func(T, error) bool) {
		var none T
		resp, err := c.Do(ctx, q)
		if err != nil {
			yield(none, err)
			return
		}
		defer resp.Body.Close()
		in := httpd.NewBound(resp.Body, httpd.MaxRecord)
		for dec := json.NewDecoder(in); ; {
			var v T
			if err := dec.Decode(&v); err != nil {
				if !errors.Is(err, io.EOF) {
					yield(none, err)
				}
				return
			}
			if in.Next(); !yield(v, nil) {
				return
			}
		}
	}
}
