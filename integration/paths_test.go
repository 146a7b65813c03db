package integration_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// byPath are the calls that reach a file by its path, and follow any link in it.
var byPath = map[string][]string{
	"os": {"Open", "OpenFile", "OpenRoot", "ReadFile", "WriteFile", "Create", "CreateTemp", "MkdirTemp", "Stat", "Lstat", "Chown", "Lchown", "Chmod",
		"Chtimes", "Mkdir", "MkdirAll", "Remove", "RemoveAll", "Rename", "Readlink", "ReadDir", "Symlink", "Link", "Truncate", "DirFS", "CopyFS"},
	"unix": {"Open", "Creat", "Stat", "Lstat", "Statfs", "Access", "Chown", "Lchown", "Chmod", "Mkdir", "Mkfifo", "Mknod", "Unlink", "Rmdir", "Rename",
		"Readlink", "Symlink", "Link", "Truncate", "Mount", "Unmount", "Getxattr", "Setxattr", "Lgetxattr", "Lsetxattr", "Utimes"},
	"syscall":  {"Open", "Stat", "Lstat", "Chown", "Lchown", "Chmod", "Mkdir", "Unlink", "Rename", "Readlink", "Mount", "Unmount"},
	"filepath": {"EvalSymlinks", "Walk", "WalkDir", "Glob"},
	"ioutil":   {"ReadFile", "WriteFile", "ReadDir"},
}

