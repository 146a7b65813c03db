package model

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/reactivegraph/mgmt/engine/world"
)

// Record is an object as it is written in the World, readable or not. Dumps and restores use it, and a look at
// an unreadable record.
type Record struct {
	Table   string          `json:"table"`
	ID      string          `json:"id"`
	Topic   string          `json:"topic,omitempty"`
	Schema  int             `json:"schema"`
	Reads   int             `json:"reads,omitempty"`
	Version int64           `json:"version,omitempty"`
	Origin  string          `json:"origin,omitempty"`
	Object  json.RawMessage `json:"object"`
}

// Record returns a record, or NotFound. The Object of a torn record is its text, as a JSON string.
func (nb *NB) Record(ctx context.Context, m *Model, id string) (Record, error) {
	tx := newTx(ctx, nb)
	topic, there, err := tx.topicOf(m, id)
	if err != nil || !there {
		return Record{}, cmpErr(err, m.fault(NotFound, id, "", "there is no such object"))
	}
	kv, err := nb.world.Get(ctx, nb.keys.record(topic, m, id))
	if errors.Is(err, world.ErrNotFound) {
		return Record{}, m.fault(NotFound, id, "", "there is no such object")
	} else if err != nil {
		return Record{}, err
	}
	return asRecord(place{topic: topic, table: m.Table(), id: id}, kv.Value), nil
}

// asRecord reads the envelope only, so that it needs no model and fails for no object.
func asRecord(p place, text []byte) Record {
	out := Record{Table: p.table, ID: p.id, Topic: p.topic}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		out.Object, _ = marshal(string(text))
		return out
	}
	out.Schema, out.Reads, out.Version, out.Origin, out.Object = r.Schema, r.Reads, r.Version, r.Origin, r.Object
	return out
}

// Records yields all records of all tables as they are at one revision, in the order of their keys.
func (nb *NB) Records(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		l := &listing{nb: nb, ctx: ctx}
		for kv := range l.pages(nb.keys.records(), "", pageSize) {
			if p, ok := nb.keys.place(kv.Key); ok && !p.quiet && !yield(asRecord(p, kv.Value), nil) {
				return
			}
		}
		if l.err != nil {
			yield(Record{}, l.err)
		}
	}
}

// PutRecord writes a record as it is, over the present record: the restore of a dump. Nothing checks the object, no
// hook is called; a record that the model cannot read hides no other. A record of a ReadOnly model is a ReadOnly.
func (nb *NB) PutRecord(ctx context.Context, r Record) error {
	m, err := nb.reg.Model(r.Table)
	if err == nil {
		err = m.changeable(r.ID)
	}
	if err != nil {
		return err
	}
	text, err := marshal(record{Schema: r.Schema, Reads: r.Reads, Kind: r.Table, Version: r.Version, Origin: r.Origin, Object: r.Object})
	if err != nil {
		return err
	}
	_, err = nb.txn(ctx, false, func(tx *Tx) error {
		topic, there, err := tx.topicOf(m, r.ID)
		if err != nil {
			return err
		}
		if there && topic != r.Topic {
			tx.do(world.Op{Key: nb.keys.record(topic, m, r.ID), Delete: true})
		}
		if !there || topic != r.Topic {
			tx.do(world.Op{Key: nb.keys.id(m, r.ID), Value: []byte(r.Topic)})
		}
		tx.do(world.Op{Key: nb.keys.record(r.Topic, m, r.ID), Value: text})
		return nil
	})
	return err
}
