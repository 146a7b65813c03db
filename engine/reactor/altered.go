package reactor

import (
	"log/slog"

	"github.com/reactivegraph/mgmt/engine/callsafe"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// unaltered warns, with Options.Debug, where a method alters parameters of v: an identical graph then differs from what runs, and
// changes the resource. It is called before the method, and the returned function after it.
func (v *vertex) unaltered(method string) (check func()) {
	if !v.core.opt.Debug {
		return func() {}
	}
	before := v.parameters()
	return func() {
		after := v.parameters()
		if before == nil || after == nil {
			return
		}
		var keys []string
		for _, d := range schema.Diff(v.abil.recvType, before, after) {
			if d.Field != nil && d.Field.Role != schema.RoleReadOnly {
				keys = append(keys, d.Path)
			}
		}
		if len(keys) > 0 {
			v.core.log.Warn("a method alters parameters of its resource, which an identical graph then changes; keep what it computes in fields that are no parameters",
				slog.String("resource", v.ID), slog.String("method", method), slog.Any("parameters", keys))
		}
	}
}

// parameters returns the parameters of v as plain values; nil where that fails.
func (v *vertex) parameters() (plain any) {
	_ = callsafe.Do("encoding it", func() (err error) {
		plain, err = schema.EncodeAll(v.Res)
		return err
	})
	return plain
}