// pathsAllowed are the functions below resources that go by a path, with the reason. What
// they open is fixed, belongs to the kernel or to the state folder, or was judged before.
var pathsAllowed = map[string]string{
	"resources/internal/atomicfile/check.go drop":           "a new folder that no other user can alter, below one that newCopy has judged",
	"resources/internal/atomicfile/check.go fill":           "a new folder that no other user can alter, below one that newCopy has judged",
	"resources/internal/atomicfile/check.go lockFolder":     "a new folder that no other user can alter, below one that newCopy has judged",
	"resources/internal/atomicfile/check.go newCopy":        "a new folder that no other user can alter, below one that newCopy has judged",
	"resources/internal/atomicfile/check.go sweepCopies":    "a new folder that no other user can alter, below one that newCopy has judged",
	"resources/internal/files/credentials.go OwnCredential": "the folder that systemd has made for this service; nothing is opened or shown",
	"resources/exec/check.go namesIn":                       "the names in a folder that the graph watches, of which nothing is shown",
	"resources/account/backends/database.go folder":         "looks at what was judged a line above",
	"resources/account/backends/home.go openSystem":         "the folder of the system: an image is judged by folder, a home by steadyHome",
	"resources/account/backends/home.go processOf":          "/proc",
	"resources/account/backends/lock.go lock":               "the lock in a folder that was judged by folder",
	"resources/account/backends/shadow.go removeHome":       "whether something is left at a path that was judged",
	"resources/entries/apt_key_files.go facts":              "a new private folder of its own",
	"resources/cron/check.go edit":                          "the folder of the units of systemd, of the machine or of our own user",
	"resources/cron/read.go List":                           "the folder of the units of systemd: names only",
	"resources/entries/crontab.go users":                    "the spool of cron: names only",
	"resources/download/check.go stage":                     "a file of the state folder, which run refuses if others can write it",
	"resources/download/check.go take":                      "a file of the state folder, which run refuses if others can write it",
	"resources/hostname/set.go setStatic":                   "/etc/hostname",
	"resources/internal/atomicfile/label.go get":            "the name of an open descriptor in /proc",
	"resources/internal/atomicfile/label.go set":            "the name of an open descriptor in /proc",
	"resources/internal/atomicfile/owner.go setAttrs":       "the name of an open descriptor in /proc",
	"resources/internal/atomicfile/owner.go umask":          "/proc",
	"resources/internal/atomicfile/settled.go ClockOf":      "asks for the type of a file system, and opens nothing",
	"resources/internal/mounttab/holders.go Copies":         "/proc",
	"resources/internal/mounttab/holders.go Holders":        "/proc",
	"resources/internal/mounttab/holders.go holds":          "/proc",
	"resources/internal/mounttab/holders.go mapped":         "/proc",
	"resources/internal/mounttab/holders.go processes":      "/proc",
	"resources/internal/mounttab/mounts.go Open":            "/proc",
	"resources/pkg/backends/files.go partsIn":               "the folders of the package manager, which only root can alter: names only",
	"resources/pkg/backends/zypper_contents.go contents":    "the cache of zypper, which only root can alter: names only",
	"resources/internal/procfile/procfile.go Follow":        "/proc",
	"resources/internal/rtnet/forward.go forwarding":        "/proc",
	"resources/internal/rtnet/forward.go setForwarding":     "/proc",
	"resources/internal/systemd1/manager.go Running":        "a fixed path below /run that only root can alter",
	"resources/mount/mount.go realPath":                     "finds the mount in the table of the kernel; what acts is judged by steady",
	"resources/mount/busy.go inUse":                         "asks the kernel whether a mount that it has listed is in use",
	"resources/mount/check.go sameDevice":                   "compares devices; what acts is judged by steady",
	"resources/mount/check.go sameMounted":                  "compares numbers of two folders; what acts is judged by steady",
	"resources/nspawn/check.go altered":                     "fixed folders of systemd that only root can alter",
	"resources/nspawn/check.go image":                       "fixed folders of systemd that only root can alter",
	"resources/nspawn/check.go make":                        "a fixed path below /run that only root can alter",
	"resources/pkg/backends/database.go KnownFiles":         "the database of dpkg, which only root can alter",
	"resources/pkg/backends/contents.go ContentsStamp":      "the lists of package managers, which only root can alter",
	"resources/pkg/backends/contents.go contentFiles":       "the lists of package managers, which only root can alter",
	"resources/pkg/backends/contents.go stampOf":            "the databases and lists of package managers, which only root can alter",
	"resources/pkg/contents.go broughtPaths":                "/etc, which only root can alter",
	"resources/pkg/backends/interrupted.go halves":          "the databases of package managers, which only root can alter",
	"resources/pkg/backends/interrupted.go interrupted":     "the databases of package managers, which only root can alter",
	"resources/pkg/backends/interrupted.go repair":          "the databases of package managers, which only root can alter",
	"resources/internal/pkglock/locks.go commandOf":         "/proc",
	"resources/internal/pkglock/locks.go flocked":           "/proc",
	"resources/internal/pkglock/locks.go holder":            "the locks of package managers, which only root can alter",
	"resources/internal/pkglock/locks.go opened":            "/proc",
	"resources/internal/pkglock/locks.go ownProcess":        "/proc",
	"resources/internal/pkglock/locks.go processes":         "/proc",
	"resources/internal/private/private.go openVarDir":      "the state folder, which run refuses if others can write it",
	"resources/internal/private/private.go syncDir":         "the state folder, which run refuses if others can write it",
	"resources/internal/private/private.go Write":           "the state folder, which run refuses if others can write it",
	"resources/sysctl/proc.go open":                         "/proc",
}

// TestFindingA3OneWalker: no kind opens a path but by the walker of package safepath.
func TestFindingA3OneWalker(t *testing.T) {
	found := callsOf(t, "../resources", byPath)
	for where, calls := range found {
		if pathsAllowed[where] == "" {
			t.Errorf("%s calls %s: take engine/safepath, or say in pathsAllowed why no other user can alter the path", where, strings.Join(calls, ", "))
		}
	}
	for where := range pathsAllowed {
		if found[where] == nil {
			t.Errorf("%s is allowed to go by a path and does not: remove it", where)
		}
	}
}

