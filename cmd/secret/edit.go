package secret

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/cmd/internal/vault"
	"github.com/reactivegraph/mgmt/engine/seal"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/unix"
)

// ofRecipients reports whether the keys on the way to a value lead into the list.
// Recipients are public, and the verbs read them before they have an identity.
func ofRecipients(path []string) bool { return len(path) > 0 && path[0] == vault.RecipientsKey }

// vaultFile is a file of secrets that a verb alters. It holds no value in the clear. The verb that opened it owns it, and
// writes it at most once.
type vaultFile struct {
	path string
	// src is the text as it was read; nil where the file is not there.
	src []byte
	// recipients is sorted and has no doubles; empty where the file names none.
	recipients []string
}

// openVault reads a file of secrets with its recipients. A missing file is an empty one,
// whose src is nil: the verbs that need one say so themselves.
func openVault(a *cli.App, path string) (*vaultFile, error) {
	v := &vaultFile{path: path}
	if n := yaml.NotationOf(path); n.IsDocument() && n.Rewrite == nil {
		return nil, fmt.Errorf("%s: a file of secrets that mgmt writes is in YAML: give it a name such as secrets.yaml", path)
	}
	src, err := inputs.ReadNamed(a, path)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	v.src = src
	v.recipients, err = vault.RecipientsOf(path, src)
	return v, err
}

// replace writes the file anew, in one step, unless another program has altered it since it was read. An editor can be open
// for hours, and two people may edit the same file. The file stays then as the other one has left it.
// Another program may still write between the comparison and the replacement. That is a moment,
// and the hours of an editor are not.
func (v *vaultFile) replace(a *cli.App, text []byte) error {
	now, err := inputs.ReadNamed(a, v.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(now, v.src) {
		return fmt.Errorf("%s has been altered meanwhile, and stays as it is: do it again", v.path)
	}
	return cli.WriteFile(v.path, text)
}

// noRecipients tells how to name recipients.
// There is no default: a value that is encrypted to the wrong list is lost, or is read by others.
func (v *vaultFile) noRecipients() error {
	return fmt.Errorf("%s says not to whom its values are encrypted: write the list at its top, as in %s: [age1...]", v.path, vault.RecipientsKey)
}

// newSecretRekey makes the verb secret rekey.
// A machine or a person comes or leaves: the list in the file is altered, and then all values are encrypted to it. All files
// are read before the first one is written, so that a value that can't be read leaves none of them half done.
func newSecretRekey(a *cli.App) *cobra.Command {
	var identity string
	cmd := &cobra.Command{
		Use:   "rekey FILE...",
		Short: "Re-encrypt the values of secret files to their recipients",
		Long: `Rekey decrypts every value and encrypts it to the recipients at the top of its
file; plain values are encrypted, too. Use it after adding or removing a recipient.
A removed recipient still knows the old values, so change the secrets themselves.

If any value can't be decrypted, rekey writes nothing.`,
		Example: `  mgmt secret rekey secrets.yaml --identity ~/age.key`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			unseal := vault.IdentityOf(identity)
			var files []*vaultFile
			var texts [][]byte
			var errs []error
			// A file that is named twice is read and written once.
			slices.Sort(args)
			for _, path := range slices.Compact(args) {
				v, text, err := rekeyed(a, path, unseal)
				files, texts, errs = append(files, v), append(texts, text), append(errs, err)
			}
			if err := errors.Join(errs...); err != nil {
				return err
			}
			// From here on, a full disk or another writer can stop it. Each file is whole then,
			// and a second rekey does the rest.
			for i, v := range files {
				errs = append(errs, v.replace(a, texts[i]))
			}
			return errors.Join(errs...)
		},
	}
	cli.Bind(cmd, "identity", (*cli.Place)(&identity))
	cli.GuardFlag(a, cmd) // a writer of the list of recipients gets the values
	return cmd
}

// rekeyed returns a file and its text with all values encrypted anew.
// A value in the clear is encrypted, too: a person who has pasted one means that.
// Equal values get different cipher texts, so each line of the file changes.
// It reads and writes nothing, apart from the file that it opens. The text is the caller's to
// write.
func rekeyed(a *cli.App, path string, unseal func(string) (string, error)) (*vaultFile, []byte, error) {
	v, err := openVault(a, path)
	switch {
	case err != nil:
		return nil, nil, err
	case v.src == nil:
		return nil, nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	case len(v.recipients) == 0:
		return nil, nil, v.noRecipients()
	}
	text, err := yaml.MapTexts(v.src, func(path []string, text string) (string, error) {
		if ofRecipients(path) {
			return text, nil
		}
		clear, err := unseal(text)
		if err != nil {
			return "", err
		}
		return seal.Seal(v.recipients, clear)
	})
	return v, text, vault.InFile(path, err)
}

