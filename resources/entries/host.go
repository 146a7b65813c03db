package entries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/hostsfile"
	"github.com/reactivegraph/mgmt/resources/internal/provided"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
)

func init() { provided.Register("host", func() (*provider.Kind, error) { return hostKind(hostsPath) }) }

// hostsPath is the file of hosts(5), which the resolver asks before DNS on most machines.
const hostsPath = "/etc/hosts"

// hostKind is the kind host, whose lines are in this file if nothing else is said.
func hostKind(file string) (*provider.Kind, error) {
	return provider.New(hostDefinition(), func() provider.Provider { return &hosts{file: file} }, provider.Rooted())
}

// The form of a line is that of hosts(5).
// hostDefinition keeps the order of the namevars that hostNameOf expects.
func hostDefinition() provider.Definition {
	return provider.Definition{
		Name: "host",
		Doc: `A line of ` + "`/etc/hosts`" + `: a name of a machine, and its address.

A name can have one line of each family of addresses. The family follows from ` + "`ip`" + `; without that (to remove a name) both
are meant, unless the title, or ` + "`family`" + `, says one. If a name stands in the file more often than that, the first line is made
right and the others are removed.

All other lines stay as they are, byte for byte: comments, blank lines, and lines that are not entries. The file is
replaced at once.
The title is the name of the host, or ` + "`db ipv6`, or `db in /chroot/etc/hosts`, or `db ipv6 in /chroot/etc/hosts`" + `. Names are
compared, and written, in lower case.`,
		Attributes: []provider.Attribute{
			{Name: "hostname", Type: "Pattern[" + hostNamePattern + "]", Role: provider.Namevar, Doc: "The name: the first one of the line."},
			{Name: "family", Lend: schema.LendValue, Type: "Enum['', ipv4, ipv6]", Role: provider.Namevar, Doc: "The family of the address; empty for the family of ip, or else for both."},
			{Name: "target", Type: `Variant[Enum[''], Pattern[/\A\/[^\n]*\z/]]`, Role: provider.Namevar, Doc: "The file; empty for /etc/hosts."},
			{Name: "ensure", Lend: schema.LendValue, Type: provided.EnsureType, Default: provided.Present, HasDefault: true, Doc: "Whether the line is there."},
			{Name: "ip", Lend: schema.LendValue, Type: `Optional[Pattern[/\A[0-9]{1,3}(\.[0-9]{1,3}){3}\z/, /\A[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(%[0-9A-Za-z._-]+)?\z/]]`,
				Doc: "The address, of IPv4 or IPv6. It is needed to make a line."},
			{Name: "host_aliases", Lend: schema.LendName, Type: "Optional[Array[Pattern[" + hostNamePattern + "]]]", Doc: "The other names of the line, in their order."},
			{Name: "comment", Lend: schema.LendValue, Type: `Optional[Pattern[/\A([^\s[:cntrl:]]([^\n\r[:cntrl:]]*[^\s[:cntrl:]])?)?\z/]]`, Doc: "The text behind the # of the line."},
		},
		TitlePatterns: []provider.TitlePattern{
			{Pattern: `\A(?<hostname>\S+) (?<family>ipv[46]) in (?<target>\/.*)\z`},
			{Pattern: `\A(?<hostname>\S+) in (?<target>\/.*)(?<family>)\z`},
			{Pattern: `\A(?<hostname>\S+) (?<family>ipv[46])(?<target>)\z`},
			{Pattern: `\A(?<hostname>\S+)(?<family>)(?<target>)\z`},
			{Pattern: `\A(?<family>)(?<target>)`, Doc: "Any other text, with hostname as an own parameter."},
		},
		Require:  []provider.Relation{{Kind: "file", Titles: []string{"$target", hostsPath}}},
		Features: provider.Canonicalize | provider.SimpleGetFilter | provider.Collectable,
	}
}

// hostNamePattern is what hostsfile takes for a name: printable ASCII less blanks and #.
const hostNamePattern = `/\A[!-"$-~]+\z/`

