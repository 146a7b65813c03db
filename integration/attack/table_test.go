package attack_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	_ "github.com/reactivegraph/mgmt/resources/all"
)

// exempt are the parameters that sound like paths and are in no row, with the reason.
var exempt = map[string]string{
	"apt_key.file":                  "read only: apt_key.keyring is what is opened",
	"download.holds":                "read only: a content",
	"download.mode":                 "no path",
	"exec.creates":                  "only whether it exists is asked",
	"exec.mtimes":                   "only its time is asked",
	"exec.watchfiles":               "only its time is asked",
	"exec.watchcwd":                 "as exec.cwd",
	"exec.env":                      "a text",
	"file.content":                  "a text",
	"file.entries":                  "read only",
	"file.mode":                     "no path",
	"file.copy_mode":                "no path",
	"file.keep":                     "a switch",
	"file.replace_link":             "a switch: the link itself is replaced, by the folder that is held",
	"line.if_missing":               "a word",
	"file.selinux":                  "a label, set where the mode is set",
	"file.state":                    "no path",
	"gzip.content":                  "a text",
	"gzip.checksum":                 "read only: a sum",
	"ini_setting.key_val_separator": "a text",
	"line.state":                    "a word",
	"mount.lazy":                    "a switch",
	"gzip.holds":                    "read only: a content",
	"gzip.mode":                     "no path",
	"line.above":                    "a pattern",
	"line.below":                    "a pattern",
	"line.create":                   "a switch",
	"mount.type":                    "a word",
	"nspawn.settings":               "a text, in the fixed folder /etc/systemd/nspawn that only root can alter",
	"password.saved":                "a switch: the file is in the state folder, which mgmt refuses if others can write it",
	"sysctl.state":                  "no path",
	"sysctl.line":                   "read only: a text",
	"ssh_authorized_key.key":        "a text",
	"tar.holds":                     "read only: a content",
	"tar.mode":                      "no path",
	"tar.entries":                   "read only: a number",
	"user.managehome":               "a switch of user.homedir",
	"user.shell":                    "a text of the database",
}

// pathWords are in the name or the description of a parameter that takes a path.
var pathWords = regexp.MustCompile(`(?i)path|\bfiles?\b|folder|cwd|\bdir`)

// covered are the parameters that rows cover, as kind.parameter.
func covered() map[string]bool {
	all := map[string]bool{}
	for _, r := range append(rows(), checkedRows()...) {
		for p := range strings.FieldsSeq(r.params) {
			all[r.kind+"."+p] = true
		}
	}
	return all
}

// TestFindingA3EveryPathIsAttacked: each parameter of each kind that may take a path is in
// the table of the attacker, or among the exemptions.
func TestFindingA3EveryPathIsAttacked(t *testing.T) {
	known, sounds := covered(), []string{}
	registry := engine.DefaultRegistry()
	for _, kind := range registry.Kinds() {
		k, err := registry.Kind(kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range k.Type.Fields {
			if name := kind + "." + f.Key; pathWords.MatchString(f.Key + " " + f.Doc) {
				sounds = append(sounds, name)
			}
		}
	}
	for _, name := range sounds {
		if !known[name] && exempt[name] == "" {
			t.Errorf("%s sounds like a path: add a row that attacks it, or an exemption with the reason", name)
		}
	}
	for name := range exempt {
		if !slices.Contains(sounds, name) {
			t.Errorf("%s is an exemption of nothing: remove it", name)
		}
	}
	if len(sounds) < 40 {
		t.Errorf("only %d parameters sound like paths: the words are wrong", len(sounds))
	}
}
