package gapi

import (
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// checkRetry warns of endless retries with nothing between them: each failure is a line
// of the log, and there are hundreds a second.
func (b *builder) checkRetry(it *item) {
	m := engine.MetaOf(it.res)
	if m.Retry != engine.RetryForever || m.Delay > 0 || m.Limit > 0 || it.bad {
		return
	}
	b.addMeta(it, schema.Diagnostic{
		Severity: schema.Warning, Pos: posOf(it.Meta.At("retry"), it.Pos), Path: "retry",
		Message: "retry: -1 without a delay tries as fast as it can; give it a delay",
	})
}
