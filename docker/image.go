package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/distribution/reference"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("docker_image", func() engine.Res { return &ImageRes{} })
}

var (
	_ engine.ClashingRes    = (*ImageRes)(nil)
	_ engine.RecvableRes    = (*ImageRes)(nil)
	_ engine.RefreshableRes = (*ImageRes)(nil)
	_ engine.SendableRes    = (*ImageRes)(nil)
	_ engine.ReversibleRes  = (*ImageRes)(nil)
	_ engine.Readable       = (*ImageRes)(nil)
	_ engine.Listable       = (*ImageRes)(nil)
	_ engine.OverlappingRes = (*ImageRes)(nil)
	_ engine.DescribedRes   = (*ImageRes)(nil)
)

// The states of an image.
const (
	ImageExists = "exists"
	ImageAbsent = "absent"
)

// ImageRes is an image that the daemon has, or has not. Its name is the reference. An existing
// image is right, whatever the registry has under its tag by now; only a refresh pulls it
// again.
type ImageRes struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Recvable
	traits.Refreshable
	traits.Reversible
	traits.Sendable

	State    string        `yaml:"state" lang:"state" mgmt:"enum=exists|absent" doc:"Whether the daemon has it; exists if nothing is said."`
	Username string        `yaml:"username" lang:"username" mgmt:"param" doc:"The user at the registry that it is pulled from."`
	Password schema.Secret `yaml:"password" lang:"password" mgmt:"param" doc:"The password, or a token, for that."`
	Force    bool          `yaml:"force" lang:"force" mgmt:"param" doc:"With state absent: remove it also if a stopped container was made of it."`

	// The digest is told by Read and List, and never compared.
	Digest string `yaml:"digest" lang:"digest" mgmt:"readonly" doc:"NAME@sha256:..., by which the registry has it; empty for an image that was made here."`

	Place `yaml:",inline"`

	init   *engine.Init
	daemon *daemon
	wait   time.Duration // for the daemon to answer, in tests; else 0
}

// ImageSends is sent by each run that leaves the image right. Both texts are empty where the
// image is absent.
type ImageSends struct {
	ID     string `yaml:"id" doc:"Its ID, sha256:..."`
	Digest string `yaml:"digest" doc:"NAME@sha256:..., by which the registry has it; empty for an image that was made here."`
}

// Default returns an image that is wanted.
func (r *ImageRes) Default() engine.Res { return &ImageRes{State: ImageExists} }

// Sends says what is sent.
func (*ImageRes) Sends() any { return &ImageSends{} }

// absent reports whether the image should be removed.
func (r *ImageRes) absent() bool { return r.State == ImageAbsent }

// Validate checks the reference and the parameters, and returns all errors at once. It asks
// neither a daemon nor a registry. A password that is received counts as given.
func (r *ImageRes) Validate() error {
	_, err := parseImage("the name", r.Name())
	errs := []error{err, r.Place.check()}
	if !slices.Contains([]string{"", ImageExists, ImageAbsent}, r.State) {
		errs = append(errs, fmt.Errorf("state is %q, it must be exists or absent", r.State))
	}
	if given := !r.Password.IsZero() || r.Recv()["password"] != nil; (r.Username != "") != given {
		errs = append(errs, errors.New("username and password need each other"))
	}
	if r.Force && !r.absent() {
		errs = append(errs, errors.New("force is only for state absent"))
	}
	return errors.Join(errs...)
}

// Init keeps the handle and makes the way to the daemon, without asking it anything.
func (r *ImageRes) Init(init *engine.Init) (err error) {
	r.init = init
	r.daemon, err = r.open(r.wait)
	return err
}

// Cleanup closes the connections to the daemon.
func (r *ImageRes) Cleanup() error { return r.daemon.Close() }

// Watch wakes the resource at each event of any image, since an event of a tag names the image
// by its ID. A look costs one call. Nothing like tries is needed: a pull that fails makes no
// events of images.
func (r *ImageRes) Watch(ctx context.Context) error {
	return r.daemon.watch(ctx, watcher{
		init: r.init, types: []events.Type{events.ImageEventType},
		tell: func(*events.Message) { r.init.Event() },
	})
}

// Cmp compares the parameters.
func (r *ImageRes) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }

