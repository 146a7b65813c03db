package docker

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// The least that a container can live with, as docker has it.
const leastMemory = schema.Size(6 << 20)

var (
	hostnamePattern = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9.-]{0,61}[a-zA-Z0-9])?$`)
	userPattern     = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_.-]*(:[a-zA-Z0-9_][a-zA-Z0-9_.-]*)?$`)
)

// Validate checks the name and the parameters, and returns all errors at once. It asks no
// daemon, so a graph can be checked on another machine. An image that is received may be
// missing here.
func (r *ContainerRes) Validate() error {
	errs := []error{checkName("the name", r.Name()), r.Place.check(), r.checkWords()}
	if r.Image != "" {
		_, err := parseImage("image", r.Image)
		errs = append(errs, err)
	} else if !r.removed() && r.Recv()["image"] == nil {
		errs = append(errs, errors.New("image is missing"))
	}
	return errors.Join(append(errs, r.checkEnv(), r.checkPorts(), r.checkVolumes(), r.checkNetworks(), r.checkRest())...)
}

// checkWords checks the fields that are one of a few words. Empty stands for the default.
func (r *ContainerRes) checkWords() error {
	var errs []error
	if !slices.Contains([]string{"", Running, Stopped, Removed}, r.State) {
		errs = append(errs, fmt.Errorf("state is %q, it must be running, stopped or removed", r.State))
	}
	if !slices.Contains([]string{"", PullMissing, PullAlways, PullNever}, r.Pull) {
		errs = append(errs, fmt.Errorf("pull is %q, it must be missing, always or never", r.Pull))
	}
	if !restartPolicy.MatchString(r.Restart) {
		errs = append(errs, fmt.Errorf("restart: %q is none of no, always, unless-stopped, on-failure, on-failure:TIMES", r.Restart))
	}
	return errors.Join(errs...)
}

// checkEnv refuses names and values that no program could read, and a name that is given
// twice.
func (r *ContainerRes) checkEnv() error {
	var errs []error
	given := map[string]bool{}
	add := func(name string, err error) {
		if err != nil {
			errs = append(errs, err)
		} else if given[name] {
			errs = append(errs, fmt.Errorf("%s is given twice", name))
		}
		given[name] = true
	}
	for _, e := range r.Env {
		name, _, err := splitEnv(e)
		if err != nil {
			err = fmt.Errorf("env: %w", err)
		}
		add(name, err)
	}
	for name, value := range r.SecretEnv {
		err := checkEnv(name, value.Reveal())
		if err != nil {
			err = fmt.Errorf("secret_env: %w", err)
		}
		add(name, err)
	}
	return errors.Join(errs...)
}

// checkPorts refuses ports that the daemon would refuse, before a container is stopped for
// them.
func (r *ContainerRes) checkPorts() error {
	var errs []error
	for proto, ports := range r.Ports {
		if !slices.Contains(protocols, proto) {
			errs = append(errs, fmt.Errorf("ports: %q is none of tcp, udp, sctp", proto))
		}
		for port, at := range ports {
			if n, err := parsePort(port); err != nil || n == 0 {
				errs = append(errs, fmt.Errorf("ports: %q is no port of a container", port))
			}
			if _, _, err := parseAddress(at); err != nil {
				errs = append(errs, fmt.Errorf("ports: %s: %w", port, err))
			}
		}
	}
	return errors.Join(errs...)
}

// checkVolumes refuses entries that are not SOURCE:TARGET, and two for one target. Whether the
// source exists is not looked at: docker makes a missing one.
func (r *ContainerRes) checkVolumes() error {
	var errs []error
	targets := map[string]bool{}
	for _, v := range r.Volumes {
		b, err := parseBind(v)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("volumes: %w", err))
		case targets[b.target]:
			errs = append(errs, fmt.Errorf("volumes: %s is mounted twice", b.target))
		}
		targets[b.target] = true
	}
	return errors.Join(errs...)
}

// checkNetworks refuses the network host or none together with others: the daemon takes such a
// network alone only. Ports and the network host exclude each other too.
func (r *ContainerRes) checkNetworks() error {
	var errs []error
	for i, n := range r.Networks {
		errs = append(errs, checkName("networks", n))
		if alone(n) && len(r.Networks) > 1 {
			errs = append(errs, fmt.Errorf("networks: %s has to be alone", n))
		}
		if slices.Contains(r.Networks[:i], n) {
			errs = append(errs, fmt.Errorf("networks: %s is there twice", n))
		}
	}
	if slices.Equal(r.Networks, []string{"host"}) && len(r.Ports) > 0 {
		errs = append(errs, errors.New("ports are not published from the network host: what listens there can be reached as it is"))
	}
	return errors.Join(errs...)
}

// alone reports whether a container in this network can be in no other one.
func alone(network string) bool { return network == "host" || network == "none" }

// checkRest refuses all further values that can't be.
func (r *ContainerRes) checkRest() error {
	var errs []error
	refuse := func(wrong bool, text string) {
		if wrong {
			errs = append(errs, errors.New(text))
		}
	}
	for _, arg := range slices.Concat(r.Entrypoint, r.Cmd) {
		refuse(strings.ContainsRune(arg, 0), "entrypoint and cmd must not have a zero byte in them")
	}
	refuse(r.User != "" && !userPattern.MatchString(r.User), fmt.Sprintf("user: %q is not USER or USER:GROUP", r.User))
	refuse(r.Workdir != "" && (!strings.HasPrefix(r.Workdir, "/") || !plainText(r.Workdir)), fmt.Sprintf("workdir: %q is no absolute path", r.Workdir))
	refuse(r.Hostname != "" && !hostnamePattern.MatchString(r.Hostname), fmt.Sprintf("hostname: %q is no name of a machine", r.Hostname))
	refuse(r.Memory != 0 && r.Memory < leastMemory, fmt.Sprintf("memory: %s is less than the 6MiB that docker allows", r.Memory))
	refuse(r.StopTimeout%time.Second != 0 || r.StopTimeout < 0, fmt.Sprintf("stop_timeout: %s is not in whole seconds", r.StopTimeout))
	for key := range r.Labels {
		refuse(key == "" || !plainText(key), fmt.Sprintf("labels: %q is no name of a label", key))
		refuse(key == Label, "labels: "+Label+" is for mgmt to give")
	}
	return errors.Join(errs...)
}
