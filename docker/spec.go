package docker

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// spec is a container as far as resources speak of it. It has one form, whether it comes from
// the daemon, from an image, or from the wanted state. Lists and maps that are empty are nil,
// so that reflect.DeepEqual compares two of them. A spec is never altered after it was made,
// and it may share lists with another one.
type spec struct {
	// The ID of the image, and not its name: a moved tag is a difference.
	image      string
	entrypoint []string
	cmd        []string
	// All variables with their values, secrets too: a spec is never logged.
	env      map[string]string
	user     string
	workdir  string
	hostname string
	ports    map[string]map[string]string
	volumes  []string // sorted
	networks []string // sorted
	labels   map[string]string
	restart  string
	// In bytes; without a limit it is 0.
	memory schema.Size
	// In whole seconds; 0 if nothing is said.
	stop time.Duration
}

// specOf is the container that the daemon tells of. It has the values of the image in it: the
// daemon does not tell which of them were given with the container.
func specOf(c *container.InspectResponse) *spec {
	s := &spec{
		image: c.Image, entrypoint: list(c.Config.Entrypoint), cmd: list(c.Config.Cmd), env: envOf(c.Config.Env),
		user: c.Config.User, workdir: c.Config.WorkingDir, hostname: c.Config.Hostname, labels: dict(c.Config.Labels),
		ports: portsOf(c.HostConfig.PortBindings), volumes: volumesOf(c.HostConfig.Binds), networks: networksOf(c),
		restart: restartOf(c.HostConfig.RestartPolicy), memory: schema.Size(c.HostConfig.Memory),
	}
	if strings.HasPrefix(c.ID, s.hostname) || slices.Equal(s.networks, []string{"host"}) {
		s.hostname = "" // that is docker's choice
	}
	if c.Config.StopTimeout != nil {
		s.stop = time.Duration(*c.Config.StopTimeout) * time.Second
	}
	return s
}

// specOfImage is a container of an image without further settings. Nil stands for an unknown
// image, and gives docker's defaults alone.
func specOfImage(i *client.ImageInspectResult) *spec {
	s := &spec{networks: []string{"bridge"}, restart: "no"}
	if i == nil {
		return s
	}
	s.image = i.ID
	if i.Config == nil {
		return s
	}
	s.entrypoint, s.cmd, s.env = list(i.Config.Entrypoint), list(i.Config.Cmd), envOf(i.Config.Env)
	s.user, s.workdir, s.labels = i.Config.User, i.Config.WorkingDir, dict(i.Config.Labels)
	return s
}

// want is the container that the resource wants, made of an image. Each absent parameter takes
// the image's value, or docker's default. It does not alter image.
func (r *ContainerRes) want(image *spec) *spec {
	s := *image
	switch {
	// Docker drops the arguments of the image where another entrypoint is given.
	case len(r.Entrypoint) > 0:
		s.entrypoint, s.cmd = list(r.Entrypoint), list(r.Cmd)
	case len(r.Cmd) > 0:
		s.cmd = list(r.Cmd)
	}
	s.env = dict(image.env, r.variables())
	s.labels = dict(image.labels, r.Labels, map[string]string{Label: "made"})
	s.user, s.workdir, s.hostname = or(r.User, s.user), or(r.Workdir, s.workdir), r.Hostname
	if slices.Equal(r.Networks, []string{"host"}) {
		s.hostname = "" // the host's name, if nothing was said when it was made; as specOf
	}
	s.ports, s.volumes = r.ports(), volumesOf(r.Volumes)
	if len(r.Networks) > 0 {
		s.networks = slices.Sorted(slices.Values(r.Networks))
	}
	s.restart, s.memory, s.stop = or(r.Restart, "no"), r.Memory, r.StopTimeout
	return &s
}