// pathsElsewhere are the functions outside of resources that go by a path, by the reason why no other user gains by it.
var pathsElsewhere = map[string][]string{
	"/proc, /sys, /run and /dev: only root can alter the path": {
		"engine/control/tell.go loginOf",
		"engine/host/culprit.go holdsOpen",
		"engine/host/culprit.go opened",
		"engine/host/culprit.go readLink",
		"gapi/fetch/source.go terminate",
		"engine/host/command.go pipes",
		"engine/host/costly.go inService",
		"engine/host/enclosure.go close",
		"engine/host/enclosure.go makeGroup",
		"engine/host/enclosure.go members",
		"engine/host/enclosure.go ownGroup",
		"engine/host/enclosure.go sweepGroups",
		"engine/host/facts_kernel.go openKernelFacts",
		"engine/host/ledger.go groupOf",
		"engine/host/ledger.go head",
		"engine/host/ledger.go holders",
		"engine/host/limit.go readSysctl",
		"engine/host/mounts.go followMounts",
		"engine/host/mounts.go readMounts",
		"engine/host/process.go processes",
		"engine/host/process.go readProc",
		"engine/internal/boltfile/file.go openHere",
		"engine/metrics/process.go bootTime",
		"engine/metrics/process.go processFamilies",
		"engine/metrics/process.go readStat",
		"cmd/run/trim_linux.go dropProgram",
		"service/journal.go OpenJournal",
	},
	"the state folder, which run refuses if others can write it": {
		"daemon/past/keeper.go Seal",
		"daemon/past/undo.go loadHeld",
		"engine/journal/images/images.go Content",
		"engine/journal/images/images.go Open",
		"engine/journal/images/images.go open",
		"engine/journal/images/images.go prune",
		"engine/journal/images/images.go read",
		"engine/journal/images/images.go there",
		"daemon/past/keeper.go Open",
		"daemon/past/keeper.go load",
		"daemon/past/keeper.go update",
		"engine/control/proposals.go load",
		"engine/control/proposals.go setAside",
		"daemon/state/hold.go hold",
		"daemon/socket.go listenAt",
		"cmd/run/dump.go write",
		"daemon/state/lock.go lockState",
		"daemon/trust/secrets.go NewSecrets",
		"daemon/state/state.go inspect",
		"daemon/state/state.go inspectVars",
		"daemon/state/state.go Open",
		"daemon/store/store.go openBolt",
		"engine/host/ledger.go openLedger",
		"engine/host/ledger.go renew",
		"engine/internal/boltfile/file.go OpenLocked",
		"engine/internal/boltfile/file.go SyncDir",
		"engine/internal/boltfile/file.go lock",
		"engine/internal/boltfile/place.go Replace",
		"engine/internal/boltfile/place.go fill",
		"engine/journal/ineffect/ineffect.go open",
		"engine/journal/ineffect/ineffect.go Read",
		"engine/journal/ineffect/ineffect.go ReadDeclarations",
		"engine/journal/ineffect/ineffect.go Remove",
		"engine/journal/ineffect/ineffect.go Rename",
		"engine/journal/ineffect/ineffect.go SyncFolder",
		"engine/journal/open.go asideName",
		"engine/journal/open.go open",
		"engine/journal/open.go setAside",
		"engine/journal/past.go PeekHistory",
		"engine/journal/peek.go Peek",
		"engine/journal/place.go isPlaced",
		"engine/journal/place.go rewrite",
		"engine/lifecycle/state.go close",
		"engine/lifecycle/state.go make",
		"engine/lifecycle/state.go remove",
		"engine/plugin/commit.go begin",
		"engine/plugin/commit.go flushFS",
		"engine/plugin/commit.go place",
		"engine/plugin/commit.go syncFolder",
		"engine/plugin/record.go loadRecord",
		"engine/seal/seal.go Open",
		"engine/seal/seal.go read",
		"engine/seal/seal.go write",
		"engine/statedir/folder.go hold",
		"engine/statedir/held.go hold",
		"engine/statedir/held.go look",
		"engine/statedir/held.go missing",
		"engine/statedir/held.go restore",
		"engine/statedir/keep.go keep",
		"engine/statedir/keep.go look",
		"engine/statedir/statedir.go openJournal",
		"engine/world/bolt/bolt.go keepPlace",
		"engine/world/bolt/bolt.go open",
		"engine/world/bolt/copy.go Close",
		"engine/world/bolt/copy.go OpenCopy",
		"engine/world/bolt/copy.go open",
		"engine/hosts/outlive.go ReplaceFile",
		"engine/hosts/outlive.go read",
		"engine/world/kept/file.go read",
		"engine/world/kept/file.go shrink",
		"gapi/collect/reader.go remember",
		"daemon/trust/operators.go Open",
		"engine/deploy/pin.go OpenPin",
		"engine/deploy/pin.go Replace",
		"gapi/deployed/keep.go restore",
	},
	"a new private folder of its own": {
		"engine/simulate/layer.go Close",
		"engine/simulate/copyup.go takeOverDir",
		"engine/simulate/layer.go open",
		"engine/simulate/copyup.go takeOver",
		"engine/simulate/copyup.go copyFile",
		"cmd/secret/edit.go edited",
		"cmd/secret/edit.go lockFolder",
		"cmd/secret/edit.go memoryFolder",
		"cmd/secret/edit.go ofOther",
		"engine/lifecycle/state.go root",
		"engine/plugin/listening.go chown",
		"engine/plugin/listening.go lockFolder",
		"engine/plugin/listening.go socketFolder",
		"engine/plugin/listening.go sweep",
		"engine/simulate/folder.go NewFolder",
		"engine/statedir/statedir.go open",
		"gapi/fetch/source.go fromGit",
		"gapi/fetch/source.go isFull",
		"gapi/fetch/source.go plainFiles",
		"gapi/typescript/types.go compile",
		"scenario/run.go folder",
	},
	"the folder of a socket is judged, and a socket is no file that is read": {
		"engine/httpd/keep.go exposed",
		"engine/httpd/keep.go inode",
		"engine/httpd/keep.go mend",
		"engine/httpd/peer.go group",
		"engine/httpd/socket.go Dial",
		"engine/httpd/socket.go Listen",
		"engine/httpd/socket.go bind",
		"engine/httpd/socket.go chmodSocket",
		"engine/httpd/socket.go clear",
		"engine/httpd/socket.go openDir",
		"engine/httpd/socket.go remove",
		"engine/host/msgbus/bus.go sessionAddress",
		"provider/overgrpc/serve.go Serve",
		"provider/serve.go listen",
		"provider/overgrpc/serve.go Serve",
	},
	"only asks whether something is there, or has changed, and what acts is judged where it is opened": {
		"engine/host/source_fanotify.go findFrom",
		"engine/host/source_fanotify.go mark",
		"engine/simulate/copyup.go copyLink",
		"cmd/internal/inputs/trusted.go ProjectRoot",
		"cmd/internal/inputs/trusted.go trustedProject",
		"cmd/author/tstrust.go trustTS",
		"gapi/judge.go Answers",
		"cmd/run/settle.go other",
		"daemon/kinds/folders.go loadTargets",
		"engine/host/folders.go remoteMounts",
		"engine/host/link.go follow",
		"engine/host/link.go targetPath",
		"engine/host/listing.go list",
		"engine/host/poll.go interest",
		"engine/host/program.go openDir",
		"engine/host/program.go runnable",
		"engine/host/request.go askAll",
		"engine/host/resolve.go list",
		"engine/host/stat.go lstat",
		"engine/httpd/tls.go signatures",
		"engine/plugin/launch.go trusted",
		"engine/safepath/walker.go Behind",
		"gapi/private.go Private",
		"gapi/silent.go Stat",
		"gapi/puppet/modules.go inModule",
		"gapi/typescript/find.go folders",
		"gapi/typescript/frontend.go RootOf",
		"gapi/typescript/types.go executable",
		"gapi/typescript/types.go settingsFor",
		"gapi/yaml/closure.go glob",
		"gapi/yaml/closure.go module",
		"gapi/yaml/load.go first",
		"gapi/yaml/load.go stat",
	},
	"the caller has named the file for this one verb, and alone gets what is in it": {
		"cmd/author/fmt.go graphFiles",
		"cmd/author/plugin.go plugin",
		"cmd/plan/testing.go testFiles",
		"cmd/plan/testing.go untested",
		"cmd/internal/remote/operator.go Fleet",
		"engine/deploy/key.go ReadKey",
	},
	"the caller has named the folder for this one verb, which writes there with a name of its own, and never over a file of the author": {
		"cmd/fleet/keygen.go makeKey",
		"cmd/fleet/keygen.go newKeygen",
		"cmd/author/module.go alone",
		"gapi/fetch/store.go put",
		"gapi/fetch/store.go Remove",
		"gapi/fetch/store.go State",
		"cmd/author/idl.go compile",
		"cmd/author/idl.go formatIDL",
		"cmd/author/idl.go liesIn",
		"cmd/author/idl.go target",
		"cmd/author/init.go startFolder",
		"cmd/reference.go newReference",
		"cmd/reference.go writePages",
		"cmd/author/tsinit.go initTS",
		"engine/deploy/key.go WriteKey",
		"engine/deploy/key.go create",
		"gapi/fetch/store.go Remove",
		"gapi/fetch/store.go State",
		"gapi/fetch/store.go put",
		"engine/schema/generate/byhand.go ByHand",
		"engine/schema/generate/sync.go Compare",
		"engine/schema/generate/sync.go Sync",
		"engine/schema/generate/sync.go lock",
	},
	"a file that guard.go of the package cmd has judged at the start": {
		"engine/world/etcd/options.go readPEM",
	},
	"the folder of systemd with the credentials of this service": {
		"service/credentials.go open",
		"service/credentials.go put",
		"service/credentials.go replace",
	},
	"the caller's own open files": {
		"daemon/statusfile.go Open",
		"cmd/internal/cli/files.go WriteFile",
	},
	"the mechanism that the others have to take": {
		"engine/safepath/guard.go OpenGuarded",
		"engine/safepath/plain.go plainAppend",
		"engine/safepath/plain.go plainWrite",
		"engine/safepath/steady.go readPath",
		"engine/safepath/trust.go accessList",
		"gapi/source.go open",
		"gapi/source.go ReadDir",
		"engine/host/facts.go ReadFacts",
	},
}

