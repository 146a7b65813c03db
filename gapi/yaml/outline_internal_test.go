package yaml

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// longGraph is a graph with a long list, whose entries have every style of a text, and with short lists around it.
func longGraph() string {
	filler := strings.Repeat("x", 1500)
	var b strings.Builder
	b.WriteString("graph: long # of texts\nresources:\n  noop:\n  - name: before\n  file:\n")
	for i := range 60 {
		fmt.Fprintf(&b, "  - name: /%d\n", i)
		switch i % 6 {
		case 0:
			fmt.Fprintf(&b, "    content: |+\n      - a\n        %s\n\n    mode: 0644\n\n", filler)
		case 1:
			fmt.Fprintf(&b, "    content: \"a # %s\n      - b\"\n    # end\n", filler)
		case 2:
			fmt.Fprintf(&b, "    depend: [\"noop[before]\",\n      'file[/0]']\n    comment: >-\n      %s\n      y\n", filler)
		case 3:
			fmt.Fprintf(&b, "    content: %s\n      more: 1\n", filler+" and")
		case 4:
			fmt.Fprintf(&b, "    meta:\n      retry: 3\n    content: '%s''s'\n  # a comment\n", filler)
		case 5:
			fmt.Fprintf(&b, "    content: %s\n", filler)
		}
	}
	b.WriteString("  print:\n  - {name: after, msg: x}\n")
	return strings.ReplaceAll(b.String(), "      more: 1\n", "      more\n")
}

// partOf reads a text behind another one as a frontend does, and returns the resources of the second. partly says that only what differs was read; ok is
// false where the first text is no graph.
func partOf(first, second string) (list []gapi.Declaration, found schema.Diagnostics, partly bool, err error) {
	text := first
	l := newFiles("g.yaml", Options{Overlay: func(string) ([]byte, bool) { return []byte(text), true }}, nil)
	l.again, l.sequence = true, &sequence{}
	d, err := l.load(context.Background()).yielded()
	if err != nil {
		d = &gapi.Declared{}
	}
	before := d.Complete().Resources
	text = second
	d, err = l.load(context.Background()).yielded()
	if err != nil {
		return nil, nil, false, err
	}
	if d.Part == nil || d.Part.All {
		d = d.Complete()
		return d.Resources, d.Problems, false, nil
	}
	changed := map[string]gapi.Declaration{}
	for _, r := range d.Part.Resources {
		changed[r.ID()] = r
	}
	for _, r := range before {
		if now, ok := changed[r.ID()]; ok {
			r = now
		}
		list = append(list, r)
	}
	if whole := d.Complete(); !reflect.DeepEqual(whole.Resources, list) || whole.Name != "long" {
		return nil, nil, true, fmt.Errorf("the whole differs from the parts")
	}
	return list, nil, true, nil
}

// sameAsWhole compares the second of two texts with its reading by itself.
func sameAsWhole(t *testing.T, first, second string) (partly bool) {
	t.Helper()
	got, found, partly, err := partOf(first, second)
	want, werr := Load("g.yaml", Options{Overlay: func(string) ([]byte, bool) { return []byte(second), true }}, nil)
	if (err == nil) != (werr == nil) {
		t.Fatalf("%v, and as a whole %v", err, werr)
	}
	if err != nil {
		return partly
	}
	if !reflect.DeepEqual(got, want.Resources) || !reflect.DeepEqual(found, want.Problems) {
		for i := range want.Resources {
			if !reflect.DeepEqual(got[i], want.Resources[i]) {
				t.Errorf("%+v\n%+v", got[i], want.Resources[i])
			}
		}
		t.Fatalf("partly %v: %v, and as a whole %v", partly, found, want.Problems)
	}
	return partly
}

// TestOutline: an edit inside of an entry is read by itself, and any other edit with the whole text.
func TestOutline(t *testing.T) {
	src := longGraph()
	for _, c := range []struct {
		old, now string
		partly   bool
	}{
		{"mode: 0644", "mode: 0600", true},
		{"retry: 3", "retry: 30000", true},
		{"retry: 3", "retry: 3\n", false},
		{"name: /7\n", "name: /77\n", false},
		{"name: /7\n", "name: [x]\n", false},
		{"retry: 3", "retry: \"3", false},
		{"retry: 3", "retry: &a 3", false},
		{"retry: 3", "retry: *a", false},
		{"retry: 3", "when: ${{ true }}", false},
		{"retry: 3", "when: yes", false},
		{"- name: before", "- name: begin", false},
		{"# of texts", "# of lines", false},
		{"'file[/0]']", "file[/0]", false},
		{"    # end", "  - {name: /new}", false},
		{"    # end", "    # eNd", true},
		{"mode: 0644", "mode: {}", true},
		{"mode: 0644", "mode: 0644, x", true},
		{"mode: 0644", "mode: \x01", false},
		{"mode: 0644", "mode: 0644\r", false},
	} {
		now := strings.Replace(src, c.old, c.now, 1)
		if now == src {
			t.Fatalf("%q is not there", c.old)
		}
		if partly := sameAsWhole(t, src, now); partly != c.partly {
			t.Errorf("%q to %q: read in part: %v", c.old, c.now, partly)
		}
	}
	// A line that moves from one entry to the next one, a second entry in one, and an anchor that ties two entries.
	moved := strings.Replace(strings.Replace(src, "\n    # end\n", "\n", 1), "    mode: 0644\n\n", "    mode: 0644\n\n    # end\n", 1)
	if sameAsWhole(t, src, moved) {
		t.Error("a line has moved, and the places are as before")
	}
	tied := strings.Replace(strings.Replace(src, "retry: 3", "retry: &r 3", 1), "retry: 3\n", "retry: *r\n", 1)
	for _, now := range []string{"&r 4", "4"} {
		if tied == src || sameAsWhole(t, tied, strings.Replace(tied, "&r 3", now, 1)) {
			t.Error("an anchor was read by itself")
		}
	}
	two := strings.Replace(src, "    # end\n", "  -\n", 1)
	if sameAsWhole(t, src, two) {
		t.Error("two entries were read as one")
	}
	// More than a share of the entries is read as a whole, and so is another name.
	if sameAsWhole(t, src, strings.ReplaceAll(src, "xx", "xy")) {
		t.Error("all entries were read as parts")
	}
	for _, around := range []string{"edges:\n- {from: 'noop[before]', to: 'file[/1]'}\n", "vars: {a: 1}\n", "include: [none.yaml]\n"} {
		if with := src + around; sameAsWhole(t, with, strings.Replace(with, "mode: 0644", "mode: 0600", 1)) {
			t.Errorf("a graph with %s was read in part", around)
		}
	}
}

// FuzzOutline: whatever is put into a long list, the graph is that of the whole text.
func FuzzOutline(f *testing.F) {
	src := longGraph()
	for i, text := range []string{"\"", "'", "&a ", "*a", "\n", "- ", "  - name: /1\n", "#", ": ", "|", "[", "${{", "\t", "---\n", "%", "!!binary ", "<<: ", "\\", "? ", "\n    ", "0"} {
		f.Add(uint32(20+3*i), uint32(i%3), text)
		f.Add(uint32(40000+1571*i), uint32(i%5), text)
		f.Add(uint32(strings.Index(src, "retry")), uint32(i%9), text)
	}
	f.Fuzz(func(t *testing.T, at, cut uint32, text string) {
		from := int(at) % len(src)
		to := min(from+int(cut)%200, len(src))
		now := src[:from] + text + src[to:]
		sameAsWhole(t, src, now)
		sameAsWhole(t, now, src)
	})
}
