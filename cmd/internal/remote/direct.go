package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/cmd/internal/show"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
)

// Direct connects a verb to a store with the operator's certificate, without the daemon, which has only its host's rights.
// Its flags are read from the command line only, because the settings name the daemon's store and certificate.
type Direct struct {
	Place  string
	Models string   // the folder of the models, as the daemons have it
	Trust  []string // files with public keys that may have signed the records of the hosts
	Server string   // another daemon in the place of a store: HOST:PORT of its api_listen. It excludes Place
	Access store.Access
	world  *etcd.World // nil before Open, which the verb calls on the goroutine that calls Close
	// A goroutine of the client tells of a lost connection, so the warnings of the store go through it until Close.
	screen *show.Screen // nil before the first use
	log    *slog.Logger
	// unlisted says that the user was told that the list of removed hosts can't be read. The requests of a verb come one after another.
	unlisted bool
}

// Flags adds the flags that name the store and its user. They are not settings: see Direct.
func (d *Direct) Flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&d.Place, "world", "", "query this `store` instead of a daemon: "+etcd.Form)
	fl.StringVar(&d.Access.Cert, "cert", "", "your client certificate `file` for --world")
	fl.StringVar(&d.Access.Key, "key", "", "key `file` for --cert")
	fl.StringVar(&d.Access.CA, "ca", "", "CA certificate `file` that verifies the servers of --world")
	fl.StringVar(&d.Access.User, "user", "", "user `name` for --world, unless a certificate gives it")
	fl.StringVar(&d.Access.PasswordFile, "password-file", "", "`file` with the password of --user")
	for _, name := range []string{"cert", "key", "ca", "password-file"} {
		_ = cmd.MarkFlagFilename(name)
	}
}

// ObjectFlags adds the flags of the verbs about objects: --server for another daemon, which uses the same certificates, and
// --models for a store. A daemon has its own models, so --server takes none.
func (d *Direct) ObjectFlags(cmd *cobra.Command) {
	d.ServerFlags(cmd)
	d.ModelsFlag(cmd)
	if cmd.Flags().Lookup("trust") == nil {
		cmd.Flags().StringArrayVar(&d.Trust, "trust", nil, "for secrets in --world, also accept host records signed with the key of this public key `file`; may be repeated")
	}
	cli.Exclude(cmd, "server", "models")
}

// ModelsFlag adds the flag of the models of a store.
func (d *Direct) ModelsFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.Models, "models", "", "`folder` of models for --world, the same as that of its daemons")
	_ = cmd.MarkFlagDirname("models")
}

// ServerFlags adds the flags of Flags and --server.
func (d *Direct) ServerFlags(cmd *cobra.Command) {
	d.Flags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&d.Server, "server", "", "query the daemon at this `address` of another machine, with --cert, --key and --ca")
	cli.Exclude(cmd, "server", "world")
	for _, name := range []string{"cert", "key", "ca"} {
		flag := fl.Lookup(name)
		flag.Usage = strings.Replace(flag.Usage, "of --world:", "of --world and --server:", 1)
	}
}

// Given reports whether the verb connects to a store itself. A flag that needs --world counts even without it, so that the
// error names what is missing. With --server the certificate is for that daemon.
// If Given is false and no server is named, the verb asks the daemon on the socket.
func (d *Direct) Given() bool {
	return d.Server == "" && (d.Place != "" || d.Models != "" || d.Access != (store.Access{}))
}

// Open connects to the store on first use. Unreachable servers are an error. The caller must call Close.
func (d *Direct) Open(ctx context.Context, a *cli.App) (*etcd.World, error) {
	if d.world != nil {
		return d.world, nil
	}
	if d.Place == "" {
		return nil, fmt.Errorf("no store is named: write --world %s", etcd.Form)
	}
	// The daemon locks a store in a file, so no second process can open it.
	if !strings.HasPrefix(d.Place, etcd.Scheme) {
		return nil, fmt.Errorf("--world=%s: a verb asks only a store in etcd itself, write --world %s; any other store is asked through its daemon, without --world", d.Place, etcd.Form)
	}
	d.screen = show.NewScreen(a.Err, nil)
	// Only warnings are shown, such as that of a connection without encryption.
	d.log = slog.New(show.LineLog(d.screen, render.Style{Short: true}, slog.LevelWarn))
	w, err := d.Access.Connect(ctx, d.Place, cli.Hostname(), d.log)
	d.world = w
	if err != nil {
		return nil, fmt.Errorf("--world=%s: %w", d.Place, errors.Join(err, d.Close()))
	}
	return w, nil
}

// Close closes the store and returns once its warnings are written.
// It is safe to call without an open store, and more than once.
func (d *Direct) Close() (err error) {
	if d.world != nil {
		err = d.world.Close()
	}
	if d.screen != nil {
		d.screen.Close()
	}
	d.world, d.screen = nil, nil
	return err
}

