package resources

import (
	"context"

	"github.com/reactivegraph/mgmt/engine"
	_ "github.com/reactivegraph/mgmt/resources/ssh" // the transport
)

// Kinds returns the names of all kinds of this package, sorted. Each registers
// itself in engine.DefaultRegistry from the init function of its own file.
func Kinds() []string {
	return []string{
		"apt_key",
		"cron",
		"crontab",
		"download",
		"exec",
		"file",
		"group",
		"gzip",
		"host",
		"hostname",
		"ini_setting",
		"line",
		"mount",
		"msg",
		"net",
		"noop",
		"nspawn",
		"password",
		"pkg",
		"print",
		"ssh_authorized_key",
		"svc",
		"sysctl",
		"tar",
		"test",
		"timer",
		"user",
		"value",
	}
}

// idle is the Watch of a resource that by its parameters has nothing to watch. A
// kind that never has is traits.Unwatched.
func idle(ctx context.Context, init *engine.Init) error {
	init.Running()
	<-ctx.Done()
	return nil
}

// tainted reports whether one of the parameters below a key was received from a
// secret, and thus must not be shown whatever its type is.
func tainted(init *engine.Init, keys ...string) bool {
	for path, s := range init.Recv() {
		if !s.Secret {
			continue
		}
		for _, k := range keys {
			if rootKey(path) == k {
				return true
			}
		}
	}
	return false
}

// taintedAny reports whether any parameter was received from a secret.
func taintedAny(init *engine.Init) bool {
	for _, s := range init.Recv() {
		if s.Secret {
			return true
		}
	}
	return false
}

// rootKey returns the first element of the path of a parameter: env of env.HOME,
// args of args[0].
func rootKey(path string) string {
	for i := range len(path) {
		if path[i] == '.' || path[i] == '[' {
			return path[:i]
		}
	}
	return path
}
