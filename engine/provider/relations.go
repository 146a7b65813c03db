package provider

import (
	"fmt"
	"path"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/targets"
	"github.com/reactivegraph/mgmt/traits"
)

// thingUID is the thing of a kind with a name on a target, which is empty for this machine: two resources of one name are about
// the same.
func thingUID(base autoedge.BaseUID, n Name, target string) *autoedge.KeyUID {
	return &autoedge.KeyUID{BaseUID: base, Space: base.Kind, Key: targets.Qualify(n.parts, target)}
}

// UIDs says which thing it is about.
func (r *res) UIDs() []autoedge.UID {
	by := r.worker()
	w := by.want()
	if w == nil {
		return nil
	}
	return []autoedge.UID{thingUID(autoedge.UIDOf(by), w.name, by.Target())}
}

// Leaving reports whether the thing is to be absent.
func (r *res) Leaving() bool { return r.kind.ensure != nil && r.given(ensureKey) == absent }

// Clashes refuses two resources that are about the same thing.
func (r *res) Clashes(o engine.Res) error {
	by, other := r.worker(), resOf(o)
	if other == nil {
		return nil
	}
	a, b := by.want(), other.want()
	if a == nil || b == nil || a.name != b.name || by.Target() != other.Target() {
		return nil
	}
	return fmt.Errorf("both are the %s %s", by.kind.def.Name, by.kind.named(a.name))
}

// AutoEdges asks for the relations of the definition, and for those of the chosen kind where it dispatches.
func (r *res) AutoEdges() (autoedge.Needs, error) {
	uids := r.asks()
	if w := r.worker(); w != r {
		uids = append(uids, w.asks()...)
	}
	if len(uids) == 0 {
		return nil, nil
	}
	return &autoEdge{uids: uids}, nil
}

// asks returns the UIDs of the things that the definition relates to; none where the parameters are not valid.
func (r *res) asks() []autoedge.UID {
	if r.want() == nil {
		return nil
	}
	var uids []autoedge.UID
	d := &r.kind.def
	for _, part := range []struct {
		relations      []Relation
		before, notify bool
	}{{d.Require, true, false}, {d.Before, false, false}, {d.Subscribe, true, true}, {d.Notify, false, true}} {
		for _, rel := range part.relations {
			for _, title := range r.titles(rel) {
				base := autoedge.UIDOf(r)
				base.Reversed, base.Notifying = new(part.before), part.notify
				if t := r.Target(); t != "" {
					uids = append(uids, autoedge.NameUID(base, rel.Kind, targets.Qualify(title, t)))
				} else {
					uids = append(uids, asked(base, rel.Kind, title))
				}
			}
		}
	}
	return uids
}

// autoEdge asks for all at once, and for each file that has to come before and is not
// in the graph again as the folder that it is in, and so on up.
type autoEdge struct{ uids []autoedge.UID }

// Next returns the next question.
func (a *autoEdge) Next() []autoedge.UID { return a.uids }

// Test goes on with the folders of the files that were not found.
func (a *autoEdge) Test(found []bool) bool {
	var up []autoedge.UID
	for i, u := range a.uids {
		f, ok := u.(*autoedge.KeyUID)
		if ok && f.Space == traits.SpaceFile && !(i < len(found) && found[i]) && f.IsReversed() && !f.Notifying && path.IsAbs(f.Key) && f.Key != "/" {
			up = append(up, traits.FileUID(f.BaseUID, path.Dir(f.Key)))
		}
	}
	a.uids = up
	return len(up) > 0
}

// titles returns the titles that a relation names.
func (r *res) titles(rel Relation) []string {
	var out []string
	for _, t := range rel.Titles {
		name, ref := strings.CutPrefix(t, "$")
		if !ref {
			out = append(out, t)
			continue
		}
		out = append(out, texts(r.want().record[name])...)
	}
	return out
}

// texts flattens a value into the texts that it holds.
func texts(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, texts(e)...)
		}
		return out
	}
	if s := text(v); s != "" {
		return []string{s}
	}
	return nil
}

// aliases are our names for the kinds of catalogs.
var aliases = map[string]string{"package": "pkg", "service": "svc", "notify": "msg", "cron": "crontab"}

// asked returns the UID by which a resource of a kind is asked for: by its own UIDs
// where the kind has them, else by its name.
func asked(base autoedge.BaseUID, kind, title string) autoedge.UID {
	if k, ok := aliases[kind]; ok {
		kind = k
	}
	switch kind {
	case "file":
		return traits.FileUID(base, path.Clean(title))
	case "user":
		return traits.UserUID(base, title)
	case "group":
		return traits.GroupUID(base, title)
	case "pkg":
		return traits.PkgUID(base, title)
	case "svc":
		return traits.SvcUID(base, strings.TrimSuffix(title, ".service"), false)
	}
	return autoedge.NameUID(base, kind, title)
}
