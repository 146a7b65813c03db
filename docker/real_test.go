package docker_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/reactivegraph/mgmt"
	_ "github.com/reactivegraph/mgmt/docker"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// graphOf is a graph with one container, web.
func graphOf(d *realDaemon, lines ...string) string {
	var text strings.Builder
	text.WriteString("graph: docker\nresources:\n  docker_container:\n  - name: web\n    image: test/sleeper:1\n    host: " + d.host() + "\n    pull: never\n")
	for _, l := range lines {
		text.WriteString("    " + l + "\n")
	}
	return text.String()
}

// webLines say most of what a container can be asked for.
var webLines = []string{
	"env: [A=1]", "secret_env: {PASSWORD: hidden}", "cmd: [run, long]", "user: '0'", "hostname: box", `ports: {tcp: {80: ""}, udp: {53: ""}}`,
	"volumes: [data:/data]", "networks: [front, back]", "labels: {a: b}", "restart: unless-stopped", "memory: 64MiB", "stop_timeout: 3",
}

// driftedLines are those of a container that others change meanwhile: what they do in the middle
// of a repair may make it fail, and it is tried again.
var driftedLines = append(slices.Clone(webLines), "meta: {retry: -1, delay: 200}")

// engineRun is one engine at work on a graph file.
type engineRun struct {
	d    *realDaemon
	path string
	stop context.CancelFunc
	done chan error

	mu    sync.Mutex
	ran   []reactor.Run
	quiet bool
}

func (d *realDaemon) run(text string, noop bool) *engineRun {
	d.t.Helper()
	dir := d.t.TempDir()
	r := &engineRun{d: d, path: filepath.Join(dir, "graph.yaml"), done: make(chan error, 1)}
	r.graph(text)
	o := mgmt.Options{State: mgmt.StateIn(filepath.Join(dir, "state")), Strict: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	o.Observer = mgmt.Observer{
		Ran:       func(run reactor.Run) { r.mu.Lock(); r.ran = append(r.ran, run); r.mu.Unlock() },
		Converged: func(so bool, _ reactor.Counts) { r.mu.Lock(); r.quiet = so; r.mu.Unlock() },
	}
	if noop {
		o.Noop = reactor.NoopAll
	}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	e, err := mgmt.Open(ctx, o, yaml.New(r.path, yaml.Options{}))
	if err != nil {
		d.t.Fatal(err)
	}
	go func() { r.done <- e.Wait() }()
	d.t.Cleanup(r.end)
	return r
}

func (r *engineRun) graph(text string) {
	r.d.t.Helper()
	if err := os.WriteFile(r.path, []byte(text), 0o600); err != nil {
		r.d.t.Fatal(err)
	}
}

// end ends the engine; more than once does nothing.
func (r *engineRun) end() {
	if r.stop == nil {
		return
	}
	r.stop()
	r.stop = nil
	if err := <-r.done; err != nil {
		r.d.t.Errorf("Run: %v", err)
	}
	if r.d.t.Failed() {
		for _, run := range r.ran[max(0, len(r.ran)-5):] {
			r.d.t.Logf("%s: %s %v %v", run.Resource, run.State, run.Changes, run.Err)
		}
	}
}

// failed waits for an error that has this in it.
func (r *engineRun) failed(text string) {
	r.d.t.Helper()
	r.d.await("a failure: "+text, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return slices.ContainsFunc(r.ran, func(run reactor.Run) bool { return run.Err != nil && strings.Contains(run.Err.Error(), text) })
	})
}

// web returns the container; nil if there is none.
func (d *realDaemon) web() *container.InspectResponse {
	c, err := d.ContainerInspect(context.Background(), "web", client.ContainerInspectOptions{})
	if err != nil {
		return nil
	}
	return &c.Container
}

// right reports whether the container is as webLines say.
func (d *realDaemon) right() bool {
	c := d.web()
	if c == nil || !c.State.Running || c.State.Paused || c.State.Restarting {
		return false
	}
	i, err := d.ImageInspect(context.Background(), "test/sleeper:1")
	if err != nil || c.Image != i.ID {
		return false
	}
	has := c.NetworkSettings.Networks
	return len(has) == 2 && has["front"] != nil && has["back"] != nil && c.HostConfig.Memory == 64<<20 && c.HostConfig.RestartPolicy.Name == "unless-stopped" &&
		slices.Contains(c.Config.Env, "PASSWORD=hidden") && slices.Contains(c.Config.Env, "A=1") && slices.Equal(c.Config.Cmd, []string{"run", "long"}) &&
		c.Config.Hostname == "box" && *c.Config.StopTimeout == 3
}

