package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/planning"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/digest"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/rules"
	"github.com/reactivegraph/mgmt/resources/internal/watches"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("download", func() engine.Res { return &Res{} })
}

var (
	_ engine.RefreshableRes = (*Res)(nil)
	_ engine.SendableRes    = (*Res)(nil)
	_ engine.RecvableRes    = (*Res)(nil)
	_ engine.ClashingRes    = (*Res)(nil)
	_ engine.ReversibleRes  = (*Res)(nil)
	_ planning.PartlyRooted = (*Res)(nil)
	_ engine.Readable       = (*Res)(nil)
	_ engine.SharedRes      = (*Res)(nil)
	_ engine.OverlappingRes = (*Res)(nil)
	_ engine.DescribedRes   = (*Res)(nil)
)

// Res is a file that comes from a server.
type Res struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Recvable
	traits.Refreshable
	traits.Reversible
	traits.Sendable
	files.One

	Path     string `yaml:"path" lang:"path" mgmt:"identity" doc:"Absolute path of the file; the name if absent."`
	URL      string `yaml:"url" lang:"url" mgmt:"param,required" doc:"Where it comes from: http, https or file."`
	Checksum string `yaml:"checksum" lang:"checksum" doc:"The checksum of the content: sha256: or sha512: and the digits."`

	Owner string      `yaml:"owner" lang:"owner" doc:"Name or number of the user who owns it."`
	Group string      `yaml:"group" lang:"group" doc:"Name or number of the group that it belongs to."`
	Mode  schema.Mode `yaml:"mode" lang:"mode" doc:"Permissions, octal or symbolic, as of a file."`

	Headers   map[string]schema.Secret `yaml:"headers" lang:"headers" mgmt:"writeonly" doc:"Headers of the request, such as Authorization. They are not sent to another host that the server refers to."`
	Timeout   time.Duration            `yaml:"timeout" lang:"timeout" mgmt:"param" doc:"How long all of it may take; 0 for as long as it takes."`
	MaxSize   schema.Size              `yaml:"max_size" lang:"max_size" mgmt:"param" doc:"The largest content that is taken; 0 for any."`
	Redirects int                      `yaml:"redirects" lang:"redirects" mgmt:"param,min=0,max=100" doc:"How often the server may refer to another place, one after the other."`

	Holds *schema.Secret `yaml:"holds" lang:"holds" mgmt:"readonly" doc:"The content of the file, if that is not more than 8 MiB. It is not shown."`

	// init is of one life of the resource, from Init to Cleanup.
	init *engine.Init
	// file tells the other files of the graph that Path is managed.
	// seen saves the reading of an unchanged file.
	seen *seen
}

// Sends is what a download sends.
type Sends struct {
	Path     string `yaml:"path" lang:"path" doc:"Where the file is."`
	Checksum string `yaml:"checksum" lang:"checksum" doc:"The checksum of its content: the SHA-256, unless another one is asked for."`
}

// Default returns a download of not more than a gigabyte in ten minutes.
func (r *Res) Default() engine.Res {
	return &Res{Timeout: 10 * time.Minute, MaxSize: 1 << 30, Redirects: 10}
}

// made returns the file as all kinds see it whose files are made by a program.
func (r *Res) made() file.Made {
	return file.Made{Path: cmp.Or(r.Path, r.Name()), Owner: r.Owner, Group: r.Group, Mode: r.Mode}
}

// source returns the path that a file URL has; empty for others.
func (r *Res) source() string {
	if u, err := url.Parse(r.URL); err == nil && u.Scheme == "file" {
		return u.Path
	}
	return ""
}

