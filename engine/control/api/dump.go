package api

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
)

// Dumped is a line of GET /v1/api:dump: an object, or a record that cannot be read.
// Programs read it; the server writes the lines itself.
type Dumped struct {
	Table  string          `json:"table"`
	ID     string          `json:"id,omitempty"`     // of a record that cannot be read
	Object json.RawMessage `json:"object,omitempty"` // as a Txn takes it, without its version
	Error  string          `json:"error,omitempty"`  // why the record cannot be read
	End    bool            `json:"end,omitempty"`    // of the last line: without it, the dump was cut
}

// dumpRoute is the endpoint for all objects at one revision.
// It is for those who may write: secrets are in it as they are stored, which is encrypted.
func (a *API) dumpRoute() httpd.Route {
	return httpd.Route{
		Method: "GET", Pattern: "/v1/api:dump", Summary: "All objects of all tables as they are at one revision.",
		Doc:    "Each line is the table and the object, as an operation of /v1/api:txn takes them. Secrets are encrypted, as they are stored. The last line has end.",
		Answer: Dumped{}, Types: []string{httpd.LinesType}, Errors: []int{http.StatusForbidden}, Lasting: httpd.Always, Serve: a.guarded(a.getDump),
	}
}

// getDump writes the lines while it reads the store. It holds one page of records in memory.
// An error of the store cuts the answer; a record that cannot be read is a line of its own.
func (a *API) getDump(w http.ResponseWriter, r *http.Request) (any, error) {
	d := &dump{api: a, w: w}
	at := int64(0) // the revision of the first table is that of all
	for _, m := range a.nb.Registry().All() {
		if m.ReadOnly() {
			continue // its writer brings it back
		}
		revision, all := a.nb.AllAt(r.Context(), model.Query{Model: m, At: at})
		for o, err := range all {
			line := Dumped{Table: m.Table()}
			switch {
			case err == nil:
				line.Object, err = o.Without("version").Stored()
			case unreadable(err):
				line.ID, line.Error, err = model.Faults(err)[0].ID, err.Error(), nil
			}
			if err == nil {
				err = d.add(line)
			}
			if err != nil {
				return nil, problem(err)
			}
		}
		at = revision()
	}
	if err := d.add(Dumped{End: true}); err != nil {
		return nil, err
	}
	return nil, d.flush()
}

// dump writes lines in large parts.
// It belongs to one request.
type dump struct {
	api *API
	w   http.ResponseWriter
	buf bytes.Buffer
}

func (d *dump) add(line Dumped) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	d.buf.Write(text)
	d.buf.WriteByte('\n')
	if d.buf.Len() < chunk {
		return nil
	}
	return d.flush()
}

// flush gives the client the patience of the frame for each part, as a list does.
func (d *dump) flush() error {
	d.w.Header().Set("Content-Type", httpd.LinesType)
	d.w.Header().Set("Cache-Control", "no-store")
	d.api.frame().Patience(d.w)
	_, err := d.buf.WriteTo(d.w)
	return err
}
