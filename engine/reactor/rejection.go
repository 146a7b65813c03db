package reactor

import (
	"context"
	"encoding/json"
	"fmt"
)

const tableRejected = "rejected" // key: the resource; value: a rejection

// rejection is what is kept of a Decision to reject.
type rejection struct {
	Digest string `json:"digest"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (r *rejection) text() string {
	text := "rejected"
	if r.By != "" {
		text += " by " + r.By
	}
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return text
}

func (b *holds) reject(resource string, no *rejection) {
	if b.rejected == nil {
		b.rejected = map[string]*rejection{}
	}
	b.rejected[resource] = no
}

// unreject forgets that a change of a resource was rejected.
func (l *loop) unreject(resource string) {
	if l.holds.rejected[resource] != nil {
		delete(l.holds.rejected, resource)
		l.memory.recorder.Note(tableRejected, resource, nil)
	}
}

// recallRejected takes over what was rejected in an earlier process.
func (l *loop) recallRejected(ctx context.Context) error {
	for rec, err := range l.opt.Store.Records(ctx, tableRejected) {
		if err != nil {
			return fmt.Errorf("the rejected changes: %w", err)
		}
		var no rejection
		if json.Unmarshal(rec.Value, &no) == nil {
			l.holds.reject(rec.Key, &no)
		}
	}
	return nil
}
