package docker

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// rig is one resource on the fakes.
type rig struct {
	t    *testing.T
	fake *enginetest.Fake
	res  engine.Res
}

func start(t *testing.T, res engine.Res, kind string) *rig {
	t.Helper()
	r := &rig{t: t, fake: enginetest.NewInit(t), res: res}
	res.SetKind(kind)
	if err := res.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := res.Init(r.fake.Init()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := res.Cleanup(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) apply() error {
	r.t.Helper()
	_, err := r.res.CheckApply(r.t.Context(), true)
	return err
}

func (r *rig) must() {
	r.t.Helper()
	if err := r.apply(); err != nil {
		r.t.Fatal(err)
	}
}

// fails has to fail with all of these in the error.
func (r *rig) fails(words ...string) {
	r.t.Helper()
	err := r.apply()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			r.t.Errorf("the error is %v, which lacks %q", err, w)
		}
	}
}

// watch starts Watch, and waits until it is armed.
func (r *rig) watch() {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.res.Watch(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	})
	r.fake.WaitRunning(r.t)
}

func web(d *fakeDaemon) *ContainerRes {
	r := &ContainerRes{State: Running, Image: "sleeper:1", Place: d.place()}
	r.SetName("web")
	return r
}

func img(d *fakeDaemon, name string) *ImageRes {
	r := &ImageRes{State: ImageExists, Place: d.place()}
	r.SetName(name)
	return r
}

// TestNoDaemon: its absence is said with what to do, and it is waited for.
func TestNoDaemon(t *testing.T) {
	d := newFakeDaemon(t)
	d.close()
	r := start(t, web(d), "docker_container")
	r.fails("there is no docker daemon at "+d.place().Host, "systemctl start docker")
	r.watch()
	d.listen(t)
	r.fake.Host().Touch(d.socket)
	r.fake.WaitEvent(t)
	r.must()
}

// TestDaemonGoesAndComes: the stream breaks, which is an event, as is that it is there
// again; what happens afterwards is seen.
func TestDaemonGoesAndComes(t *testing.T) {
	d := newFakeDaemon(t)
	r := start(t, web(d), "docker_container")
	r.must()
	r.watch()
	d.close()
	r.fake.WaitEvent(t)
	d.listen(t)
	r.fake.Host().Touch(d.socket)
	r.fake.WaitEvent(t)
	if err := r.apply(); err != nil { // the client's old connection is gone
		t.Fatal(err)
	}
	d.alter("web", "die", func(c *container.InspectResponse) { halt(c, container.StateExited) })
	r.fake.WaitEvent(t)
}

// TestSilence: a daemon that takes a call and does not answer fails it after a while.
func TestSilence(t *testing.T) {
	d := newFakeDaemon(t)
	res := web(d)
	res.wait = 4 * time.Second // a busy machine answers in that
	r := start(t, res, "docker_container")
	r.must()
	d.fail(func(_ http.ResponseWriter, req *http.Request, _ string) bool {
		<-req.Context().Done()
		return true
	})
	r.fails("has not answered within 4s")
	r.watch() // which says Running nevertheless
	d.fail(nil)
	r.fake.WaitEvent(t)
	r.must()
}

