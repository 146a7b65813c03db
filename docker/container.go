package docker

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("docker_container", func() engine.Res { return &ContainerRes{} })
}

var (
	_ engine.EdgeableRes    = (*ContainerRes)(nil)
	_ engine.RecvableRes    = (*ContainerRes)(nil)
	_ engine.RefreshableRes = (*ContainerRes)(nil)
	_ engine.SendableRes    = (*ContainerRes)(nil)
	_ engine.ReversibleRes  = (*ContainerRes)(nil)
	_ engine.Readable       = (*ContainerRes)(nil)
	_ engine.Listable       = (*ContainerRes)(nil)
	_ engine.OverlappingRes = (*ContainerRes)(nil)
	_ engine.DescribedRes   = (*ContainerRes)(nil)
)

// The states of a container. Paused is only one to be found in.
const (
	// Running and Stopped leave a container of the daemon; Removed leaves none. A container
	// that docker starts again and again counts as running, until look finds that it is
	// restarting.
	Running = "running"
	Stopped = "stopped"
	Removed = "removed"

	// A graph can't ask for paused. A container that was found so is unpaused or stopped, and
	// Read tells it as stopped.
	paused = "paused"
)

// When an image is pulled.
const (
	PullMissing = "missing"
	PullAlways  = "always"
	PullNever   = "never"
)

// Label is on each container that this kind has made. Other containers are never replaced
// without force. Its presence counts, and its value (made) has no meaning. A graph can't set
// it, since Validate refuses it among Labels.
const Label = "io.github.reactivegraph.mgmt"

// ContainerRes is a container. Its name is that of the container.
type ContainerRes struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Recvable
	traits.Refreshable
	traits.Reversible
	traits.Sendable

	State       string                       `yaml:"state" lang:"state" mgmt:"enum=running|stopped|removed,absent=removed" doc:"Whether it runs, is there but does not run, or is not there; running if nothing is said."`
	Image       string                       `yaml:"image" lang:"image" doc:"The image that it is made of: NAME, NAME:TAG or NAME@sha256:DIGEST. Needed unless it is removed."`
	Pull        string                       `yaml:"pull" lang:"pull" mgmt:"param,enum=missing|always|never" doc:"When the image is pulled: if the daemon does not have it (which is what nothing means), each time that a container is made, or never."`
	Entrypoint  []string                     `yaml:"entrypoint" lang:"entrypoint" doc:"The program that runs in it; that of the image if absent."`
	Cmd         []string                     `yaml:"cmd" lang:"cmd" doc:"The arguments of the entrypoint, or the command where there is none. Those of the image if absent, or none if entrypoint is given."`
	Env         []string                     `yaml:"env" lang:"env" doc:"Variables, as NAME=VALUE, in addition to the image's own."`
	SecretEnv   map[string]schema.Secret     `yaml:"secret_env" lang:"secret_env" doc:"More variables, by name, whose values are shown nowhere by mgmt. Users who may speak with the daemon can see them."`
	User        string                       `yaml:"user" lang:"user" doc:"The user that runs it: USER, or USER:GROUP, by name or number; that of the image if absent."`
	Workdir     string                       `yaml:"workdir" lang:"workdir" doc:"The folder that it starts in; that of the image if absent."`
	Hostname    string                       `yaml:"hostname" lang:"hostname" doc:"The name of its machine as it sees it; docker makes one if absent."`
	Ports       map[string]map[string]string `yaml:"ports" lang:"ports" doc:"The published ports: protocol (tcp, udp, sctp), then port of the container, then where: PORT or IP:PORT of this machine, empty for any port that is free."`
	Volumes     []string                     `yaml:"volumes" lang:"volumes" doc:"The mounts: SOURCE:TARGET or SOURCE:TARGET:ro; the source is an absolute path, where docker makes a folder if there is nothing, or the name of a volume, which is made."`
	Networks    []string                     `yaml:"networks" lang:"networks" doc:"The networks that it is in, or host, or none, alone; the bridge of docker if absent."`
	Labels      map[string]string            `yaml:"labels" lang:"labels" doc:"Labels in addition to the image's own."`
	Restart     string                       `yaml:"restart" lang:"restart" doc:"The reaction of the daemon if it ends: no, always, unless-stopped, on-failure or on-failure:TIMES; no if absent."`
	Memory      schema.Size                  `yaml:"memory" lang:"memory" doc:"How much memory it may use, at least 6MiB; without a limit if absent."`
	StopTimeout time.Duration                `yaml:"stop_timeout" lang:"stop_timeout" mgmt:"min=0s" doc:"How long it may take to end before it is killed, in whole seconds; 10 seconds if absent."`
	Force       bool                         `yaml:"force" lang:"force" mgmt:"param" doc:"Replace also a container that mgmt has not made."`

	// Place is not compared with the daemon's answers: it says which daemon is asked.
	Place `yaml:",inline"`

	// Init sets these, and Cleanup closes the daemon. Watch and CheckApply use all of them at
	// the same time: the client and tries are safe for that.
	init   *engine.Init
	daemon *daemon
	tries  *tries
	wait   time.Duration // for the daemon to answer, in tests; else 0
}

