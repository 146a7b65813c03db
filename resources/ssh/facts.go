package ssh

import (
	"context"
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
)

// question asks for the facts, one on each line.
// It uses what POSIX has, and /etc/os-release where that can be read, see os-release(5).
const question = `echo kernel=$(uname -s); echo kernelrelease=$(uname -r); echo arch=$(uname -m); echo hostname=$(uname -n)
[ ! -r /etc/os-release ] || (. /etc/os-release; echo os=$ID; echo osrelease=$VERSION_ID; echo os_name=$PRETTY_NAME)`

// Facts asks the system of the target.
func (t *conn) Facts(ctx context.Context) (map[string]any, error) {
	res, err := t.Command(ctx, engine.Command{Argv: []string{"/bin/sh", "-c", question}})
	if err != nil {
		return nil, err
	}
	if res.ExitCode != 0 {
		return nil, fmt.Errorf("the shell of the target has ended with code %d", res.ExitCode)
	}
	facts := map[string]any{}
	// An empty value is left out: the fact is not known.
	for line := range strings.Lines(string(res.Stdout)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && value != "" {
			facts[name] = value
		}
	}
	return facts, nil
}