// Transport returns a transport that serves API requests from the store with the daemon's handlers.
// It opens the store at the first request; Close closes it.
func (d *Direct) Transport(a *cli.App) http.RoundTripper {
	return RoundTripper(func(r *http.Request) (*http.Response, error) {
		w, err := d.Open(r.Context(), a)
		if err != nil {
			return nil, err
		}
		// The folder is that of the flag alone: the setting models is about the daemon of this machine.
		if err := a.LoadModels(d.Models).Err(); err != nil {
			return nil, err
		}
		return newLocal(a, w, d.readers(a, w), d.removed(a, w)).RoundTrip(r)
	})
}

// readers returns a function that reads the recipients of a topic, as the operator has signed them.
func (d *Direct) readers(a *cli.App, w world.World) func(context.Context, string) ([]string, error) {
	return func(ctx context.Context, topic string) ([]string, error) {
		f := Signing{App: a, Trust: d.Trust}
		keys, err := f.Known()
		if err == nil && len(keys) == 0 {
			err = errors.New("nobody can say which hosts read a secret: name the public key that has signed the records of the hosts by --trust, or have it in deploy.key.pub in the folder mgmt of your configuration")
		}
		if err != nil {
			return nil, err
		}
		fleet, err := f.Fleet(ctx, w, keys)
		if err != nil {
			return nil, err
		}
		return fleet.Readers(topic), nil
	}
}

// removed returns a function that reads which hosts the operator has removed. Without a key nobody can say that, and where the records cannot be read
// no host counts as removed: then a removal waits for one host too many, which it names, and a warning says why.
func (d *Direct) removed(a *cli.App, w world.World) func(context.Context) func(string) bool {
	return func(ctx context.Context) func(string) bool {
		f := Signing{App: a, Trust: d.Trust}
		fleet := &deploy.Fleet{}
		keys, err := f.Known()
		if err == nil && len(keys) > 0 {
			fleet, err = f.Fleet(ctx, w, keys)
		}
		if err != nil {
			if fleet = (&deploy.Fleet{}); !d.unlisted {
				d.log.Warn("the list of removed hosts can't be read: a removal waits for these, too", "error", err)
			}
			d.unlisted = true
		}
		return fleet.Removed
	}
}

// RoundTripper adapts a function to http.RoundTripper, like http.HandlerFunc.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// local is a server of objects in this process. A request comes over no connection, so its handlers let it write; the
// store decides about the rights of its user.
type local struct{ server *httpd.Server }

// newLocal makes the server of a store.
// Its log is discarded: an error of a request is the error of the verb.
func newLocal(a *cli.App, w world.World, readers func(context.Context, string) ([]string, error), removed func(context.Context) func(string) bool) *local {
	nb := daemon.Objects(w, a.Tables(), daemon.ObjectOptions{Host: cli.Hostname(), Secrets: &trust.Secrets{World: w, Readers: readers}, Log: slog.New(slog.DiscardHandler)})
	s := &httpd.Server{}
	about := api.Describe(httpd.Info{Title: "Objects", Version: cli.Version()}, nb.Registry())
	s.Table = httpd.MustTable(about, api.New(api.Options{NB: nb, Removed: removed}, func() *httpd.Server { return s }).Routes())
	return &local{s}
}

// RoundTrip implements http.RoundTripper. The body of the answer is written while it is read; closing it ends the request.
// The goroutine ends when the handler has ended. A reader that stops early closes the body, which
// ends the context of the handler.
func (l *local) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	r = r.Clone(ctx)
	r.RequestURI = r.URL.RequestURI()
	in, out := io.Pipe()
	a := &localAnswer{header: http.Header{}, body: out, begun: make(chan struct{})}
	go func() {
		defer cancel()
		l.server.ServeHTTP(a, r)
		// A handler that writes nothing means 200, as for a server of net/http. Later calls have no
		// effect.
		a.WriteHeader(http.StatusOK)
		_ = out.Close()
	}()
	select {
	case <-a.begun:
	case <-ctx.Done():
		<-a.begun // the handler ends with its context
	}
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Header: a.header, Request: r, ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: -1, Body: &localBody{in, cancel},
	}, nil
}

// localAnswer is an answer while it is written. Its header counts as it is at the first write.
type localAnswer struct {
	header http.Header
	body   *io.PipeWriter
	status int
	once   sync.Once
	begun  chan struct{} // closed when the status is known
}

// Header implements http.ResponseWriter.
func (a *localAnswer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. The first call counts.
func (a *localAnswer) WriteHeader(status int) {
	a.once.Do(func() {
		// The copy belongs to the reader: the handler may still alter its own header, which no longer
		// counts.
		a.status, a.header = status, a.header.Clone()
		close(a.begun)
	})
}

// Write implements http.ResponseWriter.
func (a *localAnswer) Write(text []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(text)
}

// Flush implements http.Flusher: nothing is held back.
func (a *localAnswer) Flush() {}

// localBody ends the request when its reader closes it.
type localBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *localBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}
