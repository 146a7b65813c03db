package model

import (
	"context"
	"errors"
	"strconv"

	"github.com/reactivegraph/mgmt/engine/world"
)

// Migrated is what Migrate has done with one table.
type Migrated struct {
	Table   string
	Records int      // how many were brought to the schema of the model
	Newer   []string // ids of records that only a newer program reads; they are left alone
	Broken  []string // ids of records that cannot be read at all; they are left alone
}

// Migrate brings all records of all models to the schemas of this program. A step that fails leaves every record as it
// was. It is idempotent, and goes on after an interruption. With dry set, it counts and writes nothing.
// While older programs are in use, they keep reading the records if Spec.Reads says so; else they leave them alone.
func (nb *NB) Migrate(ctx context.Context, dry bool) (done []Migrated, err error) {
	var work []migration
	var errs []error
	for _, m := range nb.reg.All() {
		if m.ReadOnly() {
			continue
		}
		todo, err := nb.toMigrate(ctx, m)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		work = append(work, todo)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, todo := range work {
		if !dry {
			if err := nb.writeMigrated(ctx, todo); err != nil {
				return done, err
			}
		}
		if todo.done.Records+len(todo.done.Newer)+len(todo.done.Broken) > 0 {
			done = append(done, todo.done)
		}
	}
	return done, nil
}

// migration is the work on one table.
type migration struct {
	m    *Model
	old  []*Object // as read, which is migrated in memory
	done Migrated
}

// toMigrate reads a table. The error joins the records for which a step failed.
func (nb *NB) toMigrate(ctx context.Context, m *Model) (migration, error) {
	todo := migration{m: m, done: Migrated{Table: m.Table()}}
	var errs []error
	for o, err := range nb.All(ctx, Query{Model: m}) {
		var bad *Error
		errors.As(err, &bad)
		switch {
		case err == nil && o.schema < m.spec.Schema:
			todo.old = append(todo.old, o)
		case err == nil:
		case bad != nil && bad.Code == SchemaTooNew:
			todo.done.Newer = append(todo.done.Newer, bad.ID)
		case bad != nil && bad.Code == BadRecord:
			todo.done.Broken = append(todo.done.Broken, bad.ID)
		default:
			errs = append(errs, err)
		}
	}
	todo.done.Records = len(todo.old)
	return todo, errors.Join(errs...)
}

// writeMigrated writes the records of one table, as many in a transaction as the World allows. A record that another
// writer has changed meanwhile has been brought to the schema by that.
func (nb *NB) writeMigrated(ctx context.Context, todo migration) error {
	limits := nb.world.Limits()
	for len(todo.old) > 0 {
		var cs []world.Compare
		var ops []world.Op
		size := 0
		for _, o := range todo.old {
			text, err := o.encode(true)
			if err != nil {
				return err
			}
			key := nb.keys.record(o.Topic(), todo.m, o.id)
			if size += 2*len(key) + len(text); len(ops) == limits.Ops || len(ops) > 0 && size > limits.Bytes {
				break
			}
			cs = append(cs, world.Compare{Key: key, Revision: o.revision})
			ops = append(ops, world.Op{Key: key, Value: text})
		}
		_, ok, err := nb.world.Txn(ctx, cs, ops)
		switch {
		case err != nil:
			return err
		case ok:
			todo.old = todo.old[len(ops):]
		default:
			again, err := nb.toMigrate(ctx, todo.m)
			if err != nil {
				return err
			}
			todo.old = again.old
		}
	}
	return nb.noteSchema(ctx, todo.m)
}

// noteSchema writes to meta/schema. It says which version the records have now. It never goes back.
func (nb *NB) noteSchema(ctx context.Context, m *Model) error {
	if known, err := nb.RecordSchema(ctx, m); err != nil || known >= m.spec.Schema || m.spec.Schema == 1 {
		return err
	}
	_, _, err := nb.world.Txn(ctx, nil, []world.Op{{Key: nb.keys.schema(m), Value: []byte(strconv.Itoa(m.spec.Schema))}})
	return err
}
