package metrics

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reactivegraph/mgmt/internal/sorted"
)

// family is a metric: all series of one name.
type family struct {
	name, help string
	typ        string // as the format says it
	series     []series
}

// series is what a family says for one set of labels.
type series struct {
	labels string // as they are written: kind="file",outcome="ok"
	points []point
}

// point is one line of a series. Those of a histogram or a summary have a suffix, or a
// label of their own.
type point struct {
	suffix, label string
	value         float64
}

func counter(name, help string) *family { return &family{name: name, help: help, typ: "counter"} }

func gauge(name, help string) *family { return &family{name: name, help: help, typ: "gauge"} }

// add adds a series of one value. Labels are pairs of a name, which is not escaped, and
// a value; a set of labels is added once.
func (f *family) add(value float64, labels ...string) *family {
	return f.addPoints([]point{{value: value}}, labels...)
}

// count is add for what is a whole number.
func (f *family) count(n *atomic.Int64, labels ...string) *family {
	return f.add(float64(n.Load()), labels...)
}

func (f *family) addPoints(points []point, labels ...string) *family {
	var b strings.Builder
	for i := 0; i+1 < len(labels); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(label(labels[i], labels[i+1]))
	}
	f.series = append(f.series, series{b.String(), points})
	return f
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

func label(name, value string) string { return name + `="` + valueEscapes.Replace(value) + `"` }

// number is how the format writes a number: as Go does, with NaN, +Inf and -Inf.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// write returns families as text, by name, their series by their labels. A family
// without a series is left out.
func write(families []*family) []byte {
	slices.SortFunc(families, func(a, b *family) int { return strings.Compare(a.name, b.name) })
	var out []byte
	for _, f := range families {
		out = f.appendTo(out)
	}
	return out
}

func (f *family) appendTo(out []byte) []byte {
	if len(f.series) == 0 {
		return out
	}
	out = append(out, "# HELP "+f.name+" "+helpEscapes.Replace(f.help)+"\n# TYPE "+f.name+" "+f.typ+"\n"...)
	sorted.Func(f.series, func(a, b series) int { return strings.Compare(a.labels, b.labels) })
	for _, s := range f.series {
		for _, p := range s.points {
			out = append(out, f.name+p.suffix+braces(s.labels, p.label)+" "+number(p.value)+"\n"...)
		}
	}
	return out
}

// braces joins two lists of labels, each of which may be empty.
func braces(a, b string) string {
	switch {
	case a == "" && b == "":
		return ""
	case a != "" && b != "":
		a += ","
	}
	return "{" + a + b + "}"
}

// histogram counts how long things took. It is made by newHistogram.
type histogram struct {
	bounds []time.Duration // the longest of each bucket, ascending
	counts []atomic.Int64  // by bucket; the last one is for durations above all bounds
	sum    atomic.Int64    // in ns, which is enough for 292 years
}

func newHistogram(bounds []time.Duration) histogram {
	return histogram{bounds: bounds, counts: make([]atomic.Int64, len(bounds)+1)}
}

func (h *histogram) observe(d time.Duration) {
	i, _ := slices.BinarySearch(h.bounds, d)
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

// points are the lines of the histogram, in seconds. The count is that of the buckets;
// the sum may lack an observation in progress.
func (h *histogram) points() []point {
	sum := time.Duration(h.sum.Load()).Seconds()
	points := make([]point, 0, len(h.counts)+2)
	var n int64
	for i := range h.counts {
		le := "+Inf"
		if i < len(h.bounds) {
			le = number(h.bounds[i].Seconds())
		}
		n += h.counts[i].Load()
		points = append(points, point{"_bucket", label("le", le), float64(n)})
	}
	return append(points, point{"_sum", "", sum}, point{"_count", "", float64(n)})
}
