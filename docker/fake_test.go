package docker

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distribution/reference"
	imagespec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/api/types/image"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/system"

	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// fakeDaemon is a docker daemon that does as if, on a socket.
type fakeDaemon struct {
	socket string

	mu         sync.Mutex
	n          int // of things that were made
	images     map[string]*image.InspectResponse
	containers map[string]*container.InspectResponse // by name
	ids        map[string]string                     // of the last container of each name
	registry   map[string]bool                       // what can be pulled
	streams    map[chan events.Message]bool
	calls      []string
	fault      func(w http.ResponseWriter, r *http.Request, path string) bool // whether it has answered
	ends       map[string]bool                                                // containers that end at once
	password   string                                                         // what the registry wants; empty for none

	server *http.Server
}

func newFakeDaemon(t testing.TB) *fakeDaemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "docker") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	d := &fakeDaemon{socket: filepath.Join(dir, "sock")}
	d.reset()
	d.listen(t)
	t.Cleanup(func() {
		d.close()
		_ = os.RemoveAll(dir)
	})
	return d
}

func (d *fakeDaemon) place() Place { return Place{Host: "unix://" + d.socket} }

// reset makes it a daemon that has one image, sleeper:1, and can pull two others.
func (d *fakeDaemon) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.images, d.containers = map[string]*image.InspectResponse{}, map[string]*container.InspectResponse{}
	d.ids = map[string]string{}
	d.registry = map[string]bool{"docker.io/library/sleeper:2": true, "docker.io/library/web:latest": true}
	d.streams, d.calls, d.fault, d.ends, d.password = map[chan events.Message]bool{}, nil, nil, map[string]bool{}, ""
	d.addImage("docker.io/library/sleeper:1")
}

func (d *fakeDaemon) listen(t testing.TB) {
	t.Helper()
	l, err := net.Listen("unix", d.socket)
	if err != nil {
		t.Fatal(err)
	}
	d.server = &http.Server{Handler: d, ReadHeaderTimeout: time.Minute}
	go func(s *http.Server) { _ = s.Serve(l) }(d.server)
}

// close ends it with all connections, as a crash does.
func (d *fakeDaemon) close() { _ = d.server.Close() }

func (d *fakeDaemon) addImage(ref string) *image.InspectResponse {
	d.n++
	name, _ := reference.ParseNormalizedNamed(ref)
	i := &image.InspectResponse{
		ID: fmt.Sprintf("sha256:%064x", d.n), RepoTags: []string{reference.FamiliarString(name)},
		RepoDigests: []string{fmt.Sprintf("%s@sha256:%064x", reference.FamiliarName(name), d.n+1000)},
		Config:      &imagespec.DockerOCIImageConfig{},
	}
	i.Config.Entrypoint, i.Config.Cmd, i.Config.Env = []string{"/sleeper"}, []string{"run"}, []string{"PATH=/bin"}
	i.Config.Labels = map[string]string{"of": "image"}
	d.images[ref] = i
	return i
}

// locked runs f while nobody else sees the daemon.
func (d *fakeDaemon) locked(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// alter alters a container by hand, and tells of it.
func (d *fakeDaemon) alter(name, action string, f func(c *container.InspectResponse)) {
	d.locked(func() {
		f(d.containers[name])
		d.tell(events.ContainerEventType, action, name)
	})
}

// drop removes a container by hand.
func (d *fakeDaemon) drop(name string) {
	d.locked(func() {
		delete(d.containers, name)
		d.tell(events.ContainerEventType, "destroy", name)
	})
}

// fail has the daemon answer otherwise for a while; nil for no more.
func (d *fakeDaemon) fail(f func(w http.ResponseWriter, r *http.Request, path string) bool) {
	d.locked(func() { d.fault = f })
}

// called returns the calls that alter something, since the last time.
func (d *fakeDaemon) called() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	calls := d.calls
	d.calls = nil
	return calls
}

