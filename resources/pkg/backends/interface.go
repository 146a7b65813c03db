// Package backends is the virtual module pkg: the functions of a package manager, and the backends that
// do them. The package engine/virtual tells how to write a backend.
//
// # Rules for backends
//
//   - No call asks a question, or waits for one. Each waits for a lock that another process holds,
//     for two minutes at most; then it is a *LockedError.
//   - A fault that only another look at the repositories can end is an *UnknownError or an
//     *UnreachableError.
//   - Install, Remove, Purge and Upgrade are one transaction of the package manager: all or
//     nothing, as far as it can. They return all changed packages, dependencies included.
//   - A call that writes the database is let finish once it has begun (engine.Command.Cost);
//     downloads, and each wait for a lock, end with the context.
//   - A name that is not CheckName is refused before a tool is run.
//   - A version is written as the package manager writes it, with epoch and revision; two are
//     compared by VersionCmp only.
package backends

import (
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
	"github.com/reactivegraph/mgmt/resources/internal/names"
)

// Change is what happened to one package. Old is empty if it was not installed
// before, New if it is not now.
type Change struct {
	Old string `yaml:"old" doc:"The version before; empty for none."`
	New string `yaml:"new" doc:"The version now; empty for none."`
}

// NamesArgs are the packages that a call is about.
type NamesArgs struct {
	Names []string `yaml:"names" arg:"varargs" doc:"Names of packages; none for all."`
}

// InstallArgs are those of Install.
type InstallArgs struct {
	Pkgs       map[string]string `yaml:"pkgs" mgmt:"required,min=1" doc:"Names of packages, and the version wanted of each; empty for the newest if the package is not installed, any if it is."`
	Refresh    bool              `yaml:"refresh" doc:"Fetch the lists of packages first."`
	Downgrade  bool              `yaml:"downgrade" doc:"Allow a version that is older than the installed one."`
	Recommends bool              `yaml:"recommends" doc:"Install recommended packages, too, where the package manager knows such a thing."`
	Untrusted  bool              `yaml:"untrusted" doc:"Allow unsigned packages."`
}

// Default returns what package managers do by themselves.
func (InstallArgs) Default() InstallArgs { return InstallArgs{Recommends: true} }

// RemoveArgs are those of Remove and Purge.
type RemoveArgs struct {
	Names []string `yaml:"names" mgmt:"required,min=1" doc:"Names of packages. A missing package does not cause an error."`
}

// UpgradeArgs are those of Upgrade.
type UpgradeArgs struct {
	Names   []string `yaml:"names" doc:"Names of packages; none for all that are installed."`
	Refresh bool     `yaml:"refresh" doc:"Fetch the lists of packages first."`
}

// RefreshArgs are those of ListUpgrades.
type RefreshArgs struct {
	Refresh bool `yaml:"refresh" doc:"Fetch the lists of packages first."`
}

// Refreshed is what RefreshDB returns. That each repository was fetched may be an
// extra.
type Refreshed struct {
	Fetched bool `yaml:"fetched" doc:"The lists are as new as the repositories have them."`
}

// CompareArgs are those of VersionCmp.
type CompareArgs struct {
	A string `yaml:"a" mgmt:"required" doc:"A version."`
	B string `yaml:"b" mgmt:"required" doc:"A version."`
}

// Info is what is known of an installed package.
type Info struct {
	Name    string  `yaml:"name" doc:"Its name."`
	Version string  `yaml:"version" doc:"The installed version."`
	Arch    string  `yaml:"arch" doc:"The architecture, in the words of the package manager."`
	Summary *string `yaml:"summary" doc:"Its purpose, in one line."`
	Source  *string `yaml:"source" doc:"The source package."`
}

// PathsArgs are those of Owner.
type PathsArgs struct {
	Paths []string `yaml:"paths" arg:"varargs" doc:"Absolute paths."`
}

// NameArgs is one package.
type NameArgs struct {
	Name string `yaml:"name" mgmt:"required" doc:"The name of a package."`
}

// RepoArgs is one repository.
type RepoArgs struct {
	Repo string `yaml:"repo" mgmt:"required" doc:"The name of a repository, as list_repos gives it."`
}

// Repo is what is known of a repository.
type Repo struct {
	Name    string `yaml:"name" doc:"Its name."`
	URL     string `yaml:"url" doc:"Where it is."`
	Enabled bool   `yaml:"enabled" doc:"It is used."`
}

