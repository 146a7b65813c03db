//go:build unix

package engine_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/model"
)

// cpu is the time that this process has used on processors.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkChangeOfOneObject: from the write of one of 100,000 objects to its vertex. The figure cpu-ms/op is of the whole process.
func BenchmarkChangeOfOneObject(b *testing.B) {
	m := runMany(b, 100_000)
	defer m.stop()
	m.awaitStatuses(b, 100_000) // which are written after the start
	before, n := cpu(), 0
	for b.Loop() {
		n++
		if _, err := m.nb.Update(b.Context(), noopObject(b, m.nb, n*7919%100_000, n), model.Write{}); err != nil {
			b.Fatal(err)
		}
		<-m.swap
	}
	b.ReportMetric(float64((cpu()-before).Microseconds())/1000/float64(n), "cpu-ms/op")
}

// BenchmarkColdStartOfObjects: from Run to the first graph of 100,000 stored objects.
func BenchmarkColdStartOfObjects(b *testing.B) {
	var total time.Duration
	n := 0
	for b.Loop() {
		n++
		m := runMany(b, 100_000)
		total += m.cold
		m.stop()
	}
	b.ReportMetric(float64(total.Milliseconds())/float64(n), "graph-ms/op")
}