// TestServerError: what a daemon says of an error is handed on; half an answer is an error, and
// nothing is altered after either.
func TestServerError(t *testing.T) {
	d := newFakeDaemon(t)
	r := start(t, web(d), "docker_container")
	for name, fault := range map[string]func(http.ResponseWriter){
		"driver failed":  func(w http.ResponseWriter) { refuse(w, http.StatusInternalServerError, "driver failed") },
		"unexpected EOF": func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"Id":"12`)) },
		"is not all":     func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"Id":"12","Name":"/web"}`)) },
	} {
		d.fail(func(w http.ResponseWriter, _ *http.Request, path string) bool {
			if !strings.HasPrefix(path, "/containers/") {
				return false
			}
			fault(w)
			return true
		})
		r.fails(name)
		d.fail(nil)
		if calls := d.called(); len(calls) > 0 {
			t.Errorf("%s: %v", name, calls)
		}
	}
	r.must()
}

// TestPull: what goes wrong is said with a reason, the password is not, and what comes on the way
// is not logged.
func TestPull(t *testing.T) {
	d := newFakeDaemon(t)
	start(t, img(d, "nothing:1"), "docker_image").fails("nothing:1 can't be pulled: the registry has no such image, or it wants a login")

	d.password = "right"
	res := img(d, "web")
	res.Username, res.Password = "user", schema.NewSecret("wrong-7711")
	r := start(t, res, "docker_image")
	r.fails("wants a login", schema.Redacted)
	if err := r.apply(); strings.Contains(err.Error(), "wrong-7711") {
		t.Errorf("it shows the password: %v", err)
	}
	res.Password = schema.NewSecret("right")
	r.must()
	if sent, ok := r.fake.Sent().(*ImageSends); !ok || !strings.HasPrefix(sent.ID, "sha256:") || !strings.HasPrefix(sent.Digest, "web@sha256:") {
		t.Errorf("sent %+v", r.fake.Sent())
	}

	for text, hint := range map[string]string{
		"dial tcp: lookup registry-1.docker.io: no such host": "the daemon can't reach the registry",
		"manifest unknown": "no such image or tag",
		"toomanyrequests":  "web:2 can't be pulled: Error response",
	} {
		d.fail(func(w http.ResponseWriter, _ *http.Request, path string) bool {
			if path == "/images/create" {
				refuse(w, http.StatusInternalServerError, text)
			}
			return path == "/images/create"
		})
		start(t, img(d, "web:2"), "docker_image").fails(text, hint)
	}
}

// TestPullSaysWhatItGets: the change that tells of a new image is followed by its digest: the one of the name, or one that is not
// known before the pull.
func TestPullSaysWhatItGets(t *testing.T) {
	d := newFakeDaemon(t)
	sum := "sha256:" + strings.Repeat("7", 64)
	for name, want := range map[string]string{
		"web":        "state created digest: (none) -> (unknown)",
		"web@" + sum: "state created " + engine.Change{Field: "digest", To: "web@" + sum}.String(),
	} {
		res := img(d, name)
		res.Username, res.Password = "user", schema.NewSecret("canary-7711")
		r := start(t, res, "docker_image")
		if _, err := r.res.CheckApply(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range r.fake.Changes() {
			got = append(got, c.String())
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: a plan says %q, want %q", name, text, want)
		}
	}
	res := img(d, "web")
	r := start(t, res, "docker_image")
	r.must()
	got, err := res.Read(t.Context())
	sends, ok := r.fake.Sent().(*ImageSends)
	if err != nil || !ok || sends.Digest == "" || got.(*ImageRes).Digest != sends.Digest {
		t.Errorf("it reads %v, %v, and sent %v", got, err, sends)
	}
}

// TestPullBreaks: an error in the middle of a pull, and an answer that breaks off, are errors.
func TestPullBreaks(t *testing.T) {
	d := newFakeDaemon(t)
	for text, want := range map[string]string{
		`{"status":"Downloading"}{"errorDetail":{"message":"disk full"},"error":"disk full"}`: "disk full",
		`{"status":"Downl`:         "broke off",
		`{"status":"Downloading"}`: "was pulled, and is not there",
	} {
		d.fail(func(w http.ResponseWriter, _ *http.Request, path string) bool {
			if path == "/images/create" {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(text))
			}
			return path == "/images/create"
		})
		r := start(t, img(d, "web"), "docker_image")
		r.fails(want)
		for _, line := range r.fake.Logs() {
			if strings.Contains(line, "Downl") && !strings.Contains(line, "DEBUG") {
				t.Errorf("progress is logged: %s", line)
			}
		}
	}
}