// newSecretEdit makes the verb secret edit.
// It edits a whole file, and not one value: several values often change together, such as a certificate and its key. The
// cipher texts of the others stay, so a diff of the file shows which values were altered, and never how.
func newSecretEdit(a *cli.App) *cobra.Command {
	var identity string
	var to []string
	cmd := &cobra.Command{
		Use:   "edit FILE",
		Short: "Edit a secret file decrypted, and encrypt it again",
		Long: `Edit opens a secret file in $VISUAL or $EDITOR with its values decrypted. When the
editor exits, edit encrypts each changed or new value to the recipients at the top
of the file. Unchanged values keep their ciphertext, unless the recipients changed.
If anything is wrong, the file stays as it was.

The decrypted text is kept in a private folder in memory, never on disk, and removed
at exit. Have the editor put its own copies, such as swap files, in that folder.`,
		Example: `  mgmt secret edit secrets.yaml --identity ~/age.key
  mgmt secret edit new.yaml --to age1...`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := openVault(a, args[0])
			if err != nil {
				return err
			}
			if len(to) > 0 && v.src != nil {
				return fmt.Errorf("--to is for a new file, and %s is there: edit its list of %s", v.path, vault.RecipientsKey)
			}
			text, err := editVault(cmd.Context(), a, v, to, vault.IdentityOf(identity))
			if err != nil || text == nil {
				return err
			}
			return v.replace(a, text)
		},
	}
	cli.Bind(cmd, "identity", (*cli.Place)(&identity))
	cli.GuardFlag(a, cmd)
	cmd.Flags().StringArrayVar(&to, "to", nil, "age `recipient` of a new file, such as age1...; may be repeated")
	return cmd
}

// editVault returns the text of a file after an edit, nil where nothing was altered. All faults of the edited text come at
// once. The values of the file before are needed in the clear, so an unreadable value is an error before the editor starts.
func editVault(ctx context.Context, a *cli.App, v *vaultFile, to []string, unseal func(string) (string, error)) ([]byte, error) {
	// A zero byte separates the keys, since a slash may be part of one.
	sealed := map[string][2]string{} // by the keys on the way: the clear text, and its cipher text
	clear := []byte(vault.RecipientsKey + ": [" + strings.Join(to, ", ") + "]\n# Write secrets below, as in:\n# db:\n#   password: text\n")
	switch {
	case v.src == nil && len(to) == 0:
		return nil, fmt.Errorf("%s is a new file: name whom its values are for with --to", v.path)
	case v.src != nil:
		text, err := yaml.MapTexts(v.src, func(path []string, text string) (string, error) {
			clear, err := unseal(text)
			if seal.Is(text) && err == nil {
				sealed[strings.Join(path, "\x00")] = [2]string{clear, text}
			}
			return clear, err
		})
		if err != nil {
			return nil, vault.InFile(v.path, err)
		}
		clear = text
	}
	after, err := edited(ctx, a, filepath.Base(v.path), clear)
	if err != nil {
		return nil, err
	}
	// An unchanged text writes nothing, so the file keeps its cipher texts and its time.
	if bytes.Equal(after, clear) { // an editor with a window of its own may have returned at once
		fmt.Fprintf(a.Err, "%s stays as it was: the editor has ended without a change\n", render.Visible(v.path))
		return nil, nil
	}
	recipients, err := vault.RecipientsOf(v.path, after)
	if err != nil {
		return nil, err
	}
	if len(recipients) == 0 {
		return nil, v.noRecipients()
	}
	// A new list of recipients concerns every value. Otherwise an equal value keeps its cipher
	// text.
	anew := v.src != nil && !slices.Equal(recipients, v.recipients)
	text, err := yaml.MapTexts(after, func(path []string, text string) (string, error) {
		if was, ok := sealed[strings.Join(path, "\x00")]; ok && was[0] == text && !anew {
			return was[1], nil
		}
		if ofRecipients(path) {
			return text, nil
		}
		clear, err := unseal(text) // a cipher text that was pasted in, perhaps for others
		if err != nil {
			return "", err
		}
		return seal.Seal(recipients, clear)
	})
	if err != nil {
		return nil, vault.InFile(v.path, err)
	}
	return text, v.leaks(text, sealed)
}

// tellingText is how long a line of a secret must be to be looked for: a shorter one is a part of other words.
const tellingText = 6