// Validate checks the parameters. No error shows the address or a header: there may be
// a secret in it.
func (r *Res) Validate() error {
	errs := r.made().Validate()
	if r.URL != "" || r.Recv()["url"] == nil {
		errs = append(errs, r.validateURL())
	}
	if r.Checksum != "" {
		_, err := digest.New(r.Checksum)
		errs = append(errs, err)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		errs = append(errs, validateHeader(name, r.Headers[name].Reveal()))
	}
	return errors.Join(append(errs, rules.Broken([]rules.Rule{
		{If: r.Timeout < 0, Text: "timeout must not be negative"},
		{If: r.MaxSize < 0, Text: "max_size must not be negative"},
		{If: r.Redirects < 0, Text: "redirects must not be negative"},
	})...)...)
}

// validateURL refuses an address that is none, or with a password in it: addresses stand in logs
// of servers and proxies.
func (r *Res) validateURL() error {
	u, err := url.Parse(r.URL)
	if err != nil {
		return errors.New("url is no address")
	}
	switch {
	case r.URL == "":
		return errors.New("url is missing")
	case u.User != nil:
		return errors.New("url has a user or a password in it: give a header Authorization for that")
	case u.Scheme == "file" && (u.Host != "" && u.Host != "localhost" || files.PlainPath("url", u.Path) != nil):
		return errors.New("url has to be file:// and an absolute path of a file")
	case u.Scheme == "file" && path.Clean(u.Path) == path.Clean(r.made().Path):
		return errors.New("url is the path itself")
	case u.Scheme == "file":
		return nil
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("url has to begin with http://, https:// or file:///")
	}
	return nil
}

// headerName is a token by RFC 9110, section 5.6.2.
var headerName = lazyregexp.New("^[A-Za-z0-9!#$%&'*+.^_|~-]+$")

// ownHeaders are the headers that the request sets by itself.
var ownHeaders = []string{"host", "range", "content-length", "transfer-encoding", "connection", "if-none-match", "if-modified-since"}

// validateHeader refuses a header that would be another one on the wire. A control character could
// begin a second header.
func validateHeader(name, value string) error {
	switch {
	case !headerName.MatchString(name):
		return fmt.Errorf("headers: %q is no name of a header", name)
	case slices.Contains(ownHeaders, strings.ToLower(name)):
		return fmt.Errorf("headers: %s is not for you to give", name)
	case strings.ContainsFunc(value, unicode.IsControl):
		return fmt.Errorf("headers: the value of %s has a control character in it", name)
	}
	return nil
}

// Init keeps the handle, and tells the files of the graph that this one is managed.
// A new Init forgets what was seen, since another graph may have other files. Cleanup is that of files.One.
func (r *Res) Init(init *engine.Init) error {
	r.init, r.seen = init, &seen{}
	r.Manage(init, r.made().Path)
	return nil
}

// Watch waits for changes of the file, and of its local source. A server tells of no change: poll
// asks it.
// A watch of a file that is replaced by a rename goes on with the new file.
func (r *Res) Watch(ctx context.Context) error {
	paths := []string{r.made().Path}
	if p := r.source(); p != "" {
		paths = append(paths, p)
	}
	return watches.Paths(ctx, r.init, paths, events.Options{})
}

// Cmp compares the parameters.
func (r *Res) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }

// Sends returns the type of the sent values.
func (*Res) Sends() any { return &Sends{} }

// Read returns the file as it is; nil if there is none.
func (r *Res) Read(ctx context.Context) (engine.Res, error) {
	m := r.made()
	d, err := digest.New(r.Checksum)
	if err != nil {
		return nil, err
	}
	is, sum, err := m.Read(ctx, r.init, d)
	if err != nil || sum == "" {
		return nil, err
	}
	got := &Res{
		Path: r.Path, URL: r.URL, Checksum: sum, Owner: is.Owner, Group: is.Group, Mode: is.Mode,
		Timeout: r.Timeout, MaxSize: r.MaxSize, Redirects: r.Redirects, Holds: is.Holds,
	}
	got.SetKind(r.Kind())
	got.SetName(r.Name())
	return got, nil
}