// TestSlowPull: a pull may take longer than any other call, and ends with the context.
func TestSlowPull(t *testing.T) {
	d := newFakeDaemon(t)
	d.fail(func(w http.ResponseWriter, req *http.Request, path string) bool {
		if path != "/images/create" {
			return false
		}
		select {
		case <-req.Context().Done():
			return true
		case <-time.After(4500 * time.Millisecond):
			return false
		}
	})
	res := img(d, "web")
	res.wait = 4 * time.Second // a busy machine answers the other calls in that
	start(t, res, "docker_image").must()

	d.reset()
	d.fail(func(_ http.ResponseWriter, req *http.Request, path string) bool {
		if path == "/images/create" {
			<-req.Context().Done()
		}
		return path == "/images/create"
	})
	gone := errors.New("the graph is gone")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, gone)
	defer cancel()
	r := start(t, img(d, "web"), "docker_image")
	if _, err := r.res.CheckApply(ctx, true); !errors.Is(err, gone) {
		t.Errorf("the error is %v", err)
	}
}

// TestPullPolicy: never does not pull, always pulls where one is made, missing only where
// there is none.
func TestPullPolicy(t *testing.T) {
	for _, c := range []struct {
		pull, image string
		calls       int
		err         string
	}{
		{PullNever, "sleeper:2", 0, "pull is never"},
		{PullNever, "sleeper:1", 0, ""},
		{PullMissing, "sleeper:2", 1, ""},
		{PullMissing, "sleeper:1", 0, ""},
		{PullAlways, "sleeper:2", 1, ""},
		{"", "web", 1, ""},
	} {
		d := newFakeDaemon(t)
		res := web(d)
		res.Pull, res.Image = c.pull, c.image
		r := start(t, res, "docker_container")
		if c.err != "" {
			r.fails(c.err)
		} else {
			r.must()
			r.must()
		}
		pulls := slices.DeleteFunc(d.called(), func(s string) bool { return s != "post /images/create" })
		if len(pulls) != c.calls {
			t.Errorf("%s of %s pulls %d times, not %d", c.pull, c.image, len(pulls), c.calls)
		}
	}
}

// TestEndsAtOnce: a container that ends as soon as it is started is an error, and what it
// tells of itself is no reason to start it again; anything else is.
func TestEndsAtOnce(t *testing.T) {
	d := newFakeDaemon(t)
	d.ends["web"] = true
	r := start(t, web(d), "docker_container")
	r.watch()
	r.fails("ended at once with exit code 3", "docker logs web")
	d.locked(func() { d.tell(events.ContainerEventType, "die", "web") })
	d.locked(func() { d.tell(events.ContainerEventType, "exec_start", "web") })
	// What is told after those is seen after those.
	before := r.fake.EventCount()
	d.locked(func() { d.tell(events.ImageEventType, "tag", "web") })
	r.fake.WaitEvent(t)
	if n := r.fake.EventCount() - before; n != 1 {
		t.Errorf("%d events, and not one", n)
	}
	d.drop("web")
	r.fake.WaitEvent(t)
}

// TestEventDuringTry: what happens while a container is made is told when that has ended.
func TestEventDuringTry(t *testing.T) {
	d := newFakeDaemon(t)
	r := start(t, web(d), "docker_container")
	r.watch()
	var once atomic.Bool
	d.fail(func(_ http.ResponseWriter, _ *http.Request, path string) bool {
		if strings.HasSuffix(path, "/start") && once.CompareAndSwap(false, true) {
			d.drop("web")
		}
		return false
	})
	r.fails("No such container")
	r.fake.WaitEvent(t)
	r.must()
}