// TestFindingA3EveryOption: no option, and no file of the daemon, is opened by its path but for a reason. The kinds
// have a stricter table above.
func TestFindingA3EveryOption(t *testing.T) {
	reason := map[string]string{}
	for why, functions := range pathsElsewhere {
		for _, f := range functions {
			reason[f] = why
		}
	}
	found := map[string][]string{}
	for _, root := range []string{"../cmd", "../daemon", "../engine", "../gapi", "../provider", "../scenario", "../service"} {
		maps.Copy(found, callsOf(t, root, byPath))
	}
	maps.DeleteFunc(found, func(where string, _ []string) bool {
		return strings.HasPrefix(where, "engine/reactor/internal/transcript/")
	})
	for where, calls := range found {
		if reason[where] == "" {
			t.Errorf("%s calls %s: open it by gapi.Source or engine/safepath, or say in pathsElsewhere why no other user gains by it", where, strings.Join(calls, ", "))
		}
	}
	for where := range reason {
		if found[where] == nil {
			t.Errorf("%s is allowed to go by a path and does not: remove it", where)
		}
	}
}

// callsOf returns which names of a table all functions below a folder use, tests left out.
func callsOf(t *testing.T, root string, table map[string][]string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasSuffix(d.Name(), "test") {
			return fs.SkipDir // a package for tests, such as sshtest
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		imports := importsOf(file)
		for _, decl := range file.Decls {
			name := strings.TrimPrefix(path, "../")
			if f, ok := decl.(*ast.FuncDecl); ok {
				name += " " + f.Name.Name
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if call := callIn(n, table, imports); call != "" && !slices.Contains(found[name], call) {
					found[name] = append(found[name], call)
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// importsOf returns the packages that a file imports under other names, by those. A dot is a name, too.
func importsOf(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, i := range file.Imports {
		if i.Name != nil {
			names[i.Name.Name] = path.Base(strings.Trim(i.Path.Value, `"`))
		}
	}
	return names
}

// callIn returns the name of a function of a table, if a node is one.
func callIn(n ast.Node, table map[string][]string, imports map[string]string) string {
	if id, ok := n.(*ast.Ident); ok && slices.Contains(table[imports["."]], id.Name) {
		return imports["."] + "." + id.Name
	}
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok || pkg.Obj != nil {
		return ""
	}
	name := cmp.Or(imports[pkg.Name], pkg.Name)
	if !slices.Contains(table[name], sel.Sel.Name) {
		return ""
	}
	return name + "." + sel.Sel.Name
}