// as is the resource of a container, without the fields of its image, and without docker's own
// defaults. A resource made of it wants the container as it is. Variables that r.Env does not
// name are secrets, since any of them may be one.
func (r *ContainerRes) as(is, image *spec) *ContainerRes {
	res := &ContainerRes{Pull: PullMissing, Hostname: is.hostname, Ports: is.ports, Volumes: is.volumes, Memory: is.memory, StopTimeout: is.stop}
	if !slices.Equal(is.entrypoint, image.entrypoint) || !slices.Equal(is.cmd, image.cmd) {
		res.Cmd = is.cmd
	}
	if !slices.Equal(is.entrypoint, image.entrypoint) || len(is.cmd) < min(1, len(image.cmd)) { // only that has no cmd
		res.Entrypoint = is.entrypoint
	}
	res.User, res.Workdir, res.Restart = unless(is.user, image.user), unless(is.workdir, image.workdir), unless(is.restart, image.restart)
	if !slices.Equal(is.networks, image.networks) {
		res.Networks = is.networks
	}
	res.Labels = beyond(is.labels, image.labels)
	delete(res.Labels, Label)
	res.Labels = dict(res.Labels)
	for _, name := range slices.Sorted(maps.Keys(beyond(is.env, image.env))) {
		if r.named(name) {
			res.Env = append(res.Env, name+"="+is.env[name])
			continue
		}
		if res.SecretEnv == nil {
			res.SecretEnv = map[string]schema.Secret{}
		}
		res.SecretEnv[name] = schema.NewSecret(is.env[name])
	}
	return res
}

