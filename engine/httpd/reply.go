package httpd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
)

// writer knows whether the answer has begun.
type writer struct {
	http.ResponseWriter
	begun bool
}

func (w *writer) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(p []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(p)
}

// FlushError serves http.ResponseController. The head that it sends begins the answer.
func (w *writer) FlushError() error {
	w.begun = true
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap serves http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// fail answers with an error. Where the answer has begun, the connection is cut instead, so that no
// client takes the answer for whole.
func (s *Server) fail(w *writer, err error) {
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	p := s.Errors(err)
	body, err := encode(p)
	if err != nil {
		p = NewProblem(http.StatusInternalServerError, "the error has no form in JSON: %v", err)
		body, _ = encode(p)
	}
	maps.Copy(w.Header(), p.Header)
	write(w, p.Status, ProblemType, body)
}

// reply writes the result of a handler.
func (s *Server) reply(w *writer, r *http.Request, doc any) error {
	if doc == nil {
		return nil
	}
	a, ok := doc.(*Answer)
	if !ok {
		a = &Answer{Body: doc}
	}
	if a.Location != "" {
		w.Header().Set("Location", a.Location)
	}
	if a.Version != "" {
		w.Header().Set("ETag", quote(a.Version))
	}
	if a.Version != "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		c, err := ConditionsOf(r)
		if err != nil {
			return err
		}
		if err := c.matches(a.Version); err != nil {
			return err
		}
		if c.notModified(a.Version) {
			w.Header().Set("Cache-Control", versioned)
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	return a.write(w)
}

func (a *Answer) write(w http.ResponseWriter) error {
	switch body := a.Body.(type) {
	case nil:
		w.WriteHeader(cmp.Or(a.Status, http.StatusNoContent))
	case []byte:
		write(w, cmp.Or(a.Status, http.StatusOK), a.Type, body)
	default:
		text, err := encode(body)
		if err != nil {
			return NewProblem(http.StatusInternalServerError, "the answer has no form in JSON: %v", err)
		}
		write(w, cmp.Or(a.Status, http.StatusOK), "application/json", text)
	}
	return nil
}

// versioned is how long an answer with a version may be used without asking again: never. It is the same with 304.
const versioned = "no-cache"

// write writes one whole answer.
func write(w http.ResponseWriter, status int, kind string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	if h.Get("ETag") == "" {
		h.Set("Cache-Control", "no-store")
	} else {
		h.Set("Cache-Control", versioned)
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
}

func encode(doc any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(doc)
	return buf.Bytes(), err
}