// ContentsArgs are those of Contents.
type ContentsArgs struct {
	Names []string `yaml:"names" mgmt:"required,min=1" doc:"Names of packages."`
}

// OriginsArgs are those of Origins.
type OriginsArgs struct {
	Pkgs map[string]string `yaml:"pkgs" mgmt:"required,min=1" doc:"Names of packages, and the version meant of each; empty for the candidate."`
}

// Origin is where a package comes from.
type Origin struct {
	Repo      string `yaml:"repo" doc:"The repository."`
	Free      bool   `yaml:"free" doc:"It is outside of the parts of the distribution for software without a free licence."`
	Supported bool   `yaml:"supported" doc:"The distribution of this machine publishes it, and looks after it."`
}

// The functions.
var (
	ListInstalled = virtual.Declare[NamesArgs, map[string]string]("list_installed",
		"The installed packages and their versions; of several the newest. Packages in the question that are not installed are left out.")
	LatestVersion = virtual.Declare[NamesArgs, map[string]string]("latest_version",
		"The newest version that can be installed, of packages installed or not. Packages that no repository has are left out.", virtual.OneAlone)
	ListUpgrades = virtual.Declare[RefreshArgs, map[string]string]("list_upgrades",
		"The installed packages of which a newer version can be installed, and that version.")
	RefreshDB = virtual.Declare[virtual.Nothing, Refreshed]("refresh_db", "Fetch the lists of packages.")
	Install   = virtual.Declare[InstallArgs, map[string]Change]("install",
		"Install packages, or other versions of them.")
	Remove  = virtual.Declare[RemoveArgs, map[string]Change]("remove", "Remove packages; configuration files of the administrator may stay.")
	Purge   = virtual.Declare[RemoveArgs, map[string]Change]("purge", "Remove packages with their configuration.", purges)
	Upgrade = virtual.Declare[UpgradeArgs, map[string]Change]("upgrade",
		"Install the newest versions of packages that are installed.")
	VersionCmp = virtual.Declare[CompareArgs, int]("version_cmp",
		"Compare two versions by the rules of the package manager: -1 if a is older than b, 0 if they are the same, 1 if it is newer.")
	InfoInstalled = virtual.Declare[NamesArgs, map[string]Info]("info_installed", "The records of installed packages, by name.")
	Owner         = virtual.Declare[PathsArgs, map[string]string]("owner", "The package that each path belongs to. Paths that no package has are left out.")
	FileList      = virtual.Declare[NamesArgs, map[string][]string]("file_list", "The paths of the files of installed packages, by name.")

	FileDict         = virtual.Declare[NamesArgs, map[string][]string]("file_dict", "As file_list: a name that Salt has for it.")
	UpgradeAvailable = virtual.Declare[NameArgs, bool]("upgrade_available", "Whether a newer version of a package that is installed can be installed.")

	Provided = virtual.Declare[NamesArgs, map[string][]string]("provided",
		"The installed packages that provide each of the names, as a package or as a virtual one. Names that nothing provides are left out.")

	Hold      = virtual.Declare[RemoveArgs, virtual.Nothing]("hold", "Keep packages at the version that they have.", holds)
	Unhold    = virtual.Declare[RemoveArgs, virtual.Nothing]("unhold", "End what hold began.", holds)
	ListRepos = virtual.Declare[virtual.Nothing, map[string]Repo]("list_repos", "The repositories.")
	GetRepo   = virtual.Declare[RepoArgs, Repo]("get_repo", "One repository.", virtual.OrNotFound(nil))
	DelRepo   = virtual.Declare[RepoArgs, virtual.Nothing]("del_repo", "Remove a repository. A missing one does not cause an error. The rest of its file stays.")

	ModRepo = virtual.Declare[ModRepoArgs, virtual.Nothing]("mod_repo", "Make a repository, or use one again, or no more. The rest of its file stays, comments too.")

	ListRemoved = virtual.Declare[NamesArgs, map[string]string]("list_removed",
		"The packages that were removed and left their configuration behind, and their versions.", onlyDebian)
	Origins = virtual.Declare[OriginsArgs, map[string]Origin]("origins",
		"Where packages come from that can be installed. Packages that no repository has are left out.", onlyDebian)
	Contents = virtual.Declare[ContentsArgs, map[string][]string]("contents",
		"The absolute paths of the files that packages bring that are not installed, by name, as the lists of the repositories tell that this machine has: nothing is fetched. A package of which the lists tell nothing is not in it.", lists)
	Offered = virtual.Declare[ContentsArgs, []string]("offered",
		"Which of the names can be installed, as packages or as virtual ones, as the lists of the repositories tell that this machine has: nothing is fetched. Without any list it is all of them.", onlyDebian)
	ListHolds   = virtual.Declare[virtual.Nothing, []string]("list_holds", "The packages that hold keeps.", holds)
	Interrupted = virtual.Declare[virtual.Nothing, []string]("interrupted",
		"The remains of a transaction that was cut off: packages, or the fault; none where all is well. While another transaction goes on its packages are among them.", virtual.AsExtra)
	Repair = virtual.Declare[virtual.Nothing, map[string]Change]("repair",
		"Finish a transaction that was cut off. Altered configuration files stay as they are.", virtual.AsExtra)
	Autoremove = virtual.Declare[virtual.Nothing, map[string]Change]("autoremove", "Remove packages that were installed as a dependency and are not needed any more.", autoremoves)
)