// named reports whether env names a variable.
func (r *ContainerRes) named(name string) bool {
	return slices.ContainsFunc(r.Env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
}

// variables are all that are asked for, the revealed secrets among them. Validate refuses a
// name in both.
func (r *ContainerRes) variables() map[string]string {
	all := envOf(r.Env)
	for name, value := range r.SecretEnv {
		all = dict(all, map[string]string{name: value.Reveal()})
	}
	return all
}

// ports are the ports that were asked for, in the one form that publish writes.
func (r *ContainerRes) ports() map[string]map[string]string {
	var all map[string]map[string]string
	for proto, ports := range r.Ports {
		for port, at := range ports {
			ip, p, _ := parseAddress(at) // checked by Validate
			all = publish(all, proto, port, ip, p)
		}
	}
	return all
}

// publish adds one port to a map of them, and returns the map, which it makes if it is nil.
func publish(all map[string]map[string]string, proto, port string, ip netip.Addr, at string) map[string]map[string]string {
	if all == nil {
		all = map[string]map[string]string{}
	}
	if all[proto] == nil {
		all[proto] = map[string]string{}
	}
	switch {
	case ip.Is6():
		at = "[" + ip.String() + "]:" + at
	case ip.IsValid():
		at = ip.String() + ":" + at
	}
	if was, ok := all[proto][port]; ok { // by hand it can be published twice
		at = was + "," + at
	}
	all[proto][port] = at
	return all
}

// portsOf reads the published ports as the declaration writes them, to compare the two.
func portsOf(m network.PortMap) (all map[string]map[string]string) {
	for port, at := range m {
		for _, b := range at {
			all = publish(all, string(port.Proto()), strconv.Itoa(int(port.Num())), b.HostIP, b.HostPort)
		}
	}
	return all
}

// networksOf are the networks that a container is in. Docker names its default one in
// several ways.
func networksOf(c *container.InspectResponse) []string {
	mode := string(c.HostConfig.NetworkMode)
	if c.NetworkSettings == nil || alone(mode) {
		return []string{or(mode, "bridge")}
	}
	var all []string
	for name := range c.NetworkSettings.Networks {
		if (mode == "default" || mode == "") && (name == "none" || name == "default") {
			name = "bridge"
		}
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// volumesOf reads volumes in canonical form, sorted. An entry in an unknown form stays as it
// is: it differs then, and shows up in the change.
func volumesOf(binds []string) []string {
	var all []string
	for _, s := range binds {
		if b, err := parseBind(s); err == nil {
			s = b.String()
		}
		all = append(all, s)
	}
	slices.Sort(all)
	return all
}

// restartOf writes a restart policy as the declaration does: a word, and the number of
// tries behind a colon.
func restartOf(p container.RestartPolicy) string {
	if p.MaximumRetryCount > 0 {
		return fmt.Sprintf("%s:%d", p.Name, p.MaximumRetryCount)
	}
	return or(string(p.Name), "no")
}

// restartPolicyOf reads such a policy; validation has checked it.
func restartPolicyOf(s string) container.RestartPolicy {
	name, times, _ := strings.Cut(s, ":")
	n, _ := strconv.Atoi(times)
	return container.RestartPolicy{Name: container.RestartPolicyMode(name), MaximumRetryCount: n}
}

// envOf reads NAME=value; the last of equal names wins, as in the daemon.
func envOf(entries []string) (all map[string]string) {
	for _, e := range entries {
		name, value, _ := strings.Cut(e, "=")
		all = dict(all, map[string]string{name: value})
	}
	return all
}

// or returns a, or b where a is empty.
func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// unless returns a, or nothing where it is b: the value that the image gives by itself.
func unless(a, b string) string {
	if a == b {
		return ""
	}
	return a
}

// list copies a list, so that the caller's own stays untouched.
func list(l []string) []string { return append([]string(nil), l...) }

// dict is a new map of all that are in maps, the last of each name; nil if there are none.
func dict(of ...map[string]string) map[string]string {
	var all map[string]string
	for _, m := range of {
		for k, v := range m {
			if all == nil {
				all = map[string]string{}
			}
			all[k] = v
		}
	}
	return all
}

// beyond is what is in a map and not so in another one.
func beyond(a, b map[string]string) map[string]string {
	more := map[string]string{}
	for k, v := range a {
		if was, ok := b[k]; !ok || was != v {
			more[k] = v
		}
	}
	return more
}

// difference is one parameter in which two containers are not the same. A secret is not among
// its values.
type difference struct {
	field    string
	from, to any
	// It can be altered while the container runs; see alter. Any other one needs a new
	// container.
	live bool
}

// differences compares a container with the wanted one, field by field, in the order of the
// parameters. No value of a secret is in the result: shown hides those of secret_env.
func (r *ContainerRes) differences(is, want *spec) []difference {
	var all []difference
	add := func(field string, from, to any, live bool) {
		if !reflect.DeepEqual(from, to) {
			all = append(all, difference{field, from, to, live})
		}
	}
	add("image", is.image, want.image, false)
	add("entrypoint", is.entrypoint, want.entrypoint, false)
	add("cmd", is.cmd, want.cmd, false)
	add("env", r.shown(is.env), r.shown(want.env), false)
	// The names are the same, and so are all values that may be shown: only a secret differs.
	if !maps.Equal(is.env, want.env) && reflect.DeepEqual(r.shown(is.env), r.shown(want.env)) {
		all = append(all, difference{field: "secret_env", from: schema.NewSecret("before"), to: schema.NewSecret("now")})
	}
	add("user", is.user, want.user, false)
	add("workdir", is.workdir, want.workdir, false)
	add("hostname", is.hostname, want.hostname, false)
	add("ports", is.ports, want.ports, false)
	add("volumes", is.volumes, want.volumes, false)
	// A container with the network host or none can't join others while it lives.
	add("networks", is.networks, want.networks, !slices.ContainsFunc(slices.Concat(is.networks, want.networks), alone))
	add("labels", is.labels, want.labels, false)
	add("restart", is.restart, want.restart, true)
	add("memory", is.memory, want.memory, want.memory > 0)
	add("stop_timeout", is.stop, want.stop, false)
	return all
}

// shown has the variables as they may be shown: those in env with their values, and of others the
// name.
func (r *ContainerRes) shown(env map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if r.named(name) {
			name += "=" + env[name]
		}
		all = append(all, name)
	}
	return all
}
