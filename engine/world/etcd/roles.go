//go:build !small

package etcd

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/authpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// rootUser is the user and the role that etcd itself gives every right to.
const rootUser = "root"

// Protect makes the user root with a password, and from then on the cluster serves only its users. An operator calls it
// once for a cluster, on a World without a user. A cluster that is protected already refuses it.
func (w *World) Protect(ctx context.Context, password string) error {
	return w.call(ctx, repeatable, func(ctx context.Context, c *clientv3.Client) error {
		if err := haveUser(ctx, c, rootUser, password); err != nil {
			return err
		}
		if _, err := c.RoleAdd(ctx, rootUser); err != nil && !errors.Is(err, rpctypes.ErrRoleAlreadyExist) {
			return err
		}
		if _, err := c.UserGrantRole(ctx, rootUser, rootUser); err != nil {
			return err
		}
		_, err := c.AuthEnable(ctx)
		return err
	})
}

// Allow gives a user these rights and no others, in a role of the user's name. It makes both where they are absent. A user
// without a password shows who it is by the common name of its certificate. An operator calls it for each host, as root.
func (w *World) Allow(ctx context.Context, user, password string, grants ...Grant) error {
	return w.call(ctx, repeatable, func(ctx context.Context, c *clientv3.Client) error {
		if err := haveUser(ctx, c, user, password); err != nil {
			return err
		}
		if err := w.haveRole(ctx, c, user, grants); err != nil {
			return err
		}
		_, err := c.UserGrantRole(ctx, user, user)
		return err
	})
}

// Granted returns the rights of all users but root, by their names: those on keys of this World, in the role of the user's name. An operator asks, as
// root.
func (w *World) Granted(ctx context.Context) (granted map[string][]Grant, err error) {
	err = w.call(ctx, repeatable, func(ctx context.Context, c *clientv3.Client) error {
		granted = map[string][]Grant{}
		users, err := c.UserList(ctx)
		if err != nil {
			return err
		}
		for _, user := range users.Users {
			resp, err := c.RoleGet(ctx, user)
			if err := passed(err, rpctypes.ErrRoleNotFound); err != nil {
				return err
			}
			if resp == nil || user == rootUser {
				continue
			}
			for _, p := range resp.Perm {
				key, own := strings.CutPrefix(string(p.Key), w.o.Prefix)
				below := len(p.RangeEnd) > 0
				if own && (!below || string(p.RangeEnd) == clientv3.GetPrefixRangeEnd(string(p.Key))) {
					granted[user] = append(granted[user], Grant{Key: key, Below: below, Write: p.PermType != authpb.READ})
				}
			}
		}
		return nil
	})
	return granted, err
}

// Add gives a user further rights, in the role of the user's name. An operator calls it, as root.
func (w *World) Add(ctx context.Context, user string, grants ...Grant) error {
	return w.call(ctx, repeatable, func(ctx context.Context, c *clientv3.Client) error {
		for _, g := range grants {
			p := w.permission(g)
			if _, err := c.RoleGrantPermission(ctx, user, p.key, p.end, clientv3.PermissionType(p.kind)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Forbid takes a user and the role of the user's name away, with all their rights. It reports whether there was one of them. An operator calls it
// for a host that has left, as root.
func (w *World) Forbid(ctx context.Context, user string) (was bool, err error) {
	err = w.call(ctx, repeatable, func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.UserDelete(ctx, user)
		was = was || err == nil
		if err := passed(err, rpctypes.ErrUserNotFound); err != nil {
			return err
		}
		_, err = c.RoleDelete(ctx, user)
		was = was || err == nil
		return passed(err, rpctypes.ErrRoleNotFound)
	})
	return was, err
}

// haveUser makes a user, or gives it another password.
func haveUser(ctx context.Context, c *clientv3.Client, user, password string) error {
	_, err := c.UserAddWithOptions(ctx, user, password, &clientv3.UserAddOptions{NoPassword: password == ""})
	if !errors.Is(err, rpctypes.ErrUserAlreadyExist) || password == "" {
		return passed(err, rpctypes.ErrUserAlreadyExist)
	}
	_, err = c.UserChangePassword(ctx, user, password)
	return err
}

// passed returns no error where it is the one that says that all is done.
func passed(err, done error) error {
	if errors.Is(err, done) {
		return nil
	}
	return err
}

// permission is a right as etcd keeps it.
type permission struct {
	key, end string
	kind     authpb.Permission_Type
}

// haveRole makes a role with these rights alone. It gives new rights before it takes old ones away, so that a host which
// works meanwhile loses none that it keeps.
func (w *World) haveRole(ctx context.Context, c *clientv3.Client, role string, grants []Grant) error {
	if _, err := c.RoleAdd(ctx, role); passed(err, rpctypes.ErrRoleAlreadyExist) != nil {
		return err
	}
	resp, err := c.RoleGet(ctx, role)
	if err != nil {
		return err
	}
	var wanted, had []permission
	for _, p := range resp.Perm {
		had = append(had, permission{string(p.Key), string(p.RangeEnd), p.PermType})
	}
	for _, g := range grants {
		wanted = append(wanted, w.permission(g))
	}
	for _, p := range wanted {
		if slices.Contains(had, p) {
			continue
		}
		if _, err := c.RoleGrantPermission(ctx, role, p.key, p.end, clientv3.PermissionType(p.kind)); err != nil {
			return err
		}
	}
	for _, p := range had {
		kept := slices.ContainsFunc(wanted, func(q permission) bool { return q.key == p.key && q.end == p.end })
		if kept {
			continue // which the grant has replaced
		}
		if _, err := c.RoleRevokePermission(ctx, role, p.key, p.end); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) permission(g Grant) permission {
	p := permission{key: w.o.Prefix + g.Key, kind: authpb.READ}
	if g.Write {
		p.kind = authpb.READWRITE
	}
	if g.Below {
		p.end = clientv3.GetPrefixRangeEnd(p.key)
	}
	return p
}
