package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/reactivegraph/mgmt/engine"
)

// run is one CheckApply of a container that is to be there. It lives for that call, in one
// goroutine. The steps are look, report and apply, in this order: everything is reported before
// anything is altered.
type run struct {
	*ContainerRes
	// The image as the graph names it, in full.
	ref reference.Named
	// The image as the daemon has it; nil if it has to be pulled.
	image *client.ImageInspectResult
	// The container as it was found; nil if it is not there.
	is *container.InspectResponse
	// The parameters that differ, in the order of differences. State is not among them.
	diffs []difference
	// The image is to be pulled first.
	pull bool
}

// CheckApply has the container as it is wanted. It keeps tries up to date, from which Watch
// knows whether an event is only an echo of this call. The look at a failed try ignores the end
// of ctx: without it, events of the failure would lead to the next try at once.
func (r *ContainerRes) CheckApply(ctx context.Context, apply bool) (ok bool, err error) {
	r.tries.begin()
	defer func() {
		left := ""
		if err != nil {
			left = r.print(context.WithoutCancel(ctx))
		}
		r.tries.end(left)
	}()
	return r.checkApply(ctx, apply)
}

// checkApply compares the container with the declaration and makes a new one where a
// difference can't be altered in place.
func (r *ContainerRes) checkApply(ctx context.Context, apply bool) (bool, error) {
	is, err := r.daemon.container(ctx, r.Name())
	if err != nil {
		return false, err
	}
	// An event of this container, from here on, may come of the work below.
	if is != nil {
		r.tries.alters(is.ID)
	}
	if r.removed() {
		return r.remove(ctx, is, apply)
	}
	c := &run{ContainerRes: r, is: is}
	if err := c.look(ctx); err != nil {
		return false, err
	}
	if c.report() {
		return true, r.send(c.is)
	}
	if !apply {
		return false, nil
	}
	if err := c.apply(ctx); err != nil {
		return false, err
	}
	// The daemon's answer to a start does not tell whether the program goes on. Only a second
	// look does, and it has the address that is sent.
	now, err := r.began(ctx)
	if err != nil {
		return false, err
	}
	return false, r.send(now)
}

// remove has the container removed, one of another maker too: with state removed the graph has
// said so by its name. Its volumes stay.
func (r *ContainerRes) remove(ctx context.Context, is *container.InspectResponse, apply bool) (bool, error) {
	if is == nil {
		return true, r.send(nil)
	}
	r.init.Change(engine.Change{Field: "state", From: stateOf(is), To: Removed, Verb: engine.Deleted})
	if !apply {
		return false, nil
	}
	if err := r.daemon.remove(ctx, is); err != nil {
		return false, err
	}
	return false, r.send(nil)
}

// look finds out what is to be done, and alters nothing. Its errors show in a plan too. The
// image may be missing and must not be pulled, the container may end again and again, or its
// replacement may need force.
func (c *run) look(ctx context.Context) (err error) {
	if c.ref, err = parseImage("image", c.Image); err != nil {
		return err
	}
	if c.image, err = c.daemon.image(ctx, c.ref); err != nil {
		return err
	}
	c.pull = c.image == nil || c.Pull == PullAlways && c.is == nil
	if c.image == nil && c.Pull == PullNever {
		return fmt.Errorf("the daemon has no image %s, and pull is never: load it before (docker load, docker pull), or by a docker_image", c.Image)
	}
	if c.is == nil {
		return nil
	}
	if err := c.compare(ctx); err != nil {
		return err
	}
	// Docker's restart policy hides a program that fails at once, since the state is running
	// all the time. A container that is replaced anyhow gets its chance first.
	if c.is.State.Restarting && c.state() == Running && !c.replaces() {
		return fmt.Errorf("it ends again and again, the last time with exit code %d, and docker starts it again: docker logs %s tells more", c.is.State.ExitCode, c.Name())
	}
	// With pull: always an image is pulled before a container is made. For a container that
	// stays, no pull is due.
	c.pull = c.pull || c.Pull == PullAlways && c.replaces()
	if c.replaces() && !c.Force && c.is.Config.Labels[Label] == "" {
		return fmt.Errorf("there is a container %s that mgmt has not made, and it differs in %s: with force: true it is replaced, and what is in it is lost", c.Name(), c.differing())
	}
	return nil
}

