package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// GuardFlag makes a verb that runs as root refuse graphs, types, backend descriptions and a state folder that another user
// can write: whoever can write such a file would have the rights of root. Call it after the flags that name those files.
// Verbs that only read and print do not need it.
func GuardFlag(a *App, cmd *cobra.Command) {
	Bind(cmd, "trust_others", &a.TrustOthers)
	a.Before(cmd, func() schema.Diagnostics {
		a.guarded = true
		return nil
	})
}

// Source returns the source of graphs and other input files, guarded as the verb and its flags demand.
// Call it for each file, since the flags count only after they are parsed.
func (a *App) Source() gapi.Source {
	if !a.guarded || a.TrustOthers || os.Geteuid() != 0 {
		return gapi.Source{Asker: a.Asking()}
	}
	s := guardedSource("or take it as it is with --trust-others")
	s.Asker = a.Asking()
	return s
}

// Asking returns the Asker that stats the files that a verb reads.
func (a *App) Asking() *gapi.Asker {
	if a.asker == nil {
		a.asker = &gapi.Asker{}
	}
	return a.asker
}

// Programs opens programs that a verb runs because a graph has them next to it. It applies the guard of Source to every verb.
// A verb that only reads and prints takes a graph of another user, but must not run her program with the rights of root. Such a
// verb has no flag for that, so the setting counts from wherever it is.
func (a *App) Programs() gapi.Source {
	if a.TrustOthers || os.Geteuid() != 0 || slices.Equal(a.Settled["trust_others"].Texts, []string{"true"}) {
		return gapi.Source{}
	}
	return guardedSource("or take it as it is with MGMT_TRUST_OTHERS=true")
}

// guardedSource refuses what another user could have written, with one more way out.
func guardedSource(hint string) gapi.Source {
	w := safepath.System()
	return gapi.Source{Guard: &w, Caller: sudoCaller(), Hint: hint}
}

// sudoCaller returns the user who runs the program as root by sudo; nil for none.
func sudoCaller() *safepath.User {
	// sudo(8) sets both variables. A user who has set them by hand is root already, and gains
	// nothing.
	uid, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 31)
	if err != nil || uid == 0 {
		return nil
	}
	gid, err := strconv.ParseUint(os.Getenv("SUDO_GID"), 10, 31)
	if err != nil {
		gid = 0
	}
	return &safepath.User{UID: int(uid), GID: int(gid)}
}

// Judge returns an error for keys and lists of trusted keys that another user can write, as Source does for graphs.
func (a *App) Judge(files ...string) error { return a.Source().Judge(files...) }

// ReadBounded reads a file, or in where the path is -.
func ReadBounded(from gapi.Source, in io.Reader, path string, most int64) ([]byte, error) {
	if path == "-" {
		return gapi.ReadMost(in, most)
	}
	return from.Read(context.Background(), path, most)
}

// ReadPair reads a certificate with its key.
func ReadPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := gapi.ReadSmall(certFile)
	if err != nil {
		err = fmt.Errorf("%s: %w", certFile, err)
	}
	key, unread := gapi.ReadSmall(keyFile)
	if unread != nil {
		unread = fmt.Errorf("%s: %w", keyFile, unread)
	}
	if err := errors.Join(err, unread); err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// ReadKey reads the private key in a file.
func ReadKey(path string) (deploy.Key, error) {
	if err := gapi.Answers(path); err != nil {
		return deploy.Key{}, err
	}
	return deploy.ReadKey(path)
}
