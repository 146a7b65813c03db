package puppet_test

import (
	"fmt"
	"testing"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
)

// BenchmarkRead reads and builds a catalog of 10,000 files and commands in 100
// classes that need each other.
func BenchmarkRead(b *testing.B) {
	var resources, contains []string
	for c := range 100 {
		params := ""
		if c > 0 {
			params = fmt.Sprintf(`{"require": "Class[c%d]"}`, c-1)
		}
		resources = append(resources, container("Class", fmt.Sprintf("c%d", c), params))
		for i := range 50 {
			path := fmt.Sprintf("/srv/%d/%d", c, i)
			resources = append(resources,
				entry(i+1, "File", path, `{"ensure": "file", "content": "some text\n", "mode": "0644", "owner": "root"}`),
				entry(i+1, "Exec", path, `{"command": "/bin/true a b", "refreshonly": true, "subscribe": "File[`+path+`]"}`))
			contains = append(contains, fmt.Sprintf("Class[c%d] > File[%s]", c, path), fmt.Sprintf("Class[c%d] > Exec[%s]", c, path))
		}
	}
	src := []byte(source(resources, contains...))
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		d, err := puppet.Read("c.json", src, kinds, puppet.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if g, ds := gapi.Build(kinds, d); g == nil {
			b.Fatal(ds)
		}
	}
}
