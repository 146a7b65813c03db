package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// need returns a program that a test cannot do without.
func need(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	say := t.Skipf
	if os.Getenv("CI") == "true" {
		say = t.Fatalf
	}
	say("NO PAGE IS TESTED: %s is missing; make check-tools installs it", names[0])
	return ""
}

var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("mgmt-web-test-%d", os.Getpid()))
	out, err := exec.Command("go", "-C", "..", "build", "-o", path, "./cmd/mgmt").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.Remove(filepath.Join(os.TempDir(), fmt.Sprintf("mgmt-web-test-%d", os.Getpid())))
	os.Exit(code)
}

// daemon is one that runs with a page.
type daemon struct {
	t       testing.TB
	program string
	dir     string // of the state, with the graph
	address string
	cmd     *exec.Cmd
}

// start runs a graph.
func start(t testing.TB, graph string) *daemon {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{t: t, program: path, dir: t.TempDir(), address: "127.0.0.1:0"}
	d.write(graph)
	d.run()
	t.Cleanup(func() { d.end() })
	return d
}

func (d *daemon) write(graph string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, "graph.yaml"), []byte(strings.ReplaceAll(graph, "DIR", d.dir)), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// run starts the daemon, at the address that it had before.
func (d *daemon) run() {
	d.t.Helper()
	d.cmd = exec.Command(d.program, "run", filepath.Join(d.dir, "graph.yaml"), "--prefix", filepath.Join(d.dir, "state"), "--web="+d.address, "--quiet", "--no-autogroup")
	d.cmd.Stderr = os.Stderr
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	u, err := url.Parse(d.link())
	if err != nil {
		d.t.Fatal(err)
	}
	d.address = u.Host
}

func (d *daemon) end() {
	if d.cmd != nil {
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		_ = d.cmd.Wait()
		d.cmd = nil
	}
}

// ask runs a verb.
func (d *daemon) ask(args ...string) (string, error) {
	cmd := exec.Command(d.program, append(args, "--prefix", filepath.Join(d.dir, "state"))...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// link asks for one until the daemon answers.
func (d *daemon) link(args ...string) string {
	d.t.Helper()
	var out string
	var err error
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if out, err = d.ask(append([]string{"web", "--open"}, args...)...); err == nil {
			return out
		}
	}
	d.t.Fatalf("there is no link: %v: %s", err, out)
	return ""
}

// page is an open page.
type page struct {
	t   testing.TB
	ctx context.Context

	mu     sync.Mutex
	faults []string // what the console and the network say that may not be
	host   string
}

// browser starts one browser for a test. Its pages share the cookies.
func browser(t testing.TB) context.Context {
	t.Helper()
	path := need(t, "chromium", "chromium-browser", "google-chrome")
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 800),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("lang", "en-GB"))
	ctx, end := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(end)
	ctx, end = chromedp.NewContext(ctx)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// open opens a page, and notes each error of its console and each request to another host.
func open(t testing.TB, in context.Context, link string, first ...chromedp.Action[chromedp.Void]) *page {
	t.Helper()
	ctx, end := chromedp.NewContext(in)
	t.Cleanup(end)
	ctx, end = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(end)
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{t: t, ctx: ctx, host: u.Host}
	fault := func(format string, args ...any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.faults = append(p.faults, fmt.Sprintf(format, args...))
	}
	err = chromedp.Listen(ctx, func(ev any) {
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			fault("exception: %s %v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
		case *log.EventEntryAdded:
			if e.Entry.Level == "error" && e.Entry.Source != "network" {
				fault("console: %s", e.Entry.Text)
			}
		case *network.EventRequestWillBeSent:
			if to, err := url.Parse(e.Request.URL); err != nil || to.Host != p.host && to.Scheme != "data" {
				fault("a request to %s", e.Request.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	call(p, log.Enable, cdp.Empty{})
	call(p, network.Enable, network.EnableParams{})
	p.do(append(first, chromedp.Navigate(link))...)
	p.until("document.querySelector('.link.live') !== null")
	return p
}

func (p *page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// call sends one command to the browser.
func call[P, R any](p *page, cmd cdp.Command[P, R], params P) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, cmd, params); err != nil {
		p.t.Fatal(err)
	}
}

// until waits for an expression to be true, also over a new load of the page.
func (p *page) until(expression string) {
	p.t.Helper()
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var yes bool
		if yes, err = chromedp.Run(p.ctx, chromedp.Evaluate[bool]("!!("+expression+")")); err == nil && yes {
			return
		}
	}
	p.shot("stuck")
	p.t.Fatalf("%s: %v\n%s\n%v", expression, err, p.text("body"), p.faults)
}

// text returns what an element shows.
func (p *page) text(selector string) string {
	p.t.Helper()
	return value[string](p, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}

// value evaluates an expression.
func value[T any](p *page, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// keys presses keys, one after the other.
func (p *page) keys(list ...string) {
	p.t.Helper()
	for _, k := range list {
		p.do(chromedp.KeyEvent(k))
	}
}

// tabTo presses Tab until the element with the focus fits.
func (p *page) tabTo(selector string) {
	p.t.Helper()
	for range 60 {
		p.keys(kb.Tab)
		if value[bool](p, fmt.Sprintf("document.activeElement?.matches(%q) ?? false", selector)) {
			return
		}
	}
	p.t.Fatalf("no Tab reaches %s", selector)
}

// well fails where the console has errors, or a request has left the host.
func (p *page) well() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		p.t.Error(f)
	}
}

// shot keeps a picture in the folder MGMT_SHOTS, for who looks at the page.
func (p *page) shot(name string) {
	p.t.Helper()
	dir := os.Getenv("MGMT_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		p.t.Error(err)
	}
}

// looks sets the width and the colours.
func (p *page) looks(width, height int64, scheme string) {
	p.t.Helper()
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 500})
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// small has each view something to show: a failure, what it blocks, a secret, and names that are no plain text.
const small = `
resources:
  file:
  - {name: DIR/a, content: "hello\nworld\n"}
  - {name: DIR/b, content: "b\n", meta: {labels: {tier: web}}}
  exec:
  - {name: bad, cmd: "false", meta: {retry: 0}}
  - {name: good, cmd: "true"}
  - {name: after, cmd: "true"}
  - {name: "<img src=x onerror=alert(1)>\u202e", cmd: "true"}
edges:
- {from: "file[DIR/a]", to: "exec[bad]"}
- {from: "exec[bad]", to: "exec[after]"}
- {from: "file[DIR/b]", to: "exec[good]"}
`
