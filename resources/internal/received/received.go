package received

import "github.com/reactivegraph/mgmt/engine"

func AnyTainted(got map[string]*engine.Send) bool {
	for _, s := range got {
		if s != nil && s.Secret {
			return true
		}
	}
	return false
}

// Tainted reports whether one of the parameters below a key was received from a
// secret, and thus must not be shown whatever its type is.
func Tainted(init *engine.Init, keys ...string) bool {
	for path, s := range init.Recv() {
		if !s.Secret {
			continue
		}
		for _, k := range keys {
			if RootKey(path) == k {
				return true
			}
		}
	}
	return false
}

// TaintedAny reports whether any parameter was received from a secret.
func TaintedAny(init *engine.Init) bool {
	for _, s := range init.Recv() {
		if s.Secret {
			return true
		}
	}
	return false
}

// RootKey returns the first element of the path of a parameter: env of env.HOME,
// args of args[0].
func RootKey(path string) string {
	for i := range len(path) {
		if path[i] == '.' || path[i] == '[' {
			return path[:i]
		}
	}
	return path
}