// leaks returns an error where a text has a secret of the file in the clear. Keys and comments stay as they are written, so a value that was
// made a comment would else be on the disk. A line that was in the file before is no news, and passes. The errors name the secrets, and have
// no part of them.
func (v *vaultFile) leaks(text []byte, sealed map[string][2]string) error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(sealed)) {
		for line := range strings.Lines(sealed[key][0]) {
			line = strings.TrimSpace(line)
			if len(line) >= tellingText && bytes.Contains(text, []byte(line)) && !bytes.Contains(v.src, []byte(line)) {
				errs = append(errs, fmt.Errorf("%s: a comment or a key would have a part of the secret %s in the clear: remove it; the file stays as it was",
					v.path, strings.ReplaceAll(key, "\x00", "/")))
				break
			}
		}
	}
	return errors.Join(errs...)
}

// edited has a person edit a text, and returns the text after that. It blocks until the editor ends, or the context, which
// a signal ends. The folder is removed in each case but a kill -9. Then the text stays in memory until the next edit of
// that user, or the next boot. Its owner and root alone can read it.
func edited(ctx context.Context, a *cli.App, name string, text []byte) (after []byte, err error) {
	dir, lock, err := memoryFolder()
	if err != nil {
		return nil, err
	}
	// The folder goes before its lock does, so no other edit takes it for a folder of a killed
	// edit.
	defer func() { err = errors.Join(err, os.RemoveAll(dir), lock.Close()) }()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi")
	// The setting may have options, so a shell divides it, as git has it. The
	// folder is the working folder, since editors put their swap files there. The
	// standard streams are those of the verb: an editor needs the terminal.
	c := exec.CommandContext(ctx, "/bin/sh", "-c", editor+` "$1"`, "sh", path)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = dir, a.In, a.Out, a.Err
	c.ExtraFiles = []*os.File{lock} // an editor that outlives this process keeps its folder
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("the editor %q: %w; the file stays as it was", editor, err)
	}
	// Many editors write a new file and rename it, so the path is opened anew after the edit.
	f, _, err := gapi.Source{}.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	after, err = io.ReadAll(io.LimitReader(f, yaml.DefaultMaxBytes+1))
	if len(after) > yaml.DefaultMaxBytes {
		err = fmt.Errorf("the edited text of %s has more than %d bytes: divide it into several files; the file stays as it was", name, yaml.DefaultMaxBytes)
	}
	return after, errors.Join(err, f.Close())
}

// folderPattern names the private folders. A star stands for the part that no other folder has. Every version of mgmt has this name, so that
// each one removes what another one has left.
const folderPattern = "mgmt-secret-*"

// memoryFolder makes a private folder in a file system that is in memory, with a lock for as long as it is in use. The first place is the folder
// of a logged-in user, which systemd removes at the end of the session. A file system on a disk is never taken in its place: removed
// text can be read from a disk later. Folders that an edit has left which was killed are removed.
func memoryFolder() (dir string, lock *os.File, err error) {
	for _, parent := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm", "/run"} {
		var st unix.Statfs_t
		// A folder counts only on a tmpfs. Such memory may still go to swap, which is the
		// machine's to encrypt.
		if parent == "" || unix.Statfs(parent, &st) != nil || int64(st.Type) != unix.TMPFS_MAGIC || ofOther(parent) {
			continue
		}
		left, _ := filepath.Glob(filepath.Join(parent, folderPattern))
		for _, old := range left {
			// The lock is free where the edit was killed. A folder that is in use is left alone.
			if lock, err := lockFolder(old); err == nil {
				_ = errors.Join(os.RemoveAll(old), lock.Close())
			}
		}
		for try := 0; dir == "" && try < 3; try++ { // another edit may remove a folder that has no lock yet
			made, err := os.MkdirTemp(parent, folderPattern)
			if err != nil {
				break
			}
			if lock, err = lockFolder(made); err == nil {
				dir = made
			}
		}
	}
	if dir == "" {
		return "", nil, errors.New("no file system in memory is there for the text in the clear, neither in XDG_RUNTIME_DIR nor /dev/shm: mount a tmpfs at /dev/shm")
	}
	return dir, lock, nil
}

// ofOther reports whether a folder belongs to another user, and not to root. That user could put another folder in the place of a
// private folder. The environment of root may name such a folder after sudo.
func ofOther(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return true
	}
	st, ok := info.Sys().(*unix.FileStat)
	return ok && st.Uid != 0 && int(st.Uid) != os.Geteuid()
}

// lockFolder locks a folder of this user for this process, and for each process that gets the file. It does not wait. The lock ends with the last of these
// processes, however it ends.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	// Another edit may have removed the folder between the opening and the lock. Then the lock is
	// of no use.
	if _, lost := os.Lstat(dir); err == nil && lost != nil {
		err = lost
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