// ContainerSends is sent by each run that leaves the container right, changed or not. A removed
// container sends empty texts, so that receivers forget the old ones.
type ContainerSends struct {
	ID      string `yaml:"id" doc:"Its ID; empty if it is removed."`
	Image   string `yaml:"image" doc:"The ID of the image that it was made of."`
	Address string `yaml:"address" doc:"Its address in the first network that it has one in; empty if it does not run."`
}

// Default returns a container that runs, and whose image is pulled if it is missing. An absent
// field stands for the image's value or docker's default; want fills it in.
func (r *ContainerRes) Default() engine.Res { return &ContainerRes{State: Running, Pull: PullMissing} }

// Sends says what is sent.
func (*ContainerRes) Sends() any { return &ContainerSends{} }

// removed reports whether the container should not be there.
func (r *ContainerRes) removed() bool { return r.State == Removed }

// state is the state that is wanted; a resource made in Go without one means Running.
func (r *ContainerRes) state() string {
	if r.State == "" {
		return Running
	}
	return r.State
}

// Init keeps the handle and makes the way to the daemon. It asks the daemon nothing, so a graph
// loads on a machine whose daemon is down; Watch and CheckApply report that. It touches neither
// the system nor VarDir, as traits.Overlapping promises.
func (r *ContainerRes) Init(init *engine.Init) (err error) {
	r.init, r.tries = init, newTries()
	r.daemon, err = r.open(r.wait)
	return err
}

// Cleanup closes the connections to the daemon.
func (r *ContainerRes) Cleanup() error { return r.daemon.Close() }

// Watch wakes the resource at events of the container, of images and of networks. A new image
// under the wanted tag and a network that was left are drift too. Without a daemon, Watch says
// Running and waits for one. It returns when ctx ends.
func (r *ContainerRes) Watch(ctx context.Context) error {
	return r.daemon.watch(ctx, watcher{
		init: r.init, types: []events.Type{events.ContainerEventType, events.ImageEventType, events.NetworkEventType},
		tell: r.tell(ctx), over: r.tries.over,
	})
}

// Cmp compares the parameters.
func (r *ContainerRes) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }

// Read returns the container as it is; nil if there is none.
func (r *ContainerRes) Read(ctx context.Context) (engine.Res, error) {
	return r.read(ctx, r.Name())
}

// read makes a resource of the daemon's description of a container; nil if there is none.
// Fields that are as in the image are left out, so that an import writes short graphs.
// Variables that env of r does not name become secret_env.
func (r *ContainerRes) read(ctx context.Context, name string) (engine.Res, error) {
	c, err := r.daemon.container(ctx, name)
	if err != nil || c == nil {
		return nil, err
	}
	img, err := r.daemon.imageByID(ctx, c.Image)
	if err != nil {
		return nil, err
	}
	is := r.as(specOf(c), specOfImage(img))
	is.State, is.Image, is.Place = stateOf(c), c.Config.Image, r.Place
	// A state that a graph can't have would make the read resource invalid.
	if is.State == paused {
		is.State = Stopped
	}
	is.SetKind(r.Kind())
	is.SetName(name)
	return is, nil
}

// List yields all containers, sorted by name, the stopped ones too. It asks the daemon two
// times for each container. A container that vanishes meanwhile is left out; an error is
// yielded in its place, and the reader decides whether to go on.
func (r *ContainerRes) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		names, err := r.names(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, name := range names {
			is, err := r.read(ctx, name)
			if (is != nil || err != nil) && !yield(is, err) {
				return
			}
		}
	}
}

// names lists all containers of the daemon, stopped ones too, by their names without the
// slash.
func (r *ContainerRes) names(ctx context.Context) ([]string, error) {
	all, err := get(ctx, r.daemon, func(ctx context.Context) (client.ContainerListResult, error) {
		return r.daemon.ContainerList(ctx, client.ContainerListOptions{All: true})
	})
	if err != nil {
		return nil, err
	}
	// The list itself was not found (404): the program behind the address speaks another
	// protocol.
	if all == nil {
		return nil, errNoDaemon
	}
	var names []string
	for _, c := range all.Items {
		for _, n := range c.Names {
			if n = strings.TrimPrefix(n, "/"); !strings.Contains(n, "/") { // a slash is in the names of links
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// Reversed removes a container that was not there, and gives a present one its old state back.
// A removed container can't be brought back, and neither can a container that was replaced with
// another image. The error says that the contents are lost. The undo keeps all other fields of
// r, and shares no handle with it.
func (r *ContainerRes) Reversed(before engine.Res) (engine.Res, error) {
	undo := *r
	undo.Base, undo.init, undo.daemon, undo.tries = traits.Base{}, nil, nil, nil
	undo.State = Removed
	if was, ok := before.(*ContainerRes); ok && was != nil {
		if r.removed() {
			return nil, errors.New("a container that is removed can't be brought back: what was in it is gone")
		}
		undo.State = was.State
		if was.Image != r.Image {
			return nil, fmt.Errorf("it was a container of %s: what was in it is gone once it is replaced", was.Image)
		}
	}
	undo.SetKind(r.Kind())
	undo.SetName(r.Name())
	return &undo, nil
}
