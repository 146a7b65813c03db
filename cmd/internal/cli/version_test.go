package cli

import (
	"runtime/debug"
	"testing"
)

// TestFindingD9VersionOfGo: a program that Go has built without our flags has an ordered version, too.
func TestFindingD9VersionOfGo(t *testing.T) {
	t.Parallel()
	commit := []debug.BuildSetting{{Key: "vcs.revision", Value: "79814f13e1aaaaaaaaaa"}, {Key: "vcs.modified", Value: "true"}}
	for _, c := range []struct {
		path, version string
		settings      []debug.BuildSetting
		want          string
	}{
		{ownModule, "v1.2.3", commit, "1.2.3"},
		{ownModule, "(devel)", nil, "1.5.0~git0"},
		{ownModule, "", commit, "1.5.0~git0.79814f13e1.dirty"},
		{ownModule, "v0.0.0-20260102030405-79814f13e1aa", commit[:1], "1.5.0~git0.79814f13e1"},
		{ownModule, "v1.4.1-0.20260102030405-79814f13e1aa+dirty", commit, "1.5.0~git0.79814f13e1.dirty"},
		{"example.com/theirs", "v7.0.0", nil, "v7.0.0"},
		{"example.com/theirs", "", nil, "unknown"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Path: c.path, Version: c.version}, Settings: c.settings}
		if got := versionOf(info, "1.5.0"); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.path, c.version, got, c.want)
		}
	}
}
