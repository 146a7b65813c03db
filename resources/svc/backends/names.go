package backends

import (
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/resources/internal/names"
)

// BaseName returns the name of a service without the suffix .service: nginx and
// nginx.service are one.
func BaseName(name string) string { return names.ServiceBase(name) }

// UnitName returns the name of a service as systemd has it. A name with the suffix
// of another kind of unit stays. So a socket or a timer can be named too; a backend
// other than systemd finds no such service.
func UnitName(name string) string { return names.ServiceUnit(name) }

// sessionMark stands before a name in Watch.
const sessionMark = "session/"

// Watched is what the Watch of a backend takes for a service: the name, and whether
// it is one of the user's own session. The mark has a slash, which no name of a
// service has.
func Watched(name string, session bool) string {
	if session {
		return sessionMark + name
	}
	return name
}

// watched takes the result of Watched apart. All of them have to be of one manager.
// An empty list stands for all services of the machine.
func watched(list []string) (names []string, session bool, err error) {
	for i, name := range list {
		name, of := strings.CutPrefix(name, sessionMark)
		if i > 0 && of != session {
			return nil, false, fmt.Errorf("services of the machine and of a session cannot be watched at once")
		}
		session = of
		if err := CheckName(name); err != nil {
			return nil, false, err
		}
		names = append(names, name)
	}
	return names, session, nil
}