// CheckApply pulls the image, or removes it. A refresh pulls an image that is there. The pull
// has no bound of time but ctx, so the metaparameter timeout is the user's way to set one.
func (r *ImageRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	ref, err := parseImage("the name", r.Name())
	if err != nil {
		return false, err
	}
	is, err := r.daemon.image(ctx, ref)
	if err != nil {
		return false, err
	}
	switch {
	// Right is: absent and not there, or wanted and there. A refresh makes a present image due;
	// with absent, the image is removed anyhow.
	case r.absent() == (is == nil) && !(r.init.Refresh() && is != nil):
		return true, r.send(ref, is)
	case r.absent():
		r.init.Change(engine.Change{Field: "state", From: ImageExists, To: ImageAbsent, Verb: engine.Deleted})
	case is == nil:
		r.init.Change(engine.Change{Field: "state", To: ImageExists, Verb: engine.Created})
		r.init.Change(engine.Change{Field: "digest", To: digestToCome(ref)})
	default:
		r.init.Change(engine.Change{Verb: engine.Refreshed})
	}
	if !apply {
		return false, nil
	}
	if r.absent() {
		err = r.daemon.removeImage(ctx, ref, r.Force)
	} else {
		is, err = r.daemon.pull(ctx, r.init, ref, login{r.Username, r.Password})
	}
	if err != nil {
		return false, err
	}
	return false, r.send(ref, is)
}

// digestToCome returns the digest that the name of an image says, or unknown: another name gets its digest from the registry, by the pull.
func digestToCome(ref reference.Named) any {
	if by, ok := ref.(reference.Digested); ok {
		return reference.FamiliarName(ref) + "@" + by.Digest().String()
	}
	return engine.Unknown
}

// send sends the id and the digest of the image, which a container receives to be made
// anew with each new image.
func (r *ImageRes) send(ref reference.Named, is *client.ImageInspectResult) error {
	sends := &ImageSends{}
	if is != nil && !r.absent() {
		sends.ID, sends.Digest = is.ID, digestOf(ref, is.RepoDigests)
	}
	return r.init.Send(sends)
}

// digestOf returns the one of an image's digests that is of the name of ref; empty for none.
func digestOf(ref reference.Named, digests []string) (last string) {
	for _, d := range digests {
		if named, err := reference.ParseNormalizedNamed(d); err == nil && named.Name() == ref.Name() {
			last = d
		}
	}
	return last
}

// Read returns the image; nil if the daemon does not have it.
func (r *ImageRes) Read(ctx context.Context) (engine.Res, error) {
	ref, err := parseImage("the name", r.Name())
	if err != nil {
		return nil, err
	}
	is, err := r.daemon.image(ctx, ref)
	if err != nil || is == nil {
		return nil, err
	}
	return r.as(r.Name(), ref, is.RepoDigests), nil
}

// as makes the resource of an image that is there. The login of the registry can't be read, so
// it is left out.
func (r *ImageRes) as(name string, ref reference.Named, digests []string) engine.Res {
	is := &ImageRes{State: ImageExists, Digest: digestOf(ref, digests), Place: r.Place}
	is.SetKind(r.Kind())
	is.SetName(name)
	return is
}

// List yields all images that have a name, one resource for each tag, sorted. One call lists
// them all. Images without a tag have no name that a graph could use.
func (r *ImageRes) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		all, err := get(ctx, r.daemon, func(ctx context.Context) (client.ImageListResult, error) {
			return r.daemon.ImageList(ctx, client.ImageListOptions{})
		})
		if err != nil || all == nil {
			yield(nil, cmp.Or(err, errNoDaemon))
			return
		}
		digests := map[string][]string{}
		for _, i := range all.Items {
			for _, name := range i.RepoTags {
				digests[name] = i.RepoDigests
			}
		}
		for _, name := range slices.Sorted(maps.Keys(digests)) {
			ref, err := parseImage("a name", name)
			if err != nil { // such as <none>:<none>, which is no name
				continue
			}
			if !yield(r.as(name, ref, digests[name]), nil) {
				return
			}
		}
	}
}

// Reversed removes an image that was not there, and brings back a removed one by a pull from
// the registry. An image that was built on the machine has no registry: its undo fails when it
// runs.
func (r *ImageRes) Reversed(before engine.Res) (engine.Res, error) {
	undo := &ImageRes{State: ImageAbsent, Place: r.Place}
	if before != nil {
		undo = &ImageRes{State: ImageExists, Username: r.Username, Password: r.Password, Place: r.Place}
	}
	undo.SetKind(r.Kind())
	undo.SetName(r.Name())
	return undo, nil
}
