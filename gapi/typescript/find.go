package typescript

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// Helper is the name of the program that runs programs in TypeScript.
const Helper = "mgmt-ts"

// packaged is the folder where packages put the helper.
const packaged = "/usr/lib/mgmt"

// Find returns the path of the helper: next to this program, in the folder of the packages, or in PATH.
func Find() (string, error) {
	for _, dir := range folders() {
		if path := filepath.Join(dir, Helper); executable(path) {
			return path, nil
		}
	}
	if path, err := exec.LookPath(Helper); err == nil {
		return filepath.Abs(path)
	}
	return "", errors.New("a program in TypeScript is run by " + Helper + ", which is neither next to mgmt, nor in " + packaged +
		", nor in PATH: install the package mgmt, or build it with make typescript")
}

// folders are those with programs of mgmt: that of the running one, without links, and that of the packages.
func folders() []string {
	self, err := os.Executable()
	if err != nil {
		return []string{packaged}
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	return []string{filepath.Dir(self), packaged}
}
