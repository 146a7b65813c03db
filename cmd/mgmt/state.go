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
	s.prefixFlag(cmd)
	cmd.Flags().BoolVar(&s.temp, "tmp-prefix", false, "keep state in a temporary folder and remove it at the end")
	cmd.MarkFlagsMutuallyExclusive("prefix", "tmp-prefix")
}

func (s *state) prefixFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.prefix, "prefix", "", "the `folder` with the state (default $MGMT_PREFIX, $STATE_DIRECTORY, /var/lib/mgmt for root, else $XDG_STATE_HOME/mgmt)")
}

// dir returns the folder, made if it was missing; empty for a temporary one.
func (s *state) dir() (string, error) {
	if s.temp {
		return "", nil
	}
	dir, err := s.path()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("the state folder cannot be made, name another one with --prefix: %w", err)
	}
	return dir, nil
}

// path returns the folder, there or not.
func (s *state) path() (string, error) {
	dir := cmp.Or(s.prefix, os.Getenv("MGMT_PREFIX"), os.Getenv("STATE_DIRECTORY"))
	if dir == "" {
		var err error
		if dir, err = defaultDir(); err != nil {
			return "", err
		}
	}
	return filepath.Abs(dir)
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
