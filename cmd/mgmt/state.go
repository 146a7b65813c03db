package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// state says where the program keeps what must last.
type state struct {
	prefix string
	temp   bool
}

func (s *state) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.prefix, "prefix", "", "the `folder` to keep state in (default $MGMT_PREFIX, $STATE_DIRECTORY, /var/lib/mgmt for root, else $XDG_STATE_HOME/mgmt)")
	cmd.Flags().BoolVar(&s.temp, "tmp-prefix", false, "keep state in a temporary folder and remove it at the end")
	cmd.MarkFlagsMutuallyExclusive("prefix", "tmp-prefix")
}

// dir returns the folder, made if it was missing; empty for a temporary one.
func (s *state) dir() (string, error) {
	if s.temp {
		return "", nil
	}
	dir := cmp.Or(s.prefix, os.Getenv("MGMT_PREFIX"), os.Getenv("STATE_DIRECTORY"))
	if dir == "" {
		var err error
		if dir, err = defaultDir(); err != nil {
			return "", err
		}
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("the state folder cannot be made, name another one with --prefix: %w", err)
	}
	return dir, nil
}

func defaultDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/mgmt", nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mgmt"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("there is no home folder to keep state in, use --prefix or --tmp-prefix")
	}
	return filepath.Join(home, ".local", "state", "mgmt"), nil
}
