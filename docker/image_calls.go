package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// errNoDaemon is the error where a list is not found (404). A daemon has every list, if only an
// empty one.
var errNoDaemon = errors.New("what answers is no docker daemon")

// login has the user and password for a registry; the zero value stands for none.
type login struct {
	user     string
	password schema.Secret
}

// image looks for an image by its reference, in the short form; nil if it is not there.
func (d *daemon) image(ctx context.Context, ref reference.Named) (*client.ImageInspectResult, error) {
	return get(ctx, d, func(ctx context.Context) (client.ImageInspectResult, error) {
		return d.ImageInspect(ctx, reference.FamiliarString(ref))
	})
}

// removeImage removes a reference, and the image with its last one. Parents without a name go
// too. An image that is not there is no error. With force, it goes under stopped containers,
// and never under running ones.
func (d *daemon) removeImage(ctx context.Context, ref reference.Named, force bool) error {
	err := d.ask(ctx, 0, func(ctx context.Context) error {
		_, err := d.ImageRemove(ctx, reference.FamiliarString(ref), client.ImageRemoveOptions{Force: force, PruneChildren: true})
		return err
	})
	switch {
	case errdefs.IsNotFound(err):
		return nil
	case errdefs.IsConflict(err) && !force:
		return fmt.Errorf("%s is used (force: true removes it under stopped containers): %w", reference.FamiliarString(ref), err)
	}
	return err
}

// pull pulls an image, for as long as it takes, and returns it as the daemon has it then. Its
// messages on the way are logged for debugging only. No error of it shows the password.
func (d *daemon) pull(ctx context.Context, init *engine.Init, ref reference.Named, as login) (*client.ImageInspectResult, error) {
	name := reference.FamiliarString(ref)
	init.Log.Info("pulling an image", "image", name)
	if err := d.pullAll(ctx, init, name, as); err != nil {
		return nil, explainPull(name, as, d.explain(ctx, err))
	}
	is, err := d.image(ctx, ref)
	if err == nil && is == nil {
		err = fmt.Errorf("%s was pulled, and is not there: another program removes it", name)
	}
	return is, err
}

// pullAll fetches an image, and returns when the daemon has ended the stream of messages. An
// error in the middle comes as a message, after the status 200. The password goes in the header
// of one request and is in no log.
func (d *daemon) pullAll(ctx context.Context, init *engine.Init, name string, as login) error {
	auth := ""
	if as.user != "" {
		var err error
		if auth, err = authconfig.Encode(registry.AuthConfig{Username: as.user, Password: as.password.Reveal()}); err != nil {
			return err
		}
	}
	p, err := d.ImagePull(ctx, name, client.ImagePullOptions{RegistryAuth: auth})
	if err != nil {
		return err
	}
	for m, err := range p.JSONMessages(ctx) {
		switch {
		case err != nil:
			return fmt.Errorf("the answer broke off: %w", err)
		case m.Error != nil:
			return m.Error
		}
		init.Log.Debug("pulling an image", "layer", m.ID, "status", m.Status)
	}
	return nil
}

// explainPull says what to do about a pull that has failed. The daemon hands on the registry's
// answer as text, with few statuses of its own, so the words are searched for too. A wrong hint
// is worse than none: without a known word the error stands alone.
func explainPull(name string, as login, err error) error {
	text := strings.ToLower(err.Error())
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	hint := ""
	switch {
	case errdefs.IsUnauthorized(err), errdefs.IsPermissionDenied(err), has("pull access denied", "unauthorized", "authentication required", "denied:"):
		hint = ": the registry has no such image, or it wants a login (username and password of a docker_image)"
	case errdefs.IsNotFound(err), has("manifest unknown", "not found"):
		hint = ": the registry has no such image or tag"
	case has("no such host", "network is unreachable", "connection refused", "i/o timeout", "temporary failure in name resolution", "tls handshake timeout"):
		hint = ": the daemon can't reach the registry; where there is no network, load the image before (docker load) or say pull: never"
	}
	// Some registries repeat the request in their answer. The engine takes secrets out of every error, and this is for other callers.
	if secret := as.password.Reveal(); secret != "" && strings.Contains(err.Error(), secret) {
		err = errors.New(strings.ReplaceAll(err.Error(), secret, schema.Redacted))
	}
	return fmt.Errorf("%s can't be pulled%s: %w", name, hint, err)
}