// TestAnotherDuringTry: a container that somebody else makes while ours is made takes the name
// away from it. That is told, though it is as the try has left it.
func TestAnotherDuringTry(t *testing.T) {
	d := newFakeDaemon(t)
	r := start(t, web(d), "docker_container")
	r.must()
	another := *d.containers["web"]
	another.ID = strings.Repeat("a", 64)
	d.drop("web")
	r = start(t, web(d), "docker_container")
	r.watch()
	var once atomic.Bool
	d.fail(func(_ http.ResponseWriter, _ *http.Request, path string) bool {
		if path == "/containers/create" && once.CompareAndSwap(false, true) {
			d.locked(func() {
				another.State = &container.State{Status: container.StateCreated}
				d.containers["web"], d.ids["web"] = &another, another.ID
				d.tell(events.ContainerEventType, "create", "web")
			})
		}
		return false
	})
	r.fails("the name is in use")
	r.fake.WaitEvent(t)
	r.must()
}

// TestOthersAreLeft: a container that somebody else has made is not replaced without force, nor
// touched at all.
func TestOthersAreLeft(t *testing.T) {
	d := newFakeDaemon(t)
	r := start(t, web(d), "docker_container")
	r.must()
	d.alter("web", "create", func(c *container.InspectResponse) { delete(c.Config.Labels, Label) })
	d.called()
	res := web(d)
	res.Env = []string{"A=1"}
	r = start(t, res, "docker_container")
	r.fails("mgmt has not made", "env", "force: true")
	if calls := d.called(); len(calls) > 0 {
		t.Errorf("%v", calls)
	}
	res.Force = true
	r.must()
	r.must()
	if d.containers["web"].Config.Labels[Label] == "" {
		t.Error("it was not replaced")
	}
}

// TestNotMade: where the new container can't be made, the old one has noticed nothing and
// nothing is left.
func TestNotMade(t *testing.T) {
	d := newFakeDaemon(t)
	start(t, web(d), "docker_container").must()
	before := d.snapshot(t, "")
	res := web(d)
	res.Networks = []string{"front", "nowhere"}
	res.Env = []string{"A=1"}
	start(t, res, "docker_container").fails("there is no network nowhere", "docker network create nowhere")

	res.Networks = []string{"front", "back"}
	d.fail(func(w http.ResponseWriter, _ *http.Request, path string) bool {
		if path == "/networks/back/connect" {
			refuse(w, http.StatusForbidden, "not that one")
		}
		return path == "/networks/back/connect"
	})
	start(t, res, "docker_container").fails("it can't be made", "not that one")
	after := d.snapshot(t, "")
	if len(after.Changed(before)) > 0 {
		t.Errorf("changed: %v", after.Changed(before))
	}
}

// TestLeftOver: what a killed run has left beside is removed, unless somebody else has made it.
func TestLeftOver(t *testing.T) {
	d := newFakeDaemon(t)
	start(t, web(d), "docker_container").must()
	beside := web(d)
	beside.SetName("web.mgmt-new")
	start(t, beside, "docker_container").must()
	res := web(d)
	res.Env = []string{"A=1"}
	start(t, res, "docker_container").must()
	if len(d.containers) != 1 || !slices.Contains(d.containers["web"].Config.Env, "A=1") {
		t.Errorf("there are %v", d.snapshot(t, ""))
	}
}

// TestSends: the ID, the image and the address are sent, and nothing of one that is gone.
func TestSends(t *testing.T) {
	d := newFakeDaemon(t)
	res := web(d)
	res.Networks = []string{"zone", "back"}
	r := start(t, res, "docker_container")
	r.must()
	c := d.containers["web"]
	want := ContainerSends{ID: c.ID, Image: c.Image, Address: c.NetworkSettings.Networks["zone"].IPAddress.String()}
	if got := r.fake.Sent().(*ContainerSends); *got != want {
		t.Errorf("sent %+v, not %+v", got, want)
	}
	res = web(d)
	res.State = Removed
	r = start(t, res, "docker_container")
	r.must()
	if got := r.fake.Sent().(*ContainerSends); *got != (ContainerSends{}) {
		t.Errorf("sent %+v of one that is gone", got)
	}
}

