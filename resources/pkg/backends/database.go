package backends

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// databases are the files of each package manager that change with the installed packages.
var databases = map[string][]string{
	"apk":    apkFiles,
	"apt":    {dpkgStatus},
	"dnf":    rpmFiles,
	"pacman": {pacmanLocal},
	"zypper": rpmFiles,
}

// journals are what else of it changes while a package manager works, and need not be watched.
var journals = map[string][]string{"apt": {dpkgUpdates}, "pacman": {pacmanLock}}

// Stamp returns a text that is another one whenever the database of a backend has been
// altered; empty if that can't be told.
// It costs one look at each file and runs no tool. Equal stamps mean that no transaction has ended in
// between.
// Any goroutine may call it. It is for the machine's own files: a backend with another root has no
// stamp.
func Stamp(backend string) string {
	return stampOf(slices.Concat(databases[backend], journals[backend]))
}

// dpkgInfo has a list of files for each installed package, as plain text.
const dpkgInfo = "/var/lib/dpkg/info/"

// KnownFiles returns the paths of the files of an installed package, without folders, where a
// glance at a file tells them; else none. It runs no tool and touches nothing.
// It blocks for one read of a file.
func KnownFiles(name string) []string {
	if CheckName(name) != nil {
		return nil
	}
	lists, _ := filepath.Glob(dpkgInfo + name + ":*.list")
	for _, file := range append(lists, dpkgInfo+name+".list") {
		if text, err := os.ReadFile(file); err == nil {
			return filesOf(linesOf(text))
		}
	}
	return nil
}

// filesOf leaves out the folders: each stands right before something in it, or is of no interest.
// It needs the order of dpkg, which lists a folder right before its contents.
func filesOf(paths []string) (files []string) {
	for i, p := range paths {
		folder := i+1 < len(paths) && strings.HasPrefix(paths[i+1], p+"/")
		if !folder && strings.HasPrefix(p, "/") && p != "/." {
			files = append(files, p)
		}
	}
	return files
}