// snapshot is all that it has.
func (d *fakeDaemon) snapshot(testing.TB, string) enginetest.Tree {
	d.mu.Lock()
	defer d.mu.Unlock()
	tree := enginetest.Tree{}
	for ref, i := range d.images {
		tree["/image/"+ref] = asJSON(i)
	}
	for name, c := range d.containers {
		tree["/container/"+name] = asJSON(c)
	}
	return tree
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// tell tells of an event. The lock is held.
func (d *fakeDaemon) tell(kind events.Type, action, name string) {
	m := events.Message{Type: kind, Action: events.Action(action), Actor: events.Actor{ID: d.ids[name], Attributes: map[string]string{"name": name}}}
	for s := range d.streams {
		s <- m // large enough for every test
	}
}

var apiPath = regexp.MustCompile(`^/v1\.[0-9]+(/.*)$`)

// ServeHTTP is the API, as far as it is used.
func (d *fakeDaemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if m := apiPath.FindStringSubmatch(path); m != nil {
		path = m[1]
	}
	d.mu.Lock()
	fault := d.fault
	d.mu.Unlock()
	if fault != nil && fault(w, r, path) {
		return
	}
	if path == "/events" {
		d.serveEvents(w, r)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		d.calls = append(d.calls, strings.ToLower(r.Method)+" "+path)
	}
	d.serve(w, r, path)
}

func (d *fakeDaemon) serve(w http.ResponseWriter, r *http.Request, path string) {
	part := strings.Split(strings.TrimPrefix(path, "/"), "/")
	last := part[len(part)-1]
	switch {
	case path == "/_ping":
		w.Header().Set("Api-Version", "1.41")
	case path == "/info":
		answer(w, http.StatusOK, system.Info{SystemTime: time.Now().Format(time.RFC3339Nano)})
	case path == "/images/json":
		d.listImages(w)
	case path == "/images/create":
		d.pull(w, r)
	case part[0] == "images":
		d.serveImage(w, r, strings.TrimSuffix(strings.TrimPrefix(path, "/images/"), "/json"))
	case path == "/containers/json":
		d.listContainers(w)
	case path == "/containers/create":
		d.create(w, r)
	case part[0] == "containers":
		d.serveContainer(w, r, part[1], last)
	case part[0] == "networks":
		d.serveNetwork(w, r, part[1], last)
	default:
		refuse(w, http.StatusNotFound, "page not found")
	}
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, code int, text string) {
	answer(w, code, map[string]string{"message": text})
}

func (d *fakeDaemon) serveEvents(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("since") == "" {
		refuse(w, http.StatusBadRequest, "from now on may be too late")
		return
	}
	var filters map[string]map[string]bool
	_ = json.Unmarshal([]byte(r.URL.Query().Get("filters")), &filters)
	s := make(chan events.Message, 1000)
	d.locked(func() { d.streams[s] = true })
	defer d.locked(func() { delete(d.streams, s) })
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case m := <-s:
			if filters["type"][string(m.Type)] {
				_ = json.NewEncoder(w).Encode(m)
				_ = http.NewResponseController(w).Flush()
			}
		case <-r.Context().Done():
			return
		}
	}
}

func (d *fakeDaemon) listImages(w http.ResponseWriter) {
	list := []image.Summary{}
	for _, i := range d.images {
		list = append(list, image.Summary{ID: i.ID, RepoTags: i.RepoTags, RepoDigests: i.RepoDigests})
	}
	answer(w, http.StatusOK, list)
}

// find looks for an image by reference or ID.
func (d *fakeDaemon) find(name string) (string, *image.InspectResponse) {
	for ref, i := range d.images {
		if i.ID == name {
			return ref, i
		}
	}
	ref, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return "", nil
	}
	full := reference.TagNameOnly(ref).String()
	return full, d.images[full]
}

func (d *fakeDaemon) pull(w http.ResponseWriter, r *http.Request) {
	ref := r.URL.Query().Get("fromImage") + ":" + r.URL.Query().Get("tag")
	auth, _ := authconfig.Decode(r.Header.Get("X-Registry-Auth"))
	switch {
	case d.password != "" && (auth == nil || auth.Password != d.password):
		refuse(w, http.StatusUnauthorized, "unauthorized: authentication required, got "+auth.Password)
		return
	case !d.registry[ref]:
		refuse(w, http.StatusNotFound, "pull access denied for "+ref+", repository does not exist or may require 'docker login'")
		return
	}
	if _, ok := d.images[ref]; !ok {
		d.addImage(ref)
		d.tell(events.ImageEventType, "pull", ref)
	}
	answer(w, http.StatusOK, jsonstream.Message{ID: "layer", Status: "Downloading"})
}

func (d *fakeDaemon) serveImage(w http.ResponseWriter, r *http.Request, name string) {
	ref, i := d.find(name)
	switch {
	case i == nil:
		refuse(w, http.StatusNotFound, "No such image: "+name)
	case r.Method == http.MethodGet:
		answer(w, http.StatusOK, i)
	case d.used(i.ID) && r.URL.Query().Get("force") == "":
		refuse(w, http.StatusConflict, "conflict: unable to remove repository reference: container is using its referenced image")
	default:
		delete(d.images, ref)
		d.tell(events.ImageEventType, "untag", ref)
		answer(w, http.StatusOK, []image.DeleteResponse{{Untagged: ref}})
	}
}

func (d *fakeDaemon) used(id string) bool {
	for _, c := range d.containers {
		if c.Image == id {
			return true
		}
	}
	return false
}

func (d *fakeDaemon) listContainers(w http.ResponseWriter) {
	list := []container.Summary{}
	for name, c := range d.containers {
		list = append(list, container.Summary{ID: c.ID, Names: []string{"/" + name}})
	}
	answer(w, http.StatusOK, list)
}