// TestUndoneIsNoEvent: what a try has made and removed again is no reason for the next one; that
// somebody removes another container of the name is.
func TestUndoneIsNoEvent(t *testing.T) {
	d := newFakeDaemon(t)
	res := web(d)
	res.Networks = []string{"front", "back"}
	r := start(t, res, "docker_container")
	r.watch()
	d.fail(func(w http.ResponseWriter, _ *http.Request, path string) bool {
		if path == "/networks/back/connect" {
			refuse(w, http.StatusForbidden, "not that one")
		}
		return path == "/networks/back/connect"
	})
	before := r.fake.EventCount()
	r.fails("not that one")
	d.locked(func() { d.tell(events.ImageEventType, "tag", "web") }) // is told after the others
	r.fake.WaitEvent(t)
	if n := r.fake.EventCount() - before; n != 1 {
		t.Errorf("%d events, and not one", n)
	}
	d.locked(func() {
		d.ids["web"] = "another"
		d.tell(events.ContainerEventType, "destroy", "web")
	})
	r.fake.WaitEvent(t)
}

// TestPullAlwaysOfAnother: what takes the place of a container is made of the newest image.
func TestPullAlwaysOfAnother(t *testing.T) {
	d := newFakeDaemon(t)
	start(t, web(d), "docker_container").must()
	d.registry["docker.io/library/sleeper:1"] = true
	res := web(d)
	res.Pull, res.Env = PullAlways, []string{"A=1"}
	r := start(t, res, "docker_container")
	d.called()
	r.must()
	if calls := d.called(); calls[0] != "post /images/create" {
		t.Errorf("it begins with %v", calls)
	}
}

// TestSocketIsWaitedFor: the next try comes as soon as the socket does, however long the
// pause has become.
func TestSocketIsWaitedFor(t *testing.T) {
	appears := make(chan struct{}, 1)
	appears <- struct{}{}
	if next := wait(t.Context(), appears, time.Hour); next != firstTry {
		t.Errorf("the next pause is %s", next)
	}
	if next := wait(t.Context(), nil, lastTry/1000); next != 2*lastTry/1000 {
		t.Errorf("the next pause is %s", next)
	}
}

// TestNotified: a notification restarts a container that runs, once, and no other.
func TestNotified(t *testing.T) {
	d := newFakeDaemon(t)
	r := start(t, web(d), "docker_container")
	r.must()
	d.called()
	r.fake.SetRefresh(true)
	r.must()
	if calls := d.called(); len(calls) != 1 || !strings.HasSuffix(calls[0], "/restart") {
		t.Errorf("%v", calls)
	}
	res := web(d)
	res.State = Stopped
	r = start(t, res, "docker_container")
	r.must()
	d.called()
	r.fake.SetRefresh(true)
	r.must()
	if calls := d.called(); len(calls) != 0 {
		t.Errorf("%v", calls)
	}
}

// TestPlaceBeforeTheEnvironment: the graph's version of the API counts, and without one that of the environment.
func TestPlaceBeforeTheEnvironment(t *testing.T) {
	t.Setenv("DOCKER_API_VERSION", "1.41")
	for given, want := range map[string]string{"v1.45": "1.45", "": "1.41"} {
		d, err := Place{APIVersion: given}.open(0)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.ClientVersion(); got != want {
			t.Errorf("apiversion %q gives %s, want %s", given, got, want)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPrintWithoutNetworks: a daemon that tells no networks of a container that has ended breaks nothing.
func TestPrintWithoutNetworks(t *testing.T) {
	c := &container.InspectResponse{ID: "x", State: &container.State{Status: "exited"}, Config: &container.Config{}, HostConfig: &container.HostConfig{}}
	if printOf(c) == "" {
		t.Error("a container that has ended has no print")
	}
}
