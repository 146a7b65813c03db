package docker

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// container looks for a container by its exact name; nil if there is none. The daemon also
// answers to the beginning of an ID, and such an answer is another container: it counts as
// none.
func (d *daemon) container(ctx context.Context, name string) (*container.InspectResponse, error) {
	c, err := get(ctx, d, func(ctx context.Context) (client.ContainerInspectResult, error) {
		return d.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
	})
	if err != nil || c == nil || strings.TrimPrefix(c.Container.Name, "/") != name {
		return nil, err
	}
	// Parts that every later step reads must be there. A proxy or another product that leaves
	// them out gives an error here, and no panic further down.
	is := &c.Container
	if is.Config == nil || is.HostConfig == nil || is.State == nil {
		return nil, fmt.Errorf("what the docker daemon at %s tells of the container %s is not all", d.DaemonHost(), name)
	}
	return is, nil
}

// imageByID returns the image of a container by its ID (sha256:...). It is nil if the image was
// removed by force, which a running container outlives.
func (d *daemon) imageByID(ctx context.Context, id string) (*client.ImageInspectResult, error) {
	return get(ctx, d, func(ctx context.Context) (client.ImageInspectResult, error) {
		return d.ImageInspect(ctx, id)
	})
}

// stateOf is the state of a container in our words.
func stateOf(c *container.InspectResponse) string {
	switch {
	case c.State.Paused:
		return paused
	case c.State.Running:
		return Running
	}
	return Stopped
}

// create makes a container of a name, which does not run yet, and joins it to its networks.
// With an error the id is that of a container that was made all the same, or empty if there is
// none. The caller removes it.
func (d *daemon) create(ctx context.Context, name string, r *ContainerRes, want *spec) (id string, err error) {
	// Some daemons notice a missing network at the start only, when the old container is gone.
	for _, n := range r.Networks {
		if err := d.hasNetwork(ctx, n); err != nil {
			return "", err
		}
	}
	options := client.ContainerCreateOptions{Name: name, Config: r.config(want), HostConfig: want.hostConfig()}
	if len(r.Networks) > 0 {
		options.HostConfig.NetworkMode = container.NetworkMode(r.Networks[0])
	}
	err = d.ask(ctx, 0, func(ctx context.Context) error {
		c, err := d.ContainerCreate(ctx, options)
		id = c.ID
		return err
	})
	if err != nil {
		return "", err
	}
	// The first network goes with the call. The others are joined one by one, since the API
	// before v1.44 takes one network in a call.
	for _, n := range r.Networks[min(1, len(r.Networks)):] {
		if err := d.connect(ctx, id, n); err != nil {
			return id, err
		}
	}
	return id, nil
}

// config is the wanted configuration of the container. Fields of the image are not repeated:
// the daemon merges them in, and adds variables and labels to those of the image. It reveals
// the secrets of secret_env, so it may go to the daemon and nowhere else.
func (r *ContainerRes) config(want *spec) *container.Config {
	c := &container.Config{
		Image: r.Image, Entrypoint: r.Entrypoint, Cmd: r.Cmd, User: r.User, WorkingDir: r.Workdir, Hostname: r.Hostname,
		Labels: dict(r.Labels, map[string]string{Label: "made"}), ExposedPorts: network.PortSet{},
	}
	for name, value := range r.variables() {
		c.Env = append(c.Env, name+"="+value)
	}
	// Maps have no order. A sorted list makes two containers of one declaration equal.
	slices.Sort(c.Env)
	if r.StopTimeout > 0 {
		c.StopTimeout = new(int(r.StopTimeout / time.Second))
	}
	// Each published port is exposed too, as the command docker does it.
	for port := range want.portMap() {
		c.ExposedPorts[port] = struct{}{}
	}
	return c
}

// hostConfig is the part of a container that the daemon keeps apart from its image:
// volumes, ports, the restart policy and the limit of memory.
func (s *spec) hostConfig() *container.HostConfig {
	return &container.HostConfig{
		Binds: s.volumes, PortBindings: s.portMap(), RestartPolicy: restartPolicyOf(s.restart),
		Resources: container.Resources{Memory: int64(s.memory)},
	}
}

// portMap are the ports as the API has them. Validate has checked every text before. A text
// that does not parse can only come from a daemon; it is left out.
func (s *spec) portMap() network.PortMap {
	all := network.PortMap{}
	for proto, ports := range s.ports {
		for p, at := range ports {
			n, _ := strconv.ParseUint(p, 10, 16)
			port, ok := network.PortFrom(uint16(n), network.IPProtocol(proto))
			ip, hostPort, err := parseAddress(at)
			if ok && err == nil {
				all[port] = append(all[port], network.PortBinding{HostIP: ip, HostPort: hostPort})
			}
		}
	}
	return all
}