func (d *fakeDaemon) create(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	var req container.CreateRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	_, i := d.find(req.Image)
	switch {
	case i == nil:
		refuse(w, http.StatusNotFound, "No such image: "+req.Image)
		return
	case d.containers[name] != nil:
		refuse(w, http.StatusConflict, "the name is in use")
		return
	}
	d.n++
	c := &container.InspectResponse{
		ID: fmt.Sprintf("%064x", d.n), Name: "/" + name, Image: i.ID, Config: req.Config, HostConfig: req.HostConfig,
		State: &container.State{Status: container.StateCreated}, NetworkSettings: &container.NetworkSettings{Networks: map[string]*network.EndpointSettings{}},
	}
	inherit(c, i)
	d.containers[name], d.ids[name] = c, c.ID
	d.tell(events.ContainerEventType, "create", name)
	answer(w, http.StatusCreated, container.CreateResponse{ID: c.ID})
}

// inherit fills in what the image says, and what the daemon makes up.
func inherit(c *container.InspectResponse, i *image.InspectResponse) {
	if len(c.Config.Entrypoint) == 0 {
		c.Config.Entrypoint = i.Config.Entrypoint
		if len(c.Config.Cmd) == 0 {
			c.Config.Cmd = i.Config.Cmd
		}
	}
	for _, e := range i.Config.Env {
		name, _, _ := strings.Cut(e, "=")
		if !slices.ContainsFunc(c.Config.Env, func(s string) bool { return strings.HasPrefix(s, name+"=") }) {
			c.Config.Env = append(c.Config.Env, e)
		}
	}
	labels := maps.Clone(i.Config.Labels)
	maps.Copy(labels, c.Config.Labels)
	c.Config.Labels = labels
	if c.Config.Hostname == "" {
		c.Config.Hostname = c.ID[:12]
	}
	mode := string(c.HostConfig.NetworkMode)
	if mode == "" {
		c.HostConfig.NetworkMode, mode = "default", "bridge"
	}
	c.NetworkSettings.Networks[mode] = &network.EndpointSettings{}
}

// byID looks for a container by name or ID.
func (d *fakeDaemon) byID(id string) (string, *container.InspectResponse) {
	for name, c := range d.containers {
		if name == id || strings.HasPrefix(c.ID, id) {
			return name, c
		}
	}
	return "", nil
}

func (d *fakeDaemon) serveContainer(w http.ResponseWriter, r *http.Request, id, verb string) {
	name, c := d.byID(id)
	if c == nil {
		refuse(w, http.StatusNotFound, "No such container: "+id)
		return
	}
	if r.Method == http.MethodGet {
		answer(w, http.StatusOK, c)
		return
	}
	if r.Method == http.MethodDelete {
		delete(d.containers, name)
		verb = "destroy"
	}
	switch verb {
	case "start", "restart":
		d.run(name, c)
	case "stop":
		halt(c, container.StateExited)
	case "unpause":
		c.State.Paused, c.State.Status = false, container.StateRunning
	case "update":
		var u container.UpdateConfig
		_ = json.NewDecoder(r.Body).Decode(&u)
		c.HostConfig.RestartPolicy = u.RestartPolicy
		if u.Memory != 0 {
			c.HostConfig.Memory = u.Memory
		}
		answer(w, http.StatusOK, container.UpdateResponse{})
	case "rename":
		delete(d.containers, name)
		name = r.URL.Query().Get("name")
		c.Name = "/" + name
		d.containers[name], d.ids[name] = c, c.ID
	}
	d.tell(events.ContainerEventType, verb, name)
	if verb != "update" {
		w.WriteHeader(http.StatusNoContent)
	}
}

func (d *fakeDaemon) run(name string, c *container.InspectResponse) {
	if d.ends[name] {
		halt(c, container.StateExited)
		c.State.ExitCode = 3
		return
	}
	d.n++ // it is another run
	c.State = &container.State{Status: container.StateRunning, Running: true, Pid: d.n}
	for i, n := range slices.Sorted(maps.Keys(c.NetworkSettings.Networks)) {
		c.NetworkSettings.Networks[n].IPAddress = netip.AddrFrom4([4]byte{172, 17, byte(i), 2})
	}
}

func halt(c *container.InspectResponse, s container.ContainerState) {
	c.State = &container.State{Status: s}
	for _, e := range c.NetworkSettings.Networks {
		e.IPAddress = netip.Addr{}
	}
}

func (d *fakeDaemon) serveNetwork(w http.ResponseWriter, r *http.Request, name, verb string) {
	if r.Method == http.MethodGet && name != "nowhere" {
		answer(w, http.StatusOK, network.Inspect{Network: network.Network{Name: name}})
		return
	}
	var req network.ConnectRequest
	_ = json.NewDecoder(r.Body).Decode(&req)
	_, c := d.byID(req.Container)
	if c == nil || name == "nowhere" {
		refuse(w, http.StatusNotFound, "network "+name+" not found")
		return
	}
	delete(c.NetworkSettings.Networks, name)
	if verb == "connect" {
		c.NetworkSettings.Networks[name] = &network.EndpointSettings{}
	}
	d.tell(events.NetworkEventType, verb, name)
	w.WriteHeader(http.StatusOK)
}
