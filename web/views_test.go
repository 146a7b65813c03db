package main

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// views are the fragments of the addresses of the views, by names.
func views(resource string) map[string]string {
	return map[string]string{"graph": "graph", "list": "list", "time": "time", "log": "log", "hosts": "hosts", "resource": "resource/" + url.PathEscape(resource)}
}

// visit opens a view, and waits until it is whole.
func (p *page) visit(view string) {
	p.t.Helper()
	p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("void (location.hash = %q)", "#/"+view)))
	p.until("document.querySelector('main h1') !== null")
	if strings.HasPrefix(view, "graph") || view == "time" {
		p.until("document.querySelector('.paper')?.dataset.placed > 0")
	}
	if strings.HasPrefix(view, "resource") {
		p.until("document.querySelector('.runs') !== null")
	}
	value[bool](p, "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
}

// TestEverybody: axe finds nothing in any view, dark or light, wide or 320 pixels narrow; there nothing needs to be scrolled sideways.
func TestEverybody(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	root, err := exec.Command(need(t, "npm"), "root", "-g").Output()
	if err != nil {
		t.Fatal(err)
	}
	axe, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "axe-core", "axe.min.js"))
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("NO PAGE IS JUDGED: axe-core is missing; .ci/axe installs it")
	}
	if err != nil {
		t.Fatal(err)
	}
	d := start(t, small)
	p := open(t, browser(t), d.link())
	p.do(chromedp.Evaluate[chromedp.Void](string(axe) + ";void 0"))
	for _, look := range []struct {
		name          string
		width, height int64
	}{{"light", 1280, 800}, {"dark", 1280, 800}, {"light", 320, 640}, {"dark", 320, 640}} {
		p.looks(look.width, look.height, look.name)
		for name, view := range views("exec[bad]") {
			p.visit(view)
			p.shot(fmt.Sprintf("%s-%s-%d", name, look.name, look.width))
			if found := value[string](p, "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html + ' ' + n.failureSummary).join('; ')).join('\\n'))"); found != "" {
				t.Errorf("%s, %s, %d pixels: %s", name, look.name, look.width, found)
			}
			if wide := value[int](p, "document.documentElement.scrollWidth"); wide > int(look.width) {
				t.Errorf("%s is %d pixels wide, of %d", name, wide, look.width)
			}
		}
		p.visit("resource/" + url.PathEscape("exec[bad]"))
		p.do(chromedp.Evaluate[chromedp.Void]("[...document.querySelectorAll('.deeds button')].find(b => b.textContent === 'Pause').click()"))
		p.until("document.querySelector('dialog[open]') !== null")
		p.shot(fmt.Sprintf("dialog-%s-%d", look.name, look.width))
		if found := value[string](p, "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).join('; ')).join('\\n'))"); found != "" {
			t.Errorf("the dialog: %s", found)
		}
		p.keys(kb.Escape)
	}
	p.well()
}

// TestKeyboard: every view, and a pause with its reason, by the keyboard alone.
func TestKeyboard(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	d := start(t, small)
	p := open(t, browser(t), d.link())
	for _, view := range []string{"list", "time", "log", "hosts", "graph"} {
		p.tabTo("nav a[href='#/" + view + "']")
		p.keys(kb.Enter)
		p.until(fmt.Sprintf("location.hash === %q", "#/"+view))
		p.until("document.activeElement?.tagName === 'H1'")
	}
	p.until("document.querySelector('.paper')?.dataset.placed > 0")
	p.tabTo(".canvas")
	p.keys(kb.ArrowDown)
	p.until("document.querySelector('p.out[role=status]').innerText !== ''")
	first := p.text("p.out[role=status]")
	p.keys(kb.ArrowDown)
	p.until(fmt.Sprintf("document.querySelector('p.out[role=status]').innerText !== %q", first))
	if said := p.text("p.out[role=status]"); !strings.Contains(said, "after 1") {
		t.Errorf("down the edge it says %q, then %q", first, said)
	}
	p.keys(kb.Enter)
	p.until("location.hash.startsWith('#/resource/')")

	p.keys("/")
	p.until("document.activeElement?.type === 'search'")
	p.keys("b", "a", "d")
	p.until("document.querySelectorAll('.row').length === 1")
	p.tabTo(".rows")
	p.keys(kb.Enter)
	p.until("location.hash === '#/resource/exec%5Bbad%5D' && document.querySelector('.runs') !== null")
	if text := p.text("main"); !strings.Contains(text, "exit status 1") || !strings.Contains(text, "exec[after]") || !strings.Contains(text, "graph.yaml:") {
		t.Errorf("the resource has %s", text)
	}
	for _, deed := range []string{"pause", "resume"} {
		p.until("[...document.querySelectorAll('.deeds button')].some(b => b.textContent.toLowerCase() === '" + deed + "')")
		for {
			p.tabTo(".deeds button")
			if strings.EqualFold(value[string](p, "document.activeElement.textContent"), deed) {
				break
			}
		}
		p.keys(kb.Enter)
		p.until("document.activeElement?.name === 'reason'")
		for _, r := range "ticket " + deed {
			p.keys(string(r))
		}
		p.keys(kb.Enter)
		p.until("document.querySelector('dialog') === null")
	}
	out, err := d.ask("log", "--resource", "exec[bad]", "--outcome", "paused,resumed", "-o", "json")
	if err != nil {
		t.Fatal(err, out)
	}
	if !strings.Contains(out, "ticket pause") || !strings.Contains(out, "ticket resume") || !strings.Contains(out, ", in the page") {
		t.Errorf("the log has %s", out)
	}
	p.well()
}