// Reversed returns the resource that brings back the old file, or removes ours.
func (r *Res) Reversed(before engine.Res) (engine.Res, error) {
	if before == nil {
		return r.made().Reversed(r, nil)
	}
	was, ok := before.(*Res)
	if !ok {
		return nil, fmt.Errorf("%s can't go back to a %s", r, before.Kind())
	}
	return r.made().Reversed(r, &file.Made{Path: was.made().Path, Owner: was.Owner, Group: was.Group, Mode: was.Mode, Holds: was.Holds})
}

// RootedPart returns the one that copies a file of the machine; of what is on the net nothing is known before a run.
func (r *Res) RootedPart() (part engine.Res, writes, fields []string) {
	writes = []string{path.Clean(r.made().Path)}
	if r.source() == "" {
		return nil, writes, nil
	}
	copies := &Res{Path: r.Path, URL: r.URL, Checksum: r.Checksum, Mode: r.Mode, Timeout: r.Timeout, MaxSize: r.MaxSize}
	copies.SetKind(r.Kind())
	copies.SetName(r.Name())
	return copies, writes, []string{"", "checksum", "mode", "owner", "group"}
}

// UIDs names the file.
func (r *Res) UIDs() []autoedge.UID {
	return []autoedge.UID{traits.FileUID(autoedge.UIDOf(r), path.Clean(r.made().Path))}
}

// AutoEdges wants the file that it is copied from, the owner, the group, and the edges of every
// file.
func (r *Res) AutoEdges() (autoedge.Needs, error) {
	w := edges.New(r)
	w.Written(r.made().Path)
	if p := r.source(); p != "" {
		w.Path(p)
	}
	w.Account(r.Owner, r.Group)
	return w, nil
}

// Clashes says that another one writes the file, too.
func (r *Res) Clashes(other engine.Res) error {
	o, ok := other.(*Res)
	if !ok {
		return files.Clash(r, other)
	}
	if engine.CmpFields(r, o) != nil {
		return errors.New("they want different contents, owners or modes")
	}
	return nil
}

// Doc describes the kind.
func (*Res) Doc() string {
	return `A file that comes from a server by http or https, or from another place of the machine.

    download:
    - name: /opt/app.tar.gz
      url: https://example.com/app-1.2.tar.gz
      checksum: sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
      mode: "0644"

The content is fetched into a private folder first, and its checksum is compared. Only a complete and right download takes the place
of the file, at once: a reader sees the old one or the new one. A server that can't be reached, that answers with anything but the
content, or that sends too much, is an error, after which the file is as it was; ` + "`retry`" + ` says how often that is tried
again. Nothing goes on where it was broken off.

## With a checksum

A file that has it is right, and the server is not asked. MD5 and SHA-1 are refused: others could make a content that has the
same one.

## Without a checksum

The file is right if it is as it came from this address, and the server still has the same one. It is asked each time that the file is looked at: at the
start, when the file was altered, and as often as the metaparameter ` + "`poll`" + ` says. That costs one short answer where the server gives an ETag or a time of change
with the content, which is remembered. If it gives neither it is not asked, and a notification has the content fetched anew, as it
always does. The new content is unknown to a plan, which asks the server but fetches nothing.

## The request

` + "`headers`" + ` are secrets, and are shown nowhere. They are sent to the host of the address only, and not to others that it refers to. A redirect from https to http is not followed. Proxies are those of the environment of mgmt: HTTP_PROXY, HTTPS_PROXY and NO_PROXY. Compression on the way is not
unpacked: the request does not ask for it.

With the metaparameter ` + "`reverse: true`" + ` the earlier file comes back when the resource leaves the graph, with its owner, group and mode as far as they were managed. A file that was not there before is removed. A file of more than 8 MiB is not kept, and so can't come back: that is said before it is
replaced.

The path and the checksum are sent, for others to receive; with ` + "`sha256`" + ` unless another one was given.`
}
