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
	var dirs []string
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		dirs = append(dirs, filepath.Dir(self))
	}
	for _, dir := range append(dirs, packaged) {
		path := filepath.Join(dir, Helper)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	if path, err := exec.LookPath(Helper); err == nil {
		return filepath.Abs(path)
	}
	return "", errors.New("a program in TypeScript is run by " + Helper + ", which is neither next to mgmt, nor in " + packaged +
		", nor in PATH: install the package mgmt, or build it with make typescript")
}
