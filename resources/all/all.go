// Package all registers every kind that comes with mgmt, and every backend of the virtual kinds. A program that wants all of them
// imports it for that; a program that wants a few imports their packages and links nothing else.
//
// The order of the imports decides nothing: a kind is found by its name, and two kinds of one name
// are a panic at the start. A test of the size of a program keeps it so that a single kind brings
// no other one.
package all

// Each package registers its kinds in engine.DefaultRegistry and its backends in virtual.DefaultCatalog.
import (
	_ "github.com/reactivegraph/mgmt/resources/account"
	_ "github.com/reactivegraph/mgmt/resources/archived"
	_ "github.com/reactivegraph/mgmt/resources/basic"
	_ "github.com/reactivegraph/mgmt/resources/cron"
	_ "github.com/reactivegraph/mgmt/resources/download"
	_ "github.com/reactivegraph/mgmt/resources/entries"
	_ "github.com/reactivegraph/mgmt/resources/exec"
	_ "github.com/reactivegraph/mgmt/resources/file"
	_ "github.com/reactivegraph/mgmt/resources/hostname"
	_ "github.com/reactivegraph/mgmt/resources/kv"
	_ "github.com/reactivegraph/mgmt/resources/mount"
	_ "github.com/reactivegraph/mgmt/resources/net"
	_ "github.com/reactivegraph/mgmt/resources/nspawn"
	_ "github.com/reactivegraph/mgmt/resources/password"
	_ "github.com/reactivegraph/mgmt/resources/pkg"
	_ "github.com/reactivegraph/mgmt/resources/schedule"
	_ "github.com/reactivegraph/mgmt/resources/ssh"
	_ "github.com/reactivegraph/mgmt/resources/svc"
	_ "github.com/reactivegraph/mgmt/resources/sysctl"
)