// drifts are what somebody may do by hand. Each leaves a container that is not right.
func drifts(d *realDaemon, program string) map[string]func() error {
	ctx := context.Background()
	return map[string]func() error{
		"stop": func() error { _, err := d.ContainerStop(ctx, "web", client.ContainerStopOptions{}); return err },
		"kill": func() error {
			_, err := d.ContainerKill(ctx, "web", client.ContainerKillOptions{Signal: "KILL"})
			return err
		},
		"pause": func() error { _, err := d.ContainerPause(ctx, "web", client.ContainerPauseOptions{}); return err },
		"remove": func() error {
			_, err := d.ContainerRemove(ctx, "web", client.ContainerRemoveOptions{Force: true})
			return err
		},
		"rename": func() error {
			_, _ = d.ContainerRemove(ctx, "elsewhere", client.ContainerRemoveOptions{Force: true})
			_, err := d.ContainerRename(ctx, "web", client.ContainerRenameOptions{NewName: "elsewhere"})
			return err
		},
		"memory": func() error {
			_, err := d.ContainerUpdate(ctx, "web", client.ContainerUpdateOptions{Resources: &container.Resources{Memory: 32 << 20}})
			return err
		},
		"policy": func() error {
			_, err := d.ContainerUpdate(ctx, "web", client.ContainerUpdateOptions{RestartPolicy: &container.RestartPolicy{Name: "no"}})
			return err
		},
		"network": func() error {
			_, err := d.NetworkDisconnect(ctx, "back", client.NetworkDisconnectOptions{Container: "web"})
			return err
		},
		"another network": func() error {
			_, err := d.NetworkConnect(ctx, "bridge", client.NetworkConnectOptions{Container: "web"})
			return err
		},
		"image": func() error {
			d.load("test/sleeper:1", program, fmt.Sprintf("LABEL n=%d", time.Now().UnixNano()))
			return nil
		},
		"another container": func() error {
			if _, err := d.ContainerRemove(ctx, "web", client.ContainerRemoveOptions{Force: true}); err != nil {
				return err
			}
			c := container.Config{Image: "test/sleeper:1", Labels: map[string]string{"io.github.reactivegraph.mgmt": "made"}}
			_, err := d.ContainerCreate(ctx, client.ContainerCreateOptions{Name: "web", Config: &c})
			return err
		},
	}
}

