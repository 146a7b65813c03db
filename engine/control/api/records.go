package api

import (
	"context"
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
	Faults  []Fault `json:"faults,omitempty"` // records that cannot be read, and references to nothing
}

// Fault is a record that cannot be read (schema_too_new, migration_failed, bad_record), or a reference to an object that is not
// there (ref_not_found).
type Fault struct {
	ID     string     `json:"id"`
	Code   model.Code `json:"code"`
	Field  string     `json:"field,omitempty"` // which has the reference
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
		Method: "GET", Pattern: "/v1/api:check", Summary: "Read all records, and tell those that cannot be read, and references to nothing.",
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

// getCheck alters nothing. It reads each table page by page, so its memory is that of the faults that it finds, and of some names.
func (a *API) getCheck(_ http.ResponseWriter, r *http.Request) (any, error) {
	out := []Checked{}
	seen := &seen{api: a, there: map[string]bool{}}
	for _, m := range a.nb.Registry().All() {
		c := Checked{Table: m.Table()}
		for o, err := range a.nb.All(r.Context(), model.Query{Model: m}) {
			var dangling []Fault
			if err == nil {
				c.Records++
				dangling, err = seen.dangling(r.Context(), o)
			}
			switch {
			case err == nil:
				c.Faults = append(c.Faults, dangling...)
			case !unreadable(err):
				return nil, problem(err)
			default:
				f := model.Faults(err)[0]
				c.Faults = append(c.Faults, Fault{ID: f.ID, Code: f.Code, Detail: findingOf(f).Detail})
			}
		}
		if c.Records > 0 || c.Faults != nil {
			out = append(out, c)
		}
	}
	return out, nil
}

// seen remembers which objects are there, for one check.
type seen struct {
	api   *API
	there map[string]bool // by table[id]
}

// maxSeen bounds how many names are remembered.
const maxSeen = 100_000

// dangling returns the references of an object that lead neither to an object nor to a resource that runs. A target whose record cannot be
// read is there.
func (s *seen) dangling(ctx context.Context, o *model.Object) (faults []Fault, err error) {
	for _, ref := range s.api.references(o) {
		name := ref.m.Table() + "[" + ref.id + "]"
		there, known := s.there[name]
		if !known {
			_, err := s.api.nb.Get(ctx, ref.m, ref.id)
			if err != nil && model.CodeOf(err) == "" {
				return nil, err
			}
			there = model.CodeOf(err) != model.NotFound || s.api.known(ctx, name)
			if len(s.there) < maxSeen {
				s.there[name] = there
			}
		}
		if !there {
			faults = append(faults, Fault{ID: o.ID(), Code: model.RefNotFound, Field: ref.field, Detail: ref.field + " names " + name + ", which is not there"})
		}
	}
	return faults, nil
}
