package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// canned is a daemon of 10,000 resources that sends so many events a second: the page is measured, and not the engine.
func canned(rate int) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(dist)))
	answer := func(path string, doc any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(doc) })
	}
	type object = map[string]any
	name := func(i int) string { return fmt.Sprintf("file[/srv/web%d/part%d/r%05d]", i%7, i%41, i) }
	var resources, nodes, edges []object
	for i := range 10000 {
		resources = append(resources, object{"resource": name(i), "state": "ok", "changes": 0})
		nodes = append(nodes, object{"data": object{"id": "n:" + name(i)}})
		if i > 9 {
			edges = append(edges, object{"data": object{"source": "n:" + name(i/10), "target": "n:" + name(i)}})
		}
	}
	answer("/login", object{"who": "ada", "steer": true, "token": "x", "until": time.Now()})
	answer("/session", object{"who": "ada", "steer": true, "until": time.Now()})
	answer("/v1/status", object{"session": "s", "same_since": 1, "generation": 1, "converged": true, "counts": object{"ok": 10000}, "resources": resources})
	answer("/v1/graph", object{"elements": object{"nodes": nodes, "edges": edges}})
	answer("/v1/log", object{"events": []object{{"id": 1, "at": time.Now(), "outcome": "started", "session": "s"}}})
	mux.HandleFunc("/v1/events", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		rc := http.NewResponseController(w)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		_ = rc.Flush()
		for id := 2; ; {
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
			}
			for range rate / 50 {
				text, _ := json.Marshal(object{"id": id, "at": time.Now(), "outcome": "changed", "session": "s", "run": id, "state": "ok", "resource": name(id % 10000), "by": "pid " + strconv.Itoa(id)})
				_, _ = fmt.Fprintf(w, "id: %d\nevent: changed\ndata: %s\n\n", id, text)
				id++
			}
			_ = rc.Flush()
		}
	})
	return mux
}

// TestFigures logs what the page costs. It judges nothing: the figures of docs/web.md come from a run of it on a quiet machine, with MGMT_FIGURES=1.
func TestFigures(t *testing.T) {
	if os.Getenv("MGMT_FIGURES") == "" {
		t.Skip("MGMT_FIGURES=1 measures")
	}
	in := browser(t)
	quiet, loud := httptest.NewServer(canned(0)), httptest.NewServer(canned(1000))
	t.Cleanup(quiet.CloseClientConnections)
	t.Cleanup(loud.CloseClientConnections)
	for range 3 {
		p := open(t, in, quiet.URL+"/#/list")
		p.until("document.querySelector('.rows') !== null")
		p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(quiet.URL+"/#/list"))
		p.until(`document.querySelector(".rows .row")`)
		t.Logf("searchable: %.0f ms after navigation", value[float64](p, `new Promise(done => { const input = document.querySelector("main input[type=search]"); input.value = "r09999"; input.dispatchEvent(new Event("input", {bubbles: true})); const look = () => document.querySelectorAll(".row").length === 1 ? done(performance.now()) : requestAnimationFrame(look); look() })`))
	}
	for _, view := range []string{"list", "log", "graph", "time"} {
		p := open(t, in, loud.URL+"/#/"+view)
		p.until("document.querySelector('.rows .row, .paper[data-placed]') !== null")
		t.Logf("%s, 1,000 events a second: %.1f frames a second, the slowest frame %.0f ms", view,
			value[float64](p, `new Promise(done => { const start = performance.now(); let n = 0, last = start; window.slowest = 0; const f = now => { n++; window.slowest = Math.max(window.slowest, now - last); last = now; if (now - start > 4000) done(n / (now - start) * 1000); else requestAnimationFrame(f) }; requestAnimationFrame(f) })`),
			value[float64](p, "window.slowest"))
		if view == "log" {
			t.Logf("an event is visible %.0f ms after it was sent, in the middle", value[float64](p, `new Promise(done => { const list = []; let last = ""; const f = () => { const at = document.querySelector(".row time")?.dateTime; if (at && at !== last) { last = at; list.push(Date.now() - new Date(at)) } if (list.length > 100) done(list.sort((a, b) => a - b)[50]); else requestAnimationFrame(f) }; requestAnimationFrame(f) })`))
		}
		_ = chromedp.Cancel(p.ctx)
	}
	for _, pages := range []int{0, 3} {
		d := start(t, many(300))
		for range pages {
			open(t, in, d.link())
		}
		time.Sleep(3 * time.Second)
		before := cpu(t, d.cmd.Process.Pid)
		time.Sleep(20 * time.Second)
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
		_, rss, _ := strings.Cut(string(status), "VmRSS:")
		rss, _, _ = strings.Cut(rss, "\n")
		t.Logf("%d open pages at rest: %s, %.2f %% of a core", pages, strings.TrimSpace(rss), float64(cpu(t, d.cmd.Process.Pid)-before)/20)
		d.end()
	}
}

// cpu returns the hundredths of seconds that a process has used.
func cpu(t *testing.T, pid int) (n int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))
	for _, f := range fields[11:13] {
		v, _ := strconv.Atoi(f)
		n += v
	}
	return n
}
