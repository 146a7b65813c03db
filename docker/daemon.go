package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// patience is how long a daemon may take to answer.
const patience = 30 * time.Second

// Place says where the daemon is, and how to speak with it. It is the same for both
// kinds.
type Place struct {
	Host       string `yaml:"host" lang:"host" mgmt:"param" doc:"Where the daemon is: unix:///path/of/socket, or tcp://address:port. If absent, what DOCKER_HOST in the environment of mgmt says, else unix:///var/run/docker.sock."`
	APIVersion string `yaml:"apiversion" lang:"apiversion" mgmt:"param" doc:"The version of the API to use, such as v1.41. If absent, the highest one that both sides know."`
}

// daemon is the way to one daemon. It holds no connection but idle ones, which Close
// ends.
type daemon struct {
	*client.Client
	patience time.Duration
}

var apiVersion = regexp.MustCompile(`^v?[1-9]\.[0-9]{1,3}$`)

// check says what is wrong with the place.
func (p Place) check() error {
	var errs []error
	if p.Host != "" {
		if u, err := client.ParseHostURL(p.Host); err != nil || u.Scheme != "unix" && u.Scheme != "tcp" || !plainText(p.Host) {
			errs = append(errs, fmt.Errorf("host: %q is neither unix:///path nor tcp://address:port", p.Host))
		}
	}
	if p.APIVersion != "" && !apiVersion.MatchString(p.APIVersion) {
		errs = append(errs, fmt.Errorf("apiversion: %q is no version, as v1.41", p.APIVersion))
	}
	return errors.Join(errs...)
}

// open makes the way to the daemon. It asks nothing of it yet.
func (p Place) open(wait time.Duration) (*daemon, error) {
	options := []client.Opt{client.FromEnv, client.WithUserAgent("mgmt")}
	if p.Host != "" {
		options = append(options, client.WithHost(p.Host))
	}
	if p.APIVersion != "" {
		options = append(options, client.WithAPIVersion(strings.TrimPrefix(p.APIVersion, "v")))
	}
	c, err := client.New(options...)
	if err != nil {
		return nil, fmt.Errorf("the way to the docker daemon: %w", err)
	}
	return &daemon{Client: c, patience: cmp.Or(wait, patience)}, nil
}

// socket is the path of the daemon's socket; empty if it has none on this machine.
func (d *daemon) socket() string {
	path, ok := strings.CutPrefix(d.DaemonHost(), "unix://")
	if !ok {
		return ""
	}
	return path
}

// ask calls the daemon, and gives it more than its patience where that is needed.
func (d *daemon) ask(ctx context.Context, more time.Duration, call func(context.Context) error) error {
	wait := d.patience + more
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("the docker daemon at %s has not answered within %s", d.DaemonHost(), wait))
	defer cancel()
	return d.explain(ctx, call(ctx))
}

// explain says what an error of the client means.
func (d *daemon) explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case client.IsErrConnectionFailed(err):
		return fmt.Errorf("there is no docker daemon at %s: start it (systemctl start docker), or say by host or DOCKER_HOST where another one is: %w", d.DaemonHost(), err)
	}
	return err
}

// found is what a call that looks for something returned: nil if it is not there.
func found[T any](v T, err error) (*T, error) {
	switch {
	case errdefs.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &v, nil
}

// get asks for something that may not be there; then it is nil.
func get[T any](ctx context.Context, d *daemon, call func(context.Context) (T, error)) (v *T, err error) {
	err = d.ask(ctx, 0, func(ctx context.Context) error {
		v, err = found(call(ctx))
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}
