package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// absent is the word by which most kinds take a thing away. Others say theirs in model.Field.
const absent = "absent"

// leaving is how the objects of a model say that a thing is to go: the field, and its value.
type leaving struct{ key, word string }

// Removal is the answer to a removal that is under way.
// The object is absent by then, and stays so whatever happens to the daemon or the client: the same request goes on.
type Removal struct {
	Revision int64         `json:"revision" doc:"The object with the state absent."`
	Waiting  []RemovalHost `json:"waiting" doc:"The hosts that have the thing still, sorted. None: no host has taken the object over."`
}

// RemovalHost is a host that has not removed the thing yet.
type RemovalHost struct {
	Host  string `json:"host"`
	State string `json:"state" doc:"How the object stands there."`
	Error string `json:"error,omitempty" doc:"Why the host could not remove it."`
}

// removeObject takes one step of a removal: it sets the thing absent, or deletes the object where each host has done so.
// It does not wait: the answer is 202 with the hosts that are missing, and the caller asks again. So the death of
// either leaves an object whose state is absent, and no thing without a declaration.
func (a *API) removeObject(r *http.Request) (any, error) {
	m, err := a.model(r)
	if err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	way, err := leavingOf(m, id)
	if err != nil {
		return nil, problem(err)
	}
	o, err := a.setAbsent(r, m, id, way)
	if err != nil {
		return nil, problem(err)
	}
	left, err := a.waiting(r, o)
	if err != nil {
		return nil, problem(err)
	}
	if left == nil || len(left.Waiting) > 0 {
		if left == nil {
			left = &Removal{Revision: o.Revision(), Waiting: []RemovalHost{}}
		}
		return &httpd.Answer{Status: http.StatusAccepted, Version: versionOf(o), Body: left}, nil
	}
	_, err = a.nb.Delete(r.Context(), m, id, model.Write{IfRevision: o.Revision()})
	if err != nil {
		return nil, problem(err)
	}
	return &httpd.Answer{}, nil
}

// leavingOf returns how the things of a model are taken away. The word of the kind wins over the common one.
func leavingOf(m *model.Model, id string) (leaving, error) {
	for _, f := range m.Fields() {
		if f.Absent != "" {
			return leaving{f.Key, f.Absent}, nil
		}
	}
	for _, key := range []string{"state", "ensure"} {
		if f := m.Field(key); f != nil && slices.Contains(f.Type.Enum, absent) {
			return leaving{key, absent}, nil
		}
	}
	return leaving{}, &model.Error{Code: model.Validation, Table: m.Table(), ID: id, Field: "state",
		Message: m.Table() + " has no state absent, so a removal cannot be asked for: set the object to the state that you want, wait for its status, and delete it without remove"}
}

// setAbsent writes the object as absent, unless it is. A kind that refuses other fields together with absent gets only the fields
// with the name of the thing.
func (a *API) setAbsent(r *http.Request, m *model.Model, id string, way leaving) (o *model.Object, err error) {
	check := conditions(r)
	for _, few := range []bool{false, true} {
		_, fault := a.nb.Txn(r.Context(), func(tx *model.Tx) error {
			was, err := tx.Get(m, id)
			if err != nil {
				return err
			}
			if err := check(was); err != nil {
				return err
			}
			if o = was; was.Get(way.key) == way.word {
				return nil
			}
			next, err := absentForm(was, way, few)
			if err == nil {
				o, err = tx.Replace(next, model.Write{})
			}
			return err
		})
		if fault == nil {
			return o, nil
		}
		if err == nil {
			err = fault // that of the whole object tells more
		}
		if len(model.Faults(fault)) == 0 || model.CodeOf(fault) == model.NotFound {
			return nil, fault
		}
	}
	return nil, err
}

// absentForm returns the object with the state absent. It has no meta.reverse, by which the deletion would bring the thing back.
func absentForm(was *model.Object, way leaving, few bool) (o *model.Object, err error) {
	o = was.Without("version")
	if few {
		for _, f := range o.Mask() {
			if !named(was.Model(), f) {
				o = o.Without(f)
			}
		}
	}
	if meta, ok := was.Get("meta").(map[string]any); ok && (meta["reverse"] != nil || meta["leaving"] != nil) {
		meta = maps.Clone(meta)
		delete(meta, "reverse")
		delete(meta, "leaving")
		if o, err = o.With("meta", meta); err != nil {
			return nil, err
		}
	}
	return o.With(way.key, way.word)
}

// named reports whether a field says which thing the object is about, or where it stands in the graph.
func named(m *model.Model, key string) bool {
	if key == "id" || key == "topic" || key == "meta" || slices.Contains(model.Edges, key) {
		return true
	}
	f := m.Field(key)
	return f != nil && f.Required
}

// waiting returns the hosts that have not brought this form of the object into effect, nil where no host has the object.
// A status of an older revision is about the form before, which may have been ok. A host that is gone for good keeps its
// last status: the removal waits for it by name, until the operator removes the host. Nothing that a removed host writes counts.
func (a *API) waiting(r *http.Request, o *model.Object) (*Removal, error) {
	statuses, err := a.nb.Statuses(r.Context(), o.Model(), o.ID())
	if err == nil && len(statuses) > 0 {
		removed := a.removed(r.Context())
		maps.DeleteFunc(statuses, func(host string, _ []byte) bool { return removed(host) })
	}
	if err != nil || len(statuses) == 0 {
		return nil, err
	}
	left := &Removal{Revision: o.Revision(), Waiting: []RemovalHost{}}
	for host, text := range statuses {
		s := stateOf(text)
		if s.Revision < o.Revision() || s.State != "ok" {
			if s.Revision < o.Revision() && s.State != unread {
				s.State, s.Error = "old", "" // the form before is in effect there
			}
			left.Waiting = append(left.Waiting, RemovalHost{Host: host, State: s.State, Error: s.Error})
		}
	}
	sorted.Func(left.Waiting, func(a, b RemovalHost) int { return strings.Compare(a.Host, b.Host) })
	return left, nil
}
