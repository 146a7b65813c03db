package docker

import (
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/api/types/network"
	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestImageSuite(t *testing.T) {
	d := newFakeDaemon(t)
	enginetest.Run(t, enginetest.Suite{
		Kind:     "docker_image",
		Prepare:  func(*testing.T, string) { d.reset() },
		Snapshot: d.snapshot,
		New: func(*testing.T, string) engine.Res {
			r := &ImageRes{State: ImageExists, Username: "user", Password: schema.NewSecret("word"), Place: d.place()}
			r.SetName("sleeper:2")
			return r
		},
		Drifts: map[string]func(*testing.T, string){
			"removed": func(*testing.T, string) {
				d.locked(func() {
					delete(d.images, "docker.io/library/sleeper:2")
					d.tell(events.ImageEventType, "untag", "sleeper:2")
				})
			},
		},
	})
}

// full is a container of which everything is said.
func full(d *fakeDaemon) *ContainerRes {
	r := &ContainerRes{
		State: Running, Image: "sleeper:1", Pull: PullMissing, Entrypoint: []string{"/sleeper"}, Cmd: []string{"run", "long"},
		Env: []string{"A=1", "PATH=/sbin"}, SecretEnv: map[string]schema.Secret{"PASSWORD": schema.NewSecret("hidden")},
		User: "nobody:99", Workdir: "/srv", Hostname: "box", Ports: map[string]map[string]string{"tcp": {"80": "127.0.0.1:8080", "81": ""}, "udp": {"53": "53"}},
		Volumes: []string{"/srv/www:/www:ro", "data:/data"}, Networks: []string{"front", "back"}, Labels: map[string]string{"a": "b"},
		Restart: "on-failure:3", Memory: 64 << 20, StopTimeout: 3 * time.Second, Place: d.place(),
	}
	r.SetName("web")
	return r
}

func TestContainerSuite(t *testing.T) {
	d := newFakeDaemon(t)
	by := func(action string, f func(c *container.InspectResponse)) func(*testing.T, string) {
		return func(*testing.T, string) { d.alter("web", action, f) }
	}
	enginetest.Run(t, enginetest.Suite{
		Kind:        "docker_container",
		Prepare:     func(*testing.T, string) { d.reset() },
		Snapshot:    d.snapshot,
		New:         func(*testing.T, string) engine.Res { r := full(d); canonical(r); return r },
		ReadIgnores: []string{"entrypoint"}, // it is that of the image
		Received:    []string{"env"},
		Drifts: map[string]func(*testing.T, string){
			"removed":  func(*testing.T, string) { d.drop("web") },
			"killed":   by("die", func(c *container.InspectResponse) { halt(c, container.StateExited) }),
			"paused":   by("pause", func(c *container.InspectResponse) { c.State.Paused = true }),
			"updated":  by("update", func(c *container.InspectResponse) { c.HostConfig.Memory = 128 << 20 }),
			"policy":   by("update", func(c *container.InspectResponse) { c.HostConfig.RestartPolicy.Name = "always" }),
			"variable": by("create", func(c *container.InspectResponse) { c.Config.Env = append(c.Config.Env, "B=2") }),
			"secret": by("create", func(c *container.InspectResponse) {
				for i, e := range c.Config.Env {
					if strings.HasPrefix(e, "PASSWORD=") {
						c.Config.Env[i] = "PASSWORD=other"
					}
				}
			}),
			"port":    by("create", func(c *container.InspectResponse) { c.HostConfig.PortBindings = nil }),
			"command": by("create", func(c *container.InspectResponse) { c.Config.Cmd = []string{"other"} }),
			"renamed": func(*testing.T, string) {
				d.locked(func() {
					d.containers["elsewhere"] = d.containers["web"]
					d.containers["elsewhere"].Name = "/elsewhere"
					delete(d.containers, "web")
					d.tell(events.ContainerEventType, "rename", "web")
				})
			},
			"network": func(*testing.T, string) {
				d.locked(func() {
					delete(d.containers["web"].NetworkSettings.Networks, "back")
					d.tell(events.NetworkEventType, "disconnect", "back")
				})
			},
			"network more": func(*testing.T, string) {
				d.locked(func() {
					d.containers["web"].NetworkSettings.Networks["more"] = &network.EndpointSettings{}
					d.tell(events.NetworkEventType, "connect", "more")
				})
			},
			"image": func(*testing.T, string) {
				d.locked(func() {
					d.addImage("docker.io/library/sleeper:1")
					d.tell(events.ImageEventType, "tag", "sleeper:1")
				})
			},
		},
	})
}

// canonical puts lists into the order in which they are read.
func canonical(r *ContainerRes) {
	r.Networks = []string{"back", "front"}
	r.Entrypoint = nil
}
