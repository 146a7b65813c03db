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

// patience is how long a daemon may take to answer a call. Calls that wait for a container to
// stop get that time in addition, and a pull has no bound but its context.
const patience = 30 * time.Second

// Place says where the daemon is, and how to speak with it. It is the same for both
// kinds.
type Place struct {
	Host       string `yaml:"host" lang:"host" mgmt:"param" doc:"Where the daemon is: unix:///path/of/socket, or tcp://address:port. If absent, what DOCKER_HOST in the environment of mgmt says, else unix:///var/run/docker.sock."`
	APIVersion string `yaml:"apiversion" lang:"apiversion" mgmt:"param" doc:"The version of the API to use, such as v1.41. If absent, what DOCKER_API_VERSION in the environment of mgmt says, else the highest one that both sides know."`
}

// daemon is the way to one daemon. It holds no connection but idle ones, which Close ends. All
// methods may be called from several goroutines.
type daemon struct {
	*client.Client
	// The bound of a call; tests make it short.
	patience time.Duration
}

var apiVersion = regexp.MustCompile(`^v?[1-9]\.[0-9]{1,3}$`)

// check refuses a place that no daemon can be at. Only unix and tcp are allowed; the client
// itself accepts any scheme.
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

// open makes the way to the daemon, which the caller closes. It asks nothing of the daemon yet;
// the first call agrees on the version of the API. A wait of 0 means patience. The certificates
// for TLS come from DOCKER_CERT_PATH, and a bad one is an error here.
func (p Place) open(wait time.Duration) (*daemon, error) {
	// The client takes DOCKER_API_VERSION before any other version, so the environment is asked only
	// where the graph says nothing. Of the rest, later options win.
	options := []client.Opt{client.WithTLSClientConfigFromEnv(), client.WithHostFromEnv(), client.WithUserAgent("mgmt")}
	if p.Host != "" {
		options = append(options, client.WithHost(p.Host))
	}
	version := client.WithAPIVersionFromEnv()
	if p.APIVersion != "" {
		version = client.WithAPIVersion(strings.TrimPrefix(p.APIVersion, "v"))
	}
	c, err := client.New(append(options, version)...)
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

// ask calls the daemon with a bound of its patience and more. Every call goes through here or
// get, except for pulls and the stream of events. The error names the daemon's address.
func (d *daemon) ask(ctx context.Context, more time.Duration, call func(context.Context) error) error {
	wait := d.patience + more
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("the docker daemon at %s has not answered within %s", d.DaemonHost(), wait))
	defer cancel()
	return d.explain(ctx, call(ctx))
}

// explain says what an error of the client means. The end of the context counts first: its
// cause names the bound that has passed, and the client's own error does not.
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

// get asks for something that may not be there; then it is nil without an error. Its bound is
// that of ask.
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
