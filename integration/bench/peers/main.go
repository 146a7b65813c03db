// Command peers measures what other libraries take for a push: one of 1,000 things changes, and another goroutine hears of it. It prints
// a line of JSON for a row of package bench. It is a module of its own, so that mgmt does not depend on these libraries.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/cilium/statedb"
	"github.com/cilium/statedb/index"
	"k8s.io/client-go/util/workqueue"
)

// Figures are the processor time for each thing, in nanoseconds, by the size of the batch.
type Figures struct{ StateDB, Workqueue map[int]int64 }

const things, rounds = 1000, 20_000

func main() {
	f := Figures{map[int]int64{}, map[int]int64{}}
	for _, batch := range []int{1, 50} {
		f.StateDB[batch] = each(batch, stateDB(batch))
		f.Workqueue[batch] = each(batch, queue(batch))
	}
	must(json.NewEncoder(os.Stdout).Encode(f))
}

// each returns the processor time of a push for each thing.
func each(batch int, push func(round int)) int64 {
	push(0)
	begin := cpu()
	for i := range rounds / batch {
		push(i + 1)
	}
	return int64(cpu()-begin) / rounds
}

type thing struct {
	name    string
	comment string
}

func (*thing) TableHeader() []string  { return []string{"name", "comment"} }
func (t *thing) TableRow() []string   { return []string{t.name, t.comment} }
func name(round, batch, i int) string { return fmt.Sprint("n", round*batch%things+i) }

// stateDB writes a batch in one transaction. A goroutine reads the changes.
func stateDB(batch int) func(round int) {
	db := statedb.New()
	table, err := statedb.NewTable(db, "things", statedb.Index[*thing, string]{
		Name:       "name",
		FromObject: func(t *thing) index.KeySet { return index.NewKeySet(index.String(t.name)) },
		FromKey:    index.String,
		FromString: index.FromString,
		Unique:     true,
	})
	must(err)
	must(db.Start())
	txn := db.WriteTxn(table)
	for i := range things {
		_, _, err := table.Insert(txn, &thing{name: fmt.Sprint("n", i)})
		must(err)
	}
	changes, err := table.Changes(txn)
	must(err)
	txn.Commit()
	heard := make(chan struct{})
	go func() {
		for n := -things; ; {
			list, more := changes.Next(db.ReadTxn())
			for range list {
				if n++; n >= 0 && n%batch == 0 {
					heard <- struct{}{}
				}
			}
			<-more
		}
	}()
	<-heard // of the things that were there from the begin: a push of one that nobody has read yet would be no further change
	return func(round int) {
		txn := db.WriteTxn(table)
		for i := range batch {
			_, _, err := table.Insert(txn, &thing{name(round, batch, i), fmt.Sprint(round)})
			must(err)
		}
		txn.Commit()
		<-heard
	}
}

// queue adds the keys of a batch. A goroutine takes them.
func queue(batch int) func(round int) {
	q := workqueue.NewTyped[string]()
	heard := make(chan struct{})
	go func() {
		for n := 1; ; n++ {
			key, _ := q.Get()
			if q.Done(key); n%batch == 0 {
				heard <- struct{}{}
			}
		}
	}()
	return func(round int) {
		for i := range batch {
			q.Add(name(round, batch, i))
		}
		<-heard
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