// hasNetwork refuses a missing network before a container is made for it. The error says
// how to make one, since networks are not managed here.
func (d *daemon) hasNetwork(ctx context.Context, name string) error {
	n, err := get(ctx, d, func(ctx context.Context) (client.NetworkInspectResult, error) {
		return d.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	})
	if err == nil && n == nil {
		err = fmt.Errorf("there is no network %s: make it (docker network create %s)", name, name)
	}
	return err
}

// connect joins a container to a network. A container that is in it already is an error of the
// daemon, so callers compare first.
func (d *daemon) connect(ctx context.Context, id, name string) error {
	return d.ask(ctx, 0, func(ctx context.Context) error {
		_, err := d.NetworkConnect(ctx, name, client.NetworkConnectOptions{Container: id})
		return err
	})
}

// disconnect takes a container out of a network.
func (d *daemon) disconnect(ctx context.Context, id, name string) error {
	return d.ask(ctx, 0, func(ctx context.Context) error {
		_, err := d.NetworkDisconnect(ctx, name, client.NetworkDisconnectOptions{Container: id})
		return err
	})
}

// update alters a container in place, also while it runs: the restart policy always, and the
// limit of memory if there is one. A limit can't be taken back this way, so differences calls
// that one not live.
func (d *daemon) update(ctx context.Context, id string, want *spec) error {
	policy := restartPolicyOf(want.restart)
	options := client.ContainerUpdateOptions{RestartPolicy: &policy}
	// The limit with swap has to rise with it: the daemon refuses a memory limit above the one
	// with swap. Twice the memory is docker's default for a new container.
	if want.memory > 0 {
		options.Resources = &container.Resources{Memory: int64(want.memory), MemorySwap: 2 * int64(want.memory)}
	}
	return d.ask(ctx, 0, func(ctx context.Context) error {
		_, err := d.ContainerUpdate(ctx, id, options)
		return err
	})
}

// start starts a container that is made. The call returns when its program has begun, and not
// when it is ready.
func (d *daemon) start(ctx context.Context, id string) error {
	return d.ask(ctx, 0, func(ctx context.Context) error {
		_, err := d.ContainerStart(ctx, id, client.ContainerStartOptions{})
		return err
	})
}

// unpause goes on with a container that was frozen. Its processes were not ended, so nothing in
// it is lost.
func (d *daemon) unpause(ctx context.Context, id string) error {
	return d.ask(ctx, 0, func(ctx context.Context) error {
		_, err := d.ContainerUnpause(ctx, id, client.ContainerUnpauseOptions{})
		return err
	})
}

// grace is how long a container may take to stop, before the daemon kills it. Docker's default
// is 10 s.
func grace(c *container.InspectResponse) time.Duration {
	if c.Config.StopTimeout != nil {
		return time.Duration(*c.Config.StopTimeout) * time.Second
	}
	return 10 * time.Second
}

// stop ends a container. The call lasts as long as the container may take to end by
// itself, so its bound grows by that.
func (d *daemon) stop(ctx context.Context, c *container.InspectResponse) error {
	return d.ask(ctx, grace(c), func(ctx context.Context) error {
		_, err := d.ContainerStop(ctx, c.ID, client.ContainerStopOptions{})
		return err
	})
}

// restart stops and starts a container, with the same bound as stop.
func (d *daemon) restart(ctx context.Context, c *container.InspectResponse) error {
	return d.ask(ctx, grace(c), func(ctx context.Context) error {
		_, err := d.ContainerRestart(ctx, c.ID, client.ContainerRestartOptions{})
		return err
	})
}

// remove stops a container, and removes it. Its volumes stay.
func (d *daemon) remove(ctx context.Context, c *container.InspectResponse) error {
	if c.State.Running {
		if err := d.stop(ctx, c); err != nil {
			return err
		}
	}
	return d.ask(ctx, 0, func(ctx context.Context) error {
		_, err := found(d.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true}))
		return err
	})
}

// rename gives a container another name; the old name is free at once. The ID stays, so events
// of the container are still known by it.
func (d *daemon) rename(ctx context.Context, id, name string) error {
	return d.ask(ctx, 0, func(ctx context.Context) error {
		_, err := d.ContainerRename(ctx, id, client.ContainerRenameOptions{NewName: name})
		return err
	})
}
