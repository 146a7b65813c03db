package gapi

import (
	"fmt"
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// exposed warns of each secret that a graph puts into a file whose mode, as the graph says
// it, lets others read. A symbolic mode is judged by the mode that it gives to a new file.
func (b *builder) exposed(tainted map[*item]bool) {
	var modes map[string]schema.Mode // of all paths; made when it is needed
	for _, it := range b.items {
		if it.runs {
			continue
		}
		params := b.secretParams(it, tainted)
		if len(params) == 0 {
			continue
		}
		path, mode := exposes(it.res, params)
		if path == "" {
			continue
		}
		if modes == nil {
			modes = b.modes()
		}
		if mode == "" {
			mode = modes[path]
		}
		if perm, err := mode.Apply(0o644, false); mode == "" || err != nil || perm&0o077 == 0 {
			continue
		}
		b.add(schema.Diagnostic{
			Severity: schema.Warning, Pos: posOf(it.Value.Get("mode"), it.Pos), Resource: it.id, Path: params[0],
			Message: fmt.Sprintf("%s is a secret, and the mode %q of %s lets other users have it; without a mode the file gets 0600", params[0], mode, path),
		})
	}
}

// modes are the modes that the graph says.
func (b *builder) modes() map[string]schema.Mode {
	modes := map[string]schema.Mode{}
	for _, it := range b.items {
		if path, mode := exposes(it.res, nil); path != "" && mode != "" {
			modes[path] = mode
		}
	}
	return modes
}

// exposes asks a resource; a panic of it is shown when it is validated.
func exposes(res engine.Res, params []string) (path string, mode schema.Mode) {
	r, ok := engine.As[declaration.Exposing](res)
	if !ok {
		return "", ""
	}
	var err error
	defer callsafe.Recover("Exposes", &err)
	return r.Exposes(params)
}

// secretParams are the parameters of a resource that hold a secret: by their type, their
// mark, or the sender from which they are received.
func (b *builder) secretParams(it *item, tainted map[*item]bool) []string {
	if it.res == nil || it.info == nil || !it.marks && len(it.wires)+len(it.info.secrets) == 0 {
		return nil
	}
	if _, ok := engine.As[declaration.Exposing](it.res); !ok {
		return nil
	}
	keys := map[string]bool{}
	for _, path := range engine.MetaOf(it.res).Secret {
		keys[topKey(path)] = true
	}
	for _, w := range it.wires {
		if s := b.sender(w); sendsSecret(s, w) || tainted[s] {
			keys[topKey(w.Field)] = true
		}
	}
	for _, key := range it.info.secrets {
		if it.Value.Get(key) != nil {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
