package metrics

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine/reactor"
)

// plain is a family as it is compared: the values by line, written without escapes.
type plain struct {
	Help, Type string
	Lines      map[string]float64
}

// line names a line of a family by what is no text of the format.
func line(suffix string, labels []string) string { return suffix + "|" + strings.Join(labels, "|") }

// parse reads a text with the parser of Prometheus.
func parse(t interface{ Fatal(...any) }, text []byte) map[string]plain {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err, string(text))
	}
	got := map[string]plain{}
	for name, f := range families {
		p := plain{Help: f.GetHelp(), Type: strings.ToLower(f.GetType().String()), Lines: map[string]float64{}}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName(), l.GetValue())
			}
			switch p.Type {
			case "counter":
				p.Lines[line("", labels)] = m.GetCounter().GetValue()
			case "gauge":
				p.Lines[line("", labels)] = m.GetGauge().GetValue()
			case "summary":
				for _, q := range m.GetSummary().GetQuantile() {
					p.Lines[line("", append(labels, "quantile", number(q.GetQuantile())))] = q.GetValue()
				}
				p.Lines[line("_sum", labels)] = m.GetSummary().GetSampleSum()
				p.Lines[line("_count", labels)] = float64(m.GetSummary().GetSampleCount())
			case "histogram":
				for _, b := range m.GetHistogram().GetBucket() {
					p.Lines[line("_bucket", append(labels, "le", number(b.GetUpperBound())))] = float64(b.GetCumulativeCount())
				}
				p.Lines[line("_sum", labels)] = m.GetHistogram().GetSampleSum()
				p.Lines[line("_count", labels)] = float64(m.GetHistogram().GetSampleCount())
			}
		}
		got[name] = p
	}
	return got
}

// TestParsedBack: what is written says to others what was meant, whatever the texts and
// the numbers are.
func TestParsedBack(t *testing.T) {
	values := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, 1e21, math.MaxFloat64,
		math.SmallestNonzeroFloat64, math.MaxInt64, math.NaN(), math.Inf(1), math.Inf(-1)}))
	texts := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("\\\"\n\r\t {}=,n#aé")), 0, 8, -1))
	rapid.Check(t, func(rt *rapid.T) {
		var families []*family
		want := map[string]plain{}
		for _, name := range rapid.SliceOfDistinct(rapid.StringMatching(`[a-z][a-z_]{0,8}x`), rapid.ID).Draw(rt, "names") {
			f := rapid.SampledFrom([]func(string, string) *family{counter, gauge}).Draw(rt, "make")(name, texts.Draw(rt, "help"))
			p := plain{strings.TrimLeft(f.help, " \t"), f.typ, map[string]float64{}} // blanks before a help are no part of it
			for _, first := range rapid.SliceOfNDistinct(texts, 0, 4, rapid.ID).Draw(rt, "series") {
				labels := []string{"a", first, "b", texts.Draw(rt, "second")}
				v := values.Draw(rt, "value")
				f.add(v, labels...)
				p.Lines[line("", labels)] = v
			}
			families = append(families, f)
			if len(f.series) > 0 {
				want[name] = p
			}
		}
		text := write(families)
		if diff := cmp.Diff(want, parse(rt, text), sameFloats); diff != "" {
			rt.Fatalf("%s\n%s", diff, text)
		}
	})
}

// sameFloats compares numbers bit by bit, but any NaN is as good as another one.
var sameFloats = cmp.Comparer(func(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
})

// TestHistogram: each time is in the buckets that are not shorter than it, and in no
// other one.
func TestHistogram(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistogram(durationBounds)
		want := map[string]float64{"_sum|a|x": 0, "_count|a|x": 0}
		bounds := append([]float64{math.Inf(1)}, 0.0001, 0.001, 0.01, 0.1, 1, 10, 60, 600)
		for _, b := range bounds {
			want["_bucket|a|x|le|"+number(b)] = 0
		}
		var sum time.Duration
		exact := rapid.SampledFrom(durationBounds) // a time as long as a bound is in its bucket
		longer := rapid.Map(exact, func(d time.Duration) time.Duration { return d + 1 })
		for _, d := range rapid.SliceOf(rapid.OneOf(exact, longer, rapid.Map(rapid.Int64Range(0, int64(time.Hour)), func(n int64) time.Duration { return time.Duration(n) }))).Draw(rt, "times") {
			h.observe(d)
			sum += d
			want["_count|a|x"]++
			for _, b := range bounds {
				if d.Seconds() <= b {
					want["_bucket|a|x|le|"+number(b)]++
				}
			}
		}
		want["_sum|a|x"] = sum.Seconds()
		f := &family{name: "h", typ: "histogram"}
		got := parse(rt, write([]*family{f.addPoints(h.points(), "a", "x")}))
		if diff := cmp.Diff(want, got["h"].Lines); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// TestKindsAreReplaced: a scrape goes over a map that nobody alters.
func TestKindsAreReplaced(t *testing.T) {
	m := New(Options{})
	m.Ran(reactor.Run{Resource: "file[x]", Duration: 1})
	seen := *m.kinds.Load()
	m.Ran(reactor.Run{Resource: "exec[x]", Duration: 1})
	m.Ran(reactor.Run{Resource: "file[x]", Duration: 1})
	if len(seen) != 1 || len(*m.kinds.Load()) != 2 {
		t.Error("the map that a scrape had was altered")
	}
	if n := seen["file"].runs[outcomeOK].Load(); n != 2 {
		t.Errorf("%d of 2 runs, in the map from before: what was counted has moved", n)
	}
}