// TestForeignText: names of the machine are shown as text, with what is invisible in them made visible.
func TestForeignText(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	d := start(t, small)
	p := open(t, browser(t), d.link())
	for _, view := range []string{"list", "log", "time", "graph", "resource/" + url.PathEscape("exec[<img src=x onerror=alert(1)>\u202e]")} {
		p.visit(view)
		if n := value[int](p, "document.querySelectorAll('main img').length"); n != 0 {
			t.Errorf("%s has made %d elements of a name", view, n)
		}
		text := p.text("main")
		if strings.Contains(text, "\u202e") || view != "graph" && view != "time" && !strings.Contains(text, `<img src=x onerror=alert(1)>\u202e`) {
			t.Errorf("%s shows %q", view, text)
		}
	}
	p.well()
}

// TestBreaks: a page whose daemon is killed says so, goes on by itself when it is back, and has missed nothing; its login lives on. One that has
// no right to steer has no buttons, and one whose login has ended says how to log in.
func TestBreaks(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	d := start(t, small)
	in := browser(t)
	p := open(t, in, d.link())
	p.visit("log")
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.cmd.Wait()
	p.until("document.querySelector('.link.broken') !== null && document.querySelector('.banner') !== null")
	p.shot("broken")
	d.write(strings.ReplaceAll(small, `"false"`, `"true"`))
	d.run()
	p.until("document.querySelector('.link.live') !== null && document.querySelector('.banner') === null")
	p.until("[...document.querySelectorAll('.row')].filter(r => r.textContent.includes('started')).length === 2")
	p.until("[...document.querySelectorAll('.counts a')].length === 1")
	if err := os.WriteFile(filepath.Join(d.dir, "a"), []byte("drift"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.until("[...document.querySelectorAll('.row')].some(r => r.textContent.includes('changed') && r.textContent.includes('/a]') && r.textContent.includes('after'))")
	p.visit("resource/" + url.PathEscape("file["+d.dir+"/a]"))
	p.until("document.querySelector('.diff') !== null")
	p.shot("diff")
	p.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('.who button').click()"))
	p.until("document.querySelector('.login') !== null")
	p.shot("login")
	reader := open(t, in, d.link("--read-only"))
	reader.visit("resource/" + url.PathEscape("exec[good]"))
	if n := value[int](reader, "document.querySelectorAll('.deeds button').length"); n != 0 {
		t.Errorf("who only reads has %d buttons", n)
	}
	reader.well()
}

// many returns a graph of so many files below a folder, of three modules' worth of folders, with a chain of commands over them.
func many(n int) string {
	var b strings.Builder
	b.WriteString("resources:\n  noop:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {name: web%d/part%d/r%05d}\n", i%7, i%41, i)
	}
	b.WriteString("edges:\n")
	for i := range n {
		if i >= 10 {
			fmt.Fprintf(&b, "- {from: \"noop[web%d/part%d/r%05d]\", to: \"noop[web%d/part%d/r%05d]\"}\n", (i/10)%7, (i/10)%41, i/10, i%7, i%41, i)
		}
	}
	return b.String()
}

// TestSizes: 10 vertices, 300 and 10,000 are drawn, searched and opened; groups open on demand, and what was there stays where it was.
func TestSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	in := browser(t)
	for _, n := range []int{10, 300, 10000} {
		d := start(t, many(n))
		p := open(t, in, d.link())
		p.visit("graph")
		time.Sleep(300 * time.Millisecond) // for the picture alone
		p.shot(fmt.Sprintf("graph-%d", n))
		p.visit("list")
		p.until(fmt.Sprintf("document.querySelector('main [role=status]').innerText.replace(/\\D/g, '') === '%d'", n))
		p.shot(fmt.Sprintf("list-%d", n))
		p.keys("/")
		p.until("document.activeElement?.type === 'search'")
		name := fmt.Sprintf("r%05d", n-1)
		p.do(chromedp.KeyEvent(name))
		p.until("document.querySelectorAll('.row').length === 1")
		id := fmt.Sprintf("noop[web%d/part%d/%s]", (n-1)%7, (n-1)%41, name)
		p.visit("graph/" + url.PathEscape(id))
		p.until(fmt.Sprintf("document.querySelector('p.out[role=status]').innerText.startsWith(%q)", id))
		time.Sleep(300 * time.Millisecond) // for the picture alone
		p.shot(fmt.Sprintf("graph-%d-one", n))
		p.well()
		d.end()
	}
}
