package svc

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// suffixes are those of the units of systemd that can be started and stopped.
var suffixes = []string{".service", ".socket", ".timer", ".path", ".target", ".mount", ".automount", ".swap", ".slice", ".scope", ".device"}

// BaseName returns the name of a service without the suffix .service: nginx and
// nginx.service are one.
func BaseName(name string) string { return strings.TrimSuffix(name, ".service") }

// UnitName returns the name of a service as systemd has it. What has the suffix of
// another kind of unit is one.
func UnitName(name string) string {
	if slices.Contains(suffixes, path.Ext(name)) {
		return name
	}
	return name + ".service"
}

// sessionMark stands before a name in Watch.
const sessionMark = "session/"

// Watched is what the Watch of a backend takes for a service: the name, and whether
// it is one of the user's own session.
func Watched(name string, session bool) string {
	if session {
		return sessionMark + name
	}
	return name
}

// watched takes what Watched has made apart. All of them have to be of one manager.
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