// TestReal: a real daemon, and all that may happen to a container.
func TestReal(t *testing.T) {
	d := startDaemon(t)
	program := sleeper(t)
	d.load("test/sleeper:1", program)
	for _, n := range []string{"front", "back"} {
		if _, err := d.NetworkCreate(t.Context(), n, client.NetworkCreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []struct {
		name string
		test func(*realDaemon, string)
	}{
		{"noop", realNoop}, {"drifts", realDrifts}, {"random", realRandom}, {"edit", realEdit}, {"foreign", realForeign},
		{"image", realImage}, {"restart of the daemon", realRestart}, {"removed", realRemoved},
	} {
		t.Run(part.name, func(t *testing.T) {
			own := *d
			own.t = t
			part.test(&own, program)
			d.cmd = own.cmd
		})
	}
}

// inventory is all that the daemon has.
func (d *realDaemon) inventory() string {
	d.t.Helper()
	var all []string
	cs, err := d.ContainerList(d.t.Context(), client.ContainerListOptions{All: true})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, c := range cs.Items {
		all = append(all, c.ID+string(c.State))
	}
	is, err := d.ImageList(d.t.Context(), client.ImageListOptions{All: true})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, i := range is.Items {
		all = append(all, i.ID)
	}
	vs, err := d.VolumeList(d.t.Context(), client.VolumeListOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, v := range vs.Items {
		all = append(all, v.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// realNoop: what would be done is said, and nothing is done.
func realNoop(d *realDaemon, _ string) {
	before := d.inventory()
	r := d.run(graphOf(d, webLines...), true)
	d.await("it says that it would make it", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return slices.ContainsFunc(r.ran, func(run reactor.Run) bool {
			return run.State == resgraph.StateWouldChange && len(run.Changes) > 0 && run.Changes[0].Field == "state"
		})
	})
	r.end()
	if now := d.inventory(); now != before {
		d.t.Errorf("before: %s\nnow: %s", before, now)
	}
}

// realDrifts: from nothing, and then from each drift, it becomes right.
func realDrifts(d *realDaemon, program string) {
	begin := time.Now()
	d.run(graphOf(d, driftedLines...), false)
	d.await("it is made", d.right)
	d.t.Logf("made after %s", time.Since(begin).Round(time.Millisecond))
	all := drifts(d, program)
	for _, name := range []string{"stop", "kill", "pause", "remove", "rename", "memory", "policy", "network", "another network", "image", "another container"} {
		if err := all[name](); err != nil {
			d.t.Fatalf("%s: %v", name, err)
		}
		begin := time.Now()
		d.await("it is right after: "+name, d.right)
		d.t.Logf("%-18s right after %s", name, time.Since(begin).Round(time.Millisecond))
	}
}

// realRandom: many drifts, without a wait between them, end right.
func realRandom(d *realDaemon, program string) {
	r := d.run(graphOf(d, driftedLines...), false)
	d.await("it is right", d.right)
	all := drifts(d, program)
	names := []string{"kill", "pause", "remove", "memory", "policy", "network", "another network", "image"}
	seed := uint64(time.Now().UnixNano())
	d.t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	begin := time.Now()
	for range 100 {
		_ = all[names[rnd.IntN(len(names))]]() // may fail, as the container is just being repaired
	}
	d.await("it is right in the end", d.right)
	d.t.Logf("100 drifts, right after %s", time.Since(begin).Round(time.Millisecond))
	r.end()
}

// realEdit: an edit replaces the container, one that can't be made leaves the old one, and
// a command that ends is a failure that says so.
func realEdit(d *realDaemon, _ string) {
	r := d.run(graphOf(d, webLines...), false)
	d.await("it is right", d.right)
	id := d.web().ID
	r.graph(graphOf(d, "networks: [nowhere]", "env: [A=2]"))
	r.failed("nowhere")
	if c := d.web(); c == nil || c.ID != id || !c.State.Running {
		d.t.Error("a container that can't be made has cost the old one")
	}
	r.graph(graphOf(d, "cmd: [end]"))
	r.failed("exit code 3")
	r.graph(graphOf(d, "env: [A=2]"))
	d.await("it is the edited one", func() bool {
		c := d.web()
		return c != nil && c.State.Running && slices.Contains(c.Config.Env, "A=2") && slices.Contains(c.Config.Env, "FROM=image") && slices.Equal(c.Config.Cmd, []string{"run"})
	})
	if c, err := d.ContainerInspect(d.t.Context(), "web.mgmt-new", client.ContainerInspectOptions{}); err == nil {
		d.t.Errorf("%s was left", c.Container.Name)
	}
}

// realForeign: a container that somebody else has made is replaced with force only.
func realForeign(d *realDaemon, _ string) {
	ctx := d.t.Context()
	if _, err := d.ContainerRemove(ctx, "web", client.ContainerRemoveOptions{Force: true}); err != nil {
		d.t.Fatal(err)
	}
	made, err := d.ContainerCreate(ctx, client.ContainerCreateOptions{Name: "web", Config: &container.Config{Image: "test/sleeper:1"}})
	if err != nil {
		d.t.Fatal(err)
	}
	r := d.run(graphOf(d, "env: [A=2]"), false)
	r.failed("force: true")
	if c := d.web(); c == nil || c.ID != made.ID {
		d.t.Error("it was replaced")
	}
	r.graph(graphOf(d, "env: [A=2]", "force: true"))
	d.await("it is replaced with force", func() bool { c := d.web(); return c != nil && c.ID != made.ID && c.State.Running })
}

// realImage: an image is removed, what is not there can't be pulled without a network, and
// it is there again when somebody loads it.
func realImage(d *realDaemon, program string) {
	d.load("test/other:1", program)
	text := "graph: image\nresources:\n  docker_image:\n  - name: test/other:1\n    host: " + d.host() + "\n    state: "
	r := d.run(text+"absent\n", false)
	there := func() bool { _, err := d.ImageInspect(context.Background(), "test/other:1"); return err == nil }
	d.await("it is removed", func() bool { return !there() })
	d.load("test/other:1", program)
	d.await("it is removed again", func() bool { return !there() })
	r.graph(text + "exists\n")
	r.failed("the daemon can't reach the registry")
	d.load("test/other:1", program)
	d.await("it is right", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.ran[len(r.ran)-1].Err == nil
	})
}

// realRestart: a daemon that dies with its containers is waited for, and then all is made
// right.
func realRestart(d *realDaemon, _ string) {
	r := d.run(graphOf(d, "env: [A=2]"), false)
	d.await("it runs", func() bool { c := d.web(); return c != nil && c.State.Running })
	d.kill()
	d.await("the engine has nothing to do", func() bool { return d.web() == nil })
	begin := time.Now()
	d.start()
	d.await("it runs again", func() bool { c := d.web(); return c != nil && c.State.Running })
	d.t.Logf("right %s after the start of the daemon", time.Since(begin).Round(time.Millisecond))
	r.end()
}

// realRemoved: it is removed, and again when somebody makes it.
func realRemoved(d *realDaemon, _ string) {
	d.run(graphOf(d, "state: removed"), false)
	gone := func() bool { return d.web() == nil }
	d.await("it is gone", gone)
	if _, err := d.ContainerCreate(d.t.Context(), client.ContainerCreateOptions{Name: "web", Config: &container.Config{Image: "test/sleeper:1"}}); err != nil {
		d.t.Fatal(err)
	}
	d.await("it is gone again", gone)
}