// purges says where a package manager tells the configuration of a package from its other files
// when it removes it: rpm always keeps altered files.
func purges(f *virtual.Function) {
	f.Supported = virtual.Match{"os_family": {"Alpine", "Arch", "Debian"}}
}

// onlyDebian is what only Debian has: packages that are removed and have left something, and archives by licence.
func onlyDebian(f *virtual.Function) { f.Supported = virtual.Match{"os_family": {"Debian"}} }

// autoremoves says that apk removes unneeded packages with each change, so there is never anything
// to do. Others need not have it.
func autoremoves(f *virtual.Function) {
	f.Extra, f.NotApplicable = true, virtual.Match{"os_family": {"Alpine"}}
}

// lists says where the lists of repositories can tell the files of packages: those of apk never do.
func lists(f *virtual.Function) {
	f.Supported = virtual.Match{"os_family": {"Arch", "Debian", "RedHat", "Suse"}}
}

// holds says where a package manager can keep versions: apk has no such thing.
func holds(f *virtual.Function) {
	f.Supported = virtual.Match{"os_family": {"Arch", "Debian", "RedHat", "Suse"}}
}

// Interface is the module. Its core is what all package managers have, then what
// half of them have; few have the extras.
// Each call makes a new one, which the caller may change.
func Interface() *virtual.Interface {
	return &virtual.Interface{
		Module: "pkg",
		Doc:    "Packages of the operating system.",
		Functions: []virtual.Function{
			ListInstalled.Function(), LatestVersion.Function(), ListUpgrades.Function(), RefreshDB.Function(),
			Install.Function(), Remove.Function(), Purge.Function(), Upgrade.Function(),
			VersionCmp.Function(), InfoInstalled.Function(), Owner.Function(), FileList.Function(), FileDict.Function(), UpgradeAvailable.Function(), Provided.Function(),
			Hold.Function(), Unhold.Function(), ListRepos.Function(), GetRepo.Function(), ModRepo.Function(), DelRepo.Function(),
			ListRemoved.Function(), Origins.Function(), Contents.Function(), Offered.Function(), ListHolds.Function(), Autoremove.Function(), Interrupted.Function(), Repair.Function(),
		},
	}
}

// The types behind the functions are read only when the module is first asked for.
func init() {
	virtual.Register("pkg", func() (*virtual.Interface, []*virtual.Backend) {
		return Interface(), []*virtual.Backend{Apk(), Apt(), Dnf(), Pacman(), Zypper()}
	})
}

var (
	versionRule = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9+._:~^-]*$`)
)

// CheckName refuses any text but the name of a package. A text that could be an option or a path
// is refused, as are characters that no package manager allows. The error names the text. It is
// asked before any tool runs, so no name can become an option.
func CheckName(name string) error { return names.CheckPackage(name) }

// CheckVersion refuses any text but the version of a package.
// A version has no blank and begins with a letter or digit, so it cannot become an option either.
func CheckVersion(version string) error {
	if !versionRule.MatchString(version) {
		return fmt.Errorf("%q is no version of a package", version)
	}
	return nil
}

// checkPaths refuses any text but an absolute path of one line.
func checkPaths(paths []string) error {
	for _, p := range paths {
		if !strings.HasPrefix(p, "/") || strings.ContainsAny(p, "\n\x00*?[\\") {
			return fmt.Errorf("%q is no absolute path, or has characters that a package manager would read as a pattern", p)
		}
	}
	return nil
}
