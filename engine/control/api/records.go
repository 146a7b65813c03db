package api

import (
	"net/http"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
)

// Migrated tells of the records of a table after POST /v1/api:migrate.
// Newer and broken records stay as they are, and the program goes on without them.
type Migrated struct {
	Table   string   `json:"table"`
	Records int      `json:"records"`          // that were brought to the schema of this program
	Newer   []string `json:"newer,omitempty"`  // ids of records that only a newer program reads
	Broken  []string `json:"broken,omitempty"` // ids of records that cannot be read at all
}

// Checked tells of the records of a table after GET /v1/api:check.
// A table without records is left out.
type Checked struct {
	Table   string  `json:"table"`
	Records int     `json:"records"`          // that can be read
	Faults  []Fault `json:"faults,omitempty"` // records that cannot be read
}

// Fault is a record that cannot be read.
type Fault struct {
	ID     string     `json:"id"`
	Code   model.Code `json:"code"`
	Detail string     `json:"detail"`
}

// migrateRoute and checkRoute are the endpoints for the care of records.
func (a *API) migrateRoute() httpd.Route {
	return httpd.Route{
		Method: "POST", Pattern: "/v1/api:migrate", Summary: "Bring all records to the schemas of this program.",
		Doc:    "A step that fails leaves every record as it was. Records that cannot be read are told and left alone.",
		Params: []httpd.Param{dryParam}, Answer: []Migrated{}, Lasting: httpd.Always, Serve: a.postMigrate,
	}
}

// checkRoute is the endpoint that looks for such records, and alters none.
func (a *API) checkRoute() httpd.Route {
	return httpd.Route{
		Method: "GET", Pattern: "/v1/api:check", Summary: "Read all records, and tell those that cannot be read.",
		Answer: []Checked{}, Lasting: httpd.Always, Serve: a.getCheck,
	}
}

// postMigrate waits for all tables, and a client that goes away ends it. It goes on where it was at the next call.
func (a *API) postMigrate(_ http.ResponseWriter, r *http.Request) (any, error) {
	dry, err := truth(r.URL.Query(), "dry_run")
	if err != nil {
		return nil, err
	}
	done, err := a.nb.Migrate(r.Context(), dry)
	if err != nil {
		return nil, problem(err)
	}
	out := make([]Migrated, len(done))
	for i, d := range done {
		out[i] = Migrated(d)
	}
	return out, nil
}

// getCheck alters nothing. It reads each table page by page, so its memory is that of the faults that it finds.
func (a *API) getCheck(_ http.ResponseWriter, r *http.Request) (any, error) {
	out := []Checked{}
	for _, m := range a.nb.Registry().All() {
		c := Checked{Table: m.Table()}
		for _, err := range a.nb.All(r.Context(), model.Query{Model: m}) {
			switch {
			case err == nil:
				c.Records++
			case !unreadable(err):
				return nil, problem(err)
			default:
				f := model.Faults(err)[0]
				c.Faults = append(c.Faults, Fault{f.ID, f.Code, findingOf(f).Detail})
			}
		}
		if c.Records > 0 || c.Faults != nil {
			out = append(out, c)
		}
	}
	return out, nil
}