// hosts is the provider of host.
// Each call reads the file again. The path is that of a test, or hostsPath.
type hosts struct{ file string }

// hostName is what a Name of a host holds.
// The family is empty when any line of the name is meant.
type hostName struct{ host, family, target string }

func hostNameOf(n provider.Name) hostName {
	v := n.Values()
	return hostName{v[0], v[1], v[2]}
}

// fam is the family as hostsfile has it.
func (n hostName) fam() hostsfile.Family {
	switch n.family {
	case "ipv4":
		return hostsfile.IPv4
	case "ipv6":
		return hostsfile.IPv6
	}
	return hostsfile.Any
}

// title is a text that the title patterns read back as the same name.
func (n hostName) title() string {
	t := n.host
	if n.family != "" {
		t += " " + n.family
	}
	if n.target != "" {
		t += " in " + n.target
	}
	return t
}

// record is also the answer for a name whose file could not be read, together with the error.
func (n hostName) record() provider.Record {
	return provider.Record{"title": n.title(), "hostname": n.host, "family": n.family, "target": n.target}
}

// path is the file of a target.
func (h *hosts) path(target string) string { return cmp.Or(target, h.file) }

// Canonicalize writes names in lower case, addresses in their short form, and finds
// out the family.
func (h *hosts) Canonicalize(_ context.Context, _ *provider.Runtime, records []provider.Record) ([]provider.Record, error) {
	for _, r := range records {
		if err := h.canonicalize(r); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// An address is written in the short form of RFC 5952, so two spellings are one value.
// canonicalize alters the record. Names are compared without regard to case, by RFC 4343; so lower
// case is the one form. A family that contradicts the address is an error of the declaration.
func (h *hosts) canonicalize(r provider.Record) error {
	r["hostname"] = strings.ToLower(provided.Str(r, "hostname"))
	if provided.Manages(r, "host_aliases") {
		list := provided.Strs(r, "host_aliases")
		for i := range list {
			list[i] = strings.ToLower(list[i])
		}
		r["host_aliases"] = provided.Array(list)
	}
	if provided.Str(r, "target") == h.file {
		r["target"] = ""
	}
	if !provided.Manages(r, "ip") {
		return nil
	}
	ip, err := netip.ParseAddr(provided.Str(r, "ip"))
	if err != nil {
		return fmt.Errorf("ip: %q is no address", provided.Str(r, "ip"))
	}
	family := familyOf(hostsfile.Entry{IP: ip})
	if is := provided.Str(r, "family"); is != "" && is != family {
		return fmt.Errorf("ip: %s is an address of %s, and family is %s", ip, family, is)
	}
	if r["ip"] = ip.String(); r["title"] == nil { // what Get returned has one, and the family that was asked for
		r["family"] = family
	}
	return nil
}

// familyOf is the word of the attribute family for the address of an entry. An IPv4 address that
// is mapped into IPv6 counts as IPv6.
func familyOf(e hostsfile.Entry) string {
	if e.Family() == hostsfile.IPv4 {
		return "ipv4"
	}
	return "ipv6"
}

// Get reads each file once.
func (h *hosts) Get(ctx context.Context, rt *provider.Runtime, f provider.Filter) iter.Seq2[provider.Record, error] {
	return func(yield func(provider.Record, error) bool) {
		if f.All {
			h.all(safepath.Of(rt.Host), yield)
			return
		}
		files := map[string]*hostsfile.File{}
		for _, name := range f.Names {
			n := hostNameOf(name)
			file, err := h.load(safepath.Of(rt.Host), files, n.target)
			if err == nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				if !yield(n.record(), err) {
					return
				}
				continue
			}
			if r, ok := h.find(file, n); ok && !yield(r, nil) {
				return
			}
		}
	}
}

// all yields all lines of the usual file.
func (h *hosts) all(by safepath.Walker, yield func(provider.Record, error) bool) {
	file, err := h.load(by, map[string]*hostsfile.File{}, "")
	if err != nil {
		yield(nil, err)
		return
	}
	seen := map[hostName]bool{}
	for _, e := range file.Entries() {
		n := hostName{strings.ToLower(e.Name), familyOf(e), ""}
		if seen[n] {
			continue
		}
		seen[n] = true
		if r, ok := h.find(file, n); ok && !yield(r, nil) {
			return
		}
	}
}

// It keeps the file for the other names of the same call.
// load reads the file of a target once for each call of Get. A missing file is an empty one, since
// Put can make it.
func (h *hosts) load(by safepath.Walker, files map[string]*hostsfile.File, target string) (*hostsfile.File, error) {
	if f := files[target]; f != nil {
		return f, nil
	}
	t, err := textfile.By(by, h.path(target), 0o644)
	if err != nil {
		return nil, err
	}
	text, _, err := t.Read()
	if err != nil {
		return nil, err
	}
	files[target] = hostsfile.Parse(text)
	return files[target], nil
}

// find returns the record of a name.
// Where several lines differ, the attributes that differ are left out, so all of them are
// made right.
func (h *hosts) find(f *hostsfile.File, n hostName) (provider.Record, bool) {
	var found []provider.Record
	for _, e := range f.Find(n.host, n.fam()) {
		r := n.record()
		r["ensure"], r["ip"], r["comment"] = provided.Present, e.IP.String(), e.Comment
		aliases := slices.Clone(e.Aliases)
		for i := range aliases {
			aliases[i] = strings.ToLower(aliases[i])
		}
		r["host_aliases"] = provided.Array(aliases)
		found = append(found, r)
	}
	if len(found) == 0 {
		return nil, false
	}
	return provided.Common(found), true
}

// Set edits each file once.
// A new file has mode 0644: every user's programs have to find names. A refused change does not
// keep the others of the file from being made.
func (h *hosts) Set(_ context.Context, rt *provider.Runtime, changes []provider.Change) error {
	for target, group := range provided.Groups(changes, func(c provider.Change) string { return hostNameOf(c.Name).target }) {
		t, err := textfile.By(safepath.Of(rt.Host), h.path(target), 0o644)
		provided.EditAll(rt.Log, t, err, group, hostsfile.Parse, h.put)
	}
	return nil
}

// put makes one change.
// Without an address and a family a name with lines of both families is an error: either
// line could be meant.
// Attributes that the resource does not manage keep the value of the first line that is found.
func (h *hosts) put(f *hostsfile.File, c provider.Change) error {
	n := hostNameOf(c.Name)
	if c.Should["ensure"] == provided.Absent {
		f.Remove(n.host, n.fam())
		return nil
	}
	var e hostsfile.Entry
	for i, found := range f.Find(n.host, n.fam()) {
		if i == 0 {
			e = found
		}
		if found.Family() != e.Family() {
			return errors.New("the name has addresses of both families: say by ip or family which line is meant")
		}
	}
	e.Name = n.host
	if provided.Manages(c.Should, "ip") {
		ip, err := netip.ParseAddr(provided.Str(c.Should, "ip"))
		if err != nil {
			return err
		}
		e.IP = ip
	}
	if provided.Manages(c.Should, "host_aliases") {
		e.Aliases = provided.Strs(c.Should, "host_aliases")
	}
	if provided.Manages(c.Should, "comment") {
		e.Comment = provided.Str(c.Should, "comment")
	}
	return f.Put(n.fam(), e)
}

// Files says in which file the line is.
func (h *hosts) Files(wanted provider.Record) []string {
	return []string{h.path(provided.Str(wanted, "target"))}
}

// Watch watches the usual file, and looks at all others every now and then.
func (h *hosts) Watch(ctx context.Context, rt *provider.Runtime, armed func(), changed func(...provider.Name)) error {
	return provided.WatchPaths(ctx, rt, []string{h.file}, events.Options{}, time.Minute, armed, changed)
}