// compare finds what differs. Where the image has to be pulled first, all but the image is
// compared with the image that the container was made of. The new ID is then Unknown, and apply
// compares again after the pull.
func (c *run) compare(ctx context.Context) error {
	image := c.image
	if image == nil {
		var err error
		if image, err = c.daemon.imageByID(ctx, c.is.Image); err != nil {
			return err
		}
	}
	is := specOf(c.is)
	base := specOfImage(image)
	// That image is gone as well. With the container as its own base, absent parameters do not
	// differ.
	if image == nil {
		base = is
	}
	c.diffs = c.differences(is, c.want(base))
	if c.image == nil {
		c.diffs = append(c.diffs, difference{field: "image", from: is.image, to: engine.Unknown})
	}
	return nil
}

// replaces reports whether something differs that can't be altered in place. One such field is
// enough: the new container has all wanted values at once.
func (c *run) replaces() bool {
	return slices.ContainsFunc(c.diffs, func(d difference) bool { return !d.live })
}

// differing lists the parameters that differ, for an error.
func (c *run) differing() string {
	var fields []string
	for _, d := range c.diffs {
		fields = append(fields, d.field)
	}
	return strings.Join(fields, ", ")
}

// report gives each change to the engine, and reports whether there are none. It is the same in
// both modes, so a plan shows what apply does. A refresh is told as a change only where nothing
// else is one.
func (c *run) report() (ok bool) {
	if c.is == nil {
		c.init.Change(engine.Change{Field: "state", To: c.state(), Verb: engine.Created})
		for _, ch := range engine.MadeWith(c.ContainerRes) {
			c.init.Change(ch)
		}
		return false
	}
	for _, d := range c.diffs {
		c.init.Change(engine.Change{Field: d.field, From: d.from, To: d.to})
	}
	moves := stateOf(c.is) != c.state()
	if moves {
		c.init.Change(engine.Change{Field: "state", From: stateOf(c.is), To: c.state()})
	}
	if len(c.diffs) == 0 && !moves {
		if !c.refreshes() {
			return true
		}
		c.init.Change(engine.Change{Verb: engine.Refreshed})
	}
	return false
}

// refreshes reports whether a container that runs is to be restarted because of a
// notification.
func (c *run) refreshes() bool { return c.init.Refresh() && c.state() == Running }

// apply carries out the reported changes. Pulling comes first, since it is slow, may fail and
// disturbs no container.
func (c *run) apply(ctx context.Context) error {
	if c.pull {
		image, err := c.daemon.pull(ctx, c.init, c.ref, login{})
		if err != nil {
			return err
		}
		c.image = image
	}
	if c.is == nil {
		id, err := c.daemon.create(ctx, c.Name(), c.ContainerRes, c.want(specOfImage(c.image)))
		c.tries.alters(id)
		if err != nil {
			return c.undo(ctx, id, err)
		}
		return c.begin(ctx, id)
	}
	want := c.want(specOfImage(c.image))
	// The pull may have brought another image, with other defaults than look has compared.
	c.diffs = c.differences(specOf(c.is), want)
	if c.replaces() {
		return c.replace(ctx, want)
	}
	if err := c.alter(ctx, want); err != nil {
		return err
	}
	return c.move(ctx)
}

// undo removes a container that could not be made in full, so that the next try finds the name
// free. It goes on after the end of ctx. The error has both failures, if the removal fails too.
// An empty id means that nothing was made.
func (c *run) undo(ctx context.Context, id string, err error) error {
	if id == "" {
		return fmt.Errorf("it can't be made: %w", err)
	}
	c.tries.undo(id)
	// The container has not run yet, so removing it needs its ID alone.
	left := &container.InspectResponse{ID: id, Config: &container.Config{}, State: &container.State{}}
	return errors.Join(fmt.Errorf("it can't be made: %w", err), c.daemon.remove(context.WithoutCancel(ctx), left))
}

