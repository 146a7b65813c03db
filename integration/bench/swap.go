package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// A person edits the file of a running daemon: the changed file must be right soon, and
// no other resource may be checked again.
// swapRows are edits of a graph file that a running engine follows.
func swapRows() []row {
	return []row{
		{"one of 10,000 changed in the graph file", library, "before the graph file is renamed over, to the new content on disk", "250ms, no other CheckApply", swapOne},
		{"an identical graph file of 10,000", library, "before the graph file is renamed over, to the swap in effect", "no CheckApply", swapNone},
		{"reading the YAML of 10,000 files", library, "bytes in the page cache, to the declared graph", "(for comparison)", readYAML},
	}
}

// It is large enough that a cost for each resource shows in the figure.
// inFile is the number of resources in the file.
const inFile = 10_000

// graphFile writes a graph of files, the one numbered odd with other content.
// It replaces the file as an editor does, by a rename. An odd of -1 changes none.
func graphFile(dir string, odd int, text string) string {
	var b bytes.Buffer
	b.WriteString("graph: bench\nresources:\n  file:\n")
	for i := range inFile {
		c := strings.TrimSpace(content(i))
		if i == odd {
			c = text
		}
		fmt.Fprintf(&b, "  - name: %s\n    content: \"%s\"\n", filePath(dir, i, inFile), c)
	}
	path := filepath.Join(dir, "graph.yaml")
	must(os.WriteFile(path+".new", b.Bytes(), 0o644))
	must(os.Rename(path+".new", path))
	return path
}

// swapping starts a graph of 10,000 files from YAML and counts the runs after it has converged.
// A goroutine collects the names of runs, so that the observer never blocks. It ends with
// the process of the row.
func swapping(b *bench) (r *running, runs func() []string) {
	must(os.MkdirAll(filepath.Join(b.dir, "0"), 0o755))
	var list []string
	listed := make(chan []string)
	ran := make(chan string, 4*inFile)
	go func() {
		for {
			select {
			case id := <-ran:
				list = append(list, id)
			case listed <- slices.Clone(list):
				list = nil
			}
		}
	}()
	o := mgmt.Options{Observer: mgmt.Observer{Ran: func(r reactor.Run) { ran <- r.Resource }}}
	r = start(yaml.New(graphFile(b.dir, -1, ""), yaml.Options{}), o)
	r.rest()
	<-r.swapped
	for quiet := 0; quiet < 3; { // the events of our own writes pass
		time.Sleep(200 * time.Millisecond)
		if len(<-listed) == 0 {
			quiet++
		}
	}
	return r, func() []string { return <-listed }
}

// The clock covers reading, parsing, the comparison of 10,000 resources and the write.
// The median of nine is held to 250 ms.
// swapOne edits another file of the graph each round, so that no cache of one path serves all rounds.
func swapOne(b *bench) result {
	r, runs := swapping(b)
	var took []time.Duration
	others := 0
	for round := range 9 {
		odd, text := 1000*round+5, fmt.Sprintf("changed %d", round)
		path := filePath(b.dir, odd, inFile)
		begin := time.Now()
		graphFile(b.dir, odd, text)
		for {
			if got, err := os.ReadFile(path); err == nil && string(got) == text {
				break
			}
			time.Sleep(100 * time.Microsecond)
		}
		took = append(took, time.Since(begin))
		time.Sleep(200 * time.Millisecond)
		changed := []string{"file[" + path + "]"}
		if round > 0 { // the one of the round before goes back
			changed = append(changed, "file["+filePath(b.dir, odd-1000, inFile)+"]")
		}
		for _, id := range runs() {
			if !slices.Contains(changed, id) {
				others++
			}
		}
	}
	r.close()
	d := median(took)
	return result{Figure: fmt.Sprintf("%s, %d others ran", round(d), others), OK: d < 250*time.Millisecond && others == 0}
}

// A comment changes the bytes and not the graph: an engine that compared files would run
// all.
// swapNone replaces the graph file by one with the same meaning. No resource may be checked.
func swapNone(b *bench) result {
	r, runs := swapping(b)
	// Another comment makes it another file with the same graph.
	path := graphFile(b.dir, -1, "")
	text, err := os.ReadFile(path)
	must(err)
	begin := time.Now()
	must(os.WriteFile(path+".new", append([]byte("# again\n"), text...), 0o644))
	must(os.Rename(path+".new", path))
	select {
	case <-r.swapped:
	case <-time.After(10 * time.Second):
		panic("the swap did not come")
	}
	took := time.Since(begin)
	time.Sleep(300 * time.Millisecond)
	n := len(runs())
	r.close()
	return result{Figure: fmt.Sprintf("%s, %d ran", round(took), n), OK: n == 0}
}

// It shows how much of swapOne is the parser. It has no limit.
// readYAML measures the frontend alone: parsing, decoding and positions.
func readYAML(b *bench) result {
	must(os.MkdirAll(b.dir, 0o755))
	path := graphFile(b.dir, -1, "")
	var took []time.Duration
	for range 5 {
		begin := time.Now()
		env := gapi.Env{Registry: engine.DefaultRegistry, NoWatch: true}
		for _, err := range yaml.New(path, yaml.Options{}).Graphs(context.Background(), env) {
			must(err)
		}
		took = append(took, time.Since(begin))
	}
	return result{Figure: round(median(took)), OK: true}
}