// begin starts the container where it should run.
func (c *run) begin(ctx context.Context, id string) error {
	if c.state() != Running {
		return nil
	}
	return c.daemon.start(ctx, id)
}

// replace makes the new container next to the old one, then puts it in its place. If the new
// one can't be made, the old one has noticed nothing. The old one is stopped before the new one
// starts, because both may need the same ports and volumes. After a crash between removal and
// rename only NAME.mgmt-new is left. The next run then makes a container of the name anew, and
// the next replacement removes the left one.
func (c *run) replace(ctx context.Context, want *spec) error {
	beside := c.Name() + ".mgmt-new"
	left, err := c.daemon.container(ctx, beside)
	if err != nil {
		return err
	}
	// An earlier run was killed between create and rename. A container without the label has
	// another maker, and create fails on its name.
	if left != nil && left.Config.Labels[Label] != "" {
		if err := c.daemon.remove(ctx, left); err != nil {
			return err
		}
	}
	id, err := c.daemon.create(ctx, beside, c.ContainerRes, want)
	c.tries.alters(id)
	if err != nil {
		return c.undo(ctx, id, err)
	}
	if err := c.daemon.remove(ctx, c.is); err != nil {
		return c.undo(ctx, id, err)
	}
	if err := c.daemon.rename(ctx, id, c.Name()); err != nil {
		return err
	}
	return c.begin(ctx, id)
}

// alter changes the live differences in place. One update has the restart policy and the memory
// together. New networks are joined before old ones are left, so that the container is never
// without a network.
func (c *run) alter(ctx context.Context, want *spec) error {
	for _, d := range c.diffs {
		if d.field != "networks" {
			if err := c.daemon.update(ctx, c.is.ID, want); err != nil {
				return err
			}
			break
		}
	}
	is := specOf(c.is)
	for _, n := range want.networks {
		if !slices.Contains(is.networks, n) {
			if err := c.daemon.connect(ctx, c.is.ID, n); err != nil {
				return err
			}
		}
	}
	for _, n := range is.networks {
		if !slices.Contains(want.networks, n) {
			if err := c.daemon.disconnect(ctx, c.is.ID, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// move brings the container from the state in which it was found to the wanted one. A container
// that was started here needs no restart for a refresh; an unpaused one does.
func (c *run) move(ctx context.Context) error {
	switch from := stateOf(c.is); {
	case c.state() == Stopped && from != Stopped:
		return c.daemon.stop(ctx, c.is)
	case c.state() == Stopped:
		return nil
	case from == Stopped:
		return c.daemon.start(ctx, c.is.ID)
	case from == paused:
		if err := c.daemon.unpause(ctx, c.is.ID); err != nil {
			return err
		}
	}
	if c.refreshes() {
		return c.daemon.restart(ctx, c.is)
	}
	return nil
}

// began looks at the new container. A container that has ended at once is an error.
func (r *ContainerRes) began(ctx context.Context) (*container.InspectResponse, error) {
	now, err := r.daemon.container(ctx, r.Name())
	switch {
	case err != nil:
		return nil, err
	case now == nil:
		return nil, errors.New("it was made, and is not there: another program removes it")
	case r.state() == Running && !now.State.Running:
		return nil, fmt.Errorf("it was started, and has ended at once with exit code %d: docker logs %s tells more", now.State.ExitCode, r.Name())
	}
	return now, nil
}

// send sends the facts of a container; nil for a removed one. Without a network of its own, and
// while it does not run, a container has no address.
func (r *ContainerRes) send(c *container.InspectResponse) error {
	if c == nil {
		return r.init.Send(&ContainerSends{})
	}
	s := &ContainerSends{ID: c.ID, Image: c.Image}
	if c.State.Running && c.NetworkSettings != nil {
		s.Address = r.address(c)
	}
	return r.init.Send(s)
}

// address is the one in the first of the networks, as they are listed, else as they are sorted.
func (r *ContainerRes) address(c *container.InspectResponse) string {
	for _, n := range slices.Concat(r.Networks, networksOf(c)) {
		if e := c.NetworkSettings.Networks[n]; e != nil && e.IPAddress.IsValid() {
			return e.IPAddress.String()
		}
	}
	return ""
}
