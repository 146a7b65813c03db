package notices

import (
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// Receiver is who is told of what. Exactly one of Journal, Webhook, Mail and Command is set.
type Receiver struct {
	Name   string `yaml:"name" doc:"The name of the receiver, by which its queue is found again." mgmt:"required,pattern=^[a-z0-9][a-z0-9_-]{0,63}$"`
	Filter string `yaml:"filter" doc:"A CEL expression over the fields of an event; the receiver is told of the events for which it is true. Without one, of every event."`

	Group   time.Duration `yaml:"group" doc:"How long to gather events into one message, from the first one on; 10s if absent." mgmt:"unit=s,max=1h"`
	MaxSize schema.Size   `yaml:"max_size" doc:"The size of the queue; the oldest messages above it are dropped. 1MiB if absent." mgmt:"min=65536,max=67108864"`
	MaxAge  time.Duration `yaml:"max_age" doc:"How long a message is kept for a receiver that does not take it; 24h if absent." mgmt:"unit=s,max=30d"`
	Timeout time.Duration `yaml:"timeout" doc:"How long one try may take; 30s if absent." mgmt:"unit=s,max=10m"`

	Journal bool     `yaml:"journal" doc:"Write a line to the log, with priority and fields."`
	Webhook *Webhook `yaml:"webhook" doc:"Post the message as JSON."`
	Mail    *Mail    `yaml:"mail" doc:"Send a mail with the agent of this machine."`
	Command []string `yaml:"command" doc:"Run this command, a program and its arguments, with the message as JSON on its standard input."`
}

// Webhook is a receiver over HTTP.
type Webhook struct {
	URL        string `yaml:"url" doc:"Where to post."`
	URLFile    string `yaml:"url_file" doc:"A file with the URL, where that is a secret itself."`
	SecretFile string `yaml:"secret_file" doc:"A file with the key of the signature, from 16 bytes on. With whsec_ in front it is base64."`
	CA         string `yaml:"ca" doc:"A file with the CA certificates that verify the server; those of the machine if absent."`
}

// Mail is a receiver by mail.
type Mail struct {
	To       []string `yaml:"to" doc:"The addresses to send to." mgmt:"required,min=1"`
	From     string   `yaml:"from" doc:"The address of the sender; that which the agent gives if absent."`
	Sendmail string   `yaml:"sendmail" doc:"The agent, a program that takes -t and -i as sendmail does; /usr/sbin/sendmail if absent."`
}

// maxReceivers bounds the goroutines and the memory of a configuration.
const maxReceivers = 32

// Sort names what the receiver is: journal, webhook, mail or command.
func (r *Receiver) Sort() string {
	switch {
	case r.Journal:
		return "journal"
	case r.Webhook != nil:
		return "webhook"
	case r.Mail != nil:
		return "mail"
	}
	return "command"
}

func (r *Receiver) complete() {
	r.Group, r.MaxAge, r.Timeout = cmp.Or(r.Group, 10*time.Second), cmp.Or(r.MaxAge, 24*time.Hour), cmp.Or(r.Timeout, 30*time.Second)
	r.MaxSize = cmp.Or(r.MaxSize, 1<<20)
}

// files returns the files that are read for the receiver.
func (r *Receiver) files() (list []*string) {
	if w := r.Webhook; w != nil {
		list = slices.DeleteFunc([]*string{&w.URLFile, &w.SecretFile, &w.CA}, func(f *string) bool { return *f == "" })
	}
	return list
}

// Parse reads a list of receivers in the form of the configuration, as YAML or JSON. The findings are all that is wrong with it.
func Parse(text string) ([]Receiver, schema.Diagnostics) {
	n, ds := yaml.Document("", []byte(text))
	if n == nil || ds.Err() != nil {
		return nil, ds
	}
	return Read(n)
}

// Read reads the list from a document. A relative path counts from the folder of the document.
func Read(n *schema.Node) ([]Receiver, schema.Diagnostics) {
	var list []Receiver
	ds := schema.Decode(n, &list)
	if n.Kind != schema.NodeList {
		return nil, ds
	}
	if len(list) > maxReceivers {
		ds.Errorf(n.Pos, "%d receivers, %d are the most", len(list), maxReceivers)
	}
	names := map[string]bool{}
	for i := range list {
		r, at := &list[i], n.Items[i]
		if names[r.Name] {
			ds.Errorf(at.At("name").Pos, "another receiver is called %s, too", r.Name)
		}
		names[r.Name] = true
		ds = append(ds, r.check(at)...)
		for _, f := range r.files() {
			if !filepath.IsAbs(*f) && n.Pos.File != "" {
				*f = filepath.Join(filepath.Dir(n.Pos.File), *f)
			}
		}
		r.complete()
	}
	if ds.Err() != nil {
		return nil, ds
	}
	return list, ds
}

// check says what is wrong beyond the types.
func (r *Receiver) check(at *schema.Node) (ds schema.Diagnostics) {
	wrong := func(path, format string, args ...any) { ds.Errorf(at.At(path).Pos, path+": "+format, args...) }
	var sorts []string
	for _, s := range []struct {
		has bool
		key string
	}{{r.Journal, "journal"}, {r.Webhook != nil, "webhook"}, {r.Mail != nil, "mail"}, {len(r.Command) > 0, "command"}} {
		if s.has {
			sorts = append(sorts, s.key)
		}
	}
	switch {
	case len(sorts) == 0:
		ds.Errorf(at.Pos, "a receiver needs one of journal: true, webhook, mail and command")
	case len(sorts) > 1:
		ds.Errorf(at.Pos, "a receiver has one of journal, webhook, mail and command, and not %s", strings.Join(sorts, " and "))
	}
	if r.Filter != "" {
		_, faults := scope().CompileBool(r.Filter)
		ds = append(ds, expr.Found(at.At("filter"), "filter", r.Filter, faults)...)
	}
	if w := r.Webhook; w != nil {
		if (w.URL == "") == (w.URLFile == "") {
			wrong("webhook", "write url or url_file")
		} else if w.URL != "" {
			if _, err := parseURL(w.URL); err != nil {
				wrong("webhook.url", "%v", err)
			}
		}
	}
	if m := r.Mail; m != nil {
		for i, to := range m.To {
			if err := checkAddress(to); err != nil {
				wrong(fmt.Sprintf("mail.to[%d]", i), "%v", err)
			}
		}
		if err := checkAddress(m.From); m.From != "" && err != nil {
			wrong("mail.from", "%v", err)
		}
		if m.Sendmail != "" && !filepath.IsAbs(m.Sendmail) {
			wrong("mail.sendmail", "write an absolute path")
		}
	}
	if len(r.Command) > 0 && !filepath.IsAbs(r.Command[0]) {
		wrong("command", "write a list that begins with the absolute path of a program")
	}
	return ds
}

// parseURL reads the URL of a webhook. No error repeats it: it may have a secret in it.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("it is not a URL")
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return nil, errors.New("it is not a URL of the form https://HOST/PATH")
	}
	return u, nil
}

// checkAddress says why a text is not one address in its bare form. The text becomes a line of a header.
func checkAddress(text string) error {
	a, err := mail.ParseAddress(text)
	// A local agent takes the name of a user, too, which has no domain.
	user := text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r)
	})
	if !user && (err != nil || a.Address != text) {
		return fmt.Errorf("%q is not an address such as root@example.org", schema.Shorten(text))
	}
	return nil
}

// Text returns receivers as text that Parse reads.
func Text(list []Receiver) string {
	plain, _ := schema.Encode(list)
	data, _ := json.Marshal(inJSON(plain))
	return string(data)
}

// inJSON returns a plain value in the types of JSON.
func inJSON(v any) any {
	switch v := v.(type) {
	case time.Duration:
		return schema.FormatDuration(v)
	case schema.Size:
		return v.String()
	case []any:
		for i := range v {
			v[i] = inJSON(v[i])
		}
	case map[string]any:
		for key, of := range v {
			if list, ok := of.([]any); of == "" || of == false || ok && len(list) == 0 { // as if absent
				delete(v, key)
			} else {
				v[key] = inJSON(of)
			}
		}
	}
	return v
}

// Ready is a Receiver that can be used: its filter is compiled and its files are read.
type Ready struct {
	Receiver
	filter *expr.Program // nil for every event
	url    *url.URL
	key    []byte // of the signature; empty for none
	roots  *x509.CertPool
}

// Prepare makes receivers ready. judge says whether files may be read, such as whether others can write them. The error has all reasons.
func Prepare(list []Receiver, judge func(files ...string) error) ([]*Ready, error) {
	out := make([]*Ready, len(list))
	var errs []error
	for i, r := range list {
		r.complete()
		out[i] = &Ready{Receiver: r}
		if err := out[i].prepare(judge); err != nil {
			errs = append(errs, fmt.Errorf("notify: %s: %w", r.Name, err))
		}
	}
	return out, errors.Join(errs...)
}

// maxKey bounds the file of a key or of a URL.
const (
	minKey = 16
	maxKey = 4096
)

func (r *Ready) prepare(judge func(files ...string) error) error {
	if r.Filter != "" {
		p, faults := scope().CompileBool(r.Filter)
		if len(faults) > 0 {
			return fmt.Errorf("filter: %s", faults[0].Message)
		}
		r.filter = p
	}
	w := r.Webhook
	if w == nil {
		return nil
	}
	for _, f := range r.files() {
		if err := judge(*f); err != nil {
			return err
		}
	}
	address := w.URL
	if w.URLFile != "" {
		text, err := small("url_file", w.URLFile, 1)
		if err != nil {
			return err
		}
		address = text
	}
	u, err := parseURL(address)
	if err != nil {
		return fmt.Errorf("the URL of the webhook: %w", err)
	}
	r.url = u
	if w.SecretFile != "" {
		text, err := small("secret_file", w.SecretFile, minKey)
		if err != nil {
			return err
		}
		r.key = []byte(text)
		if coded, ok := strings.CutPrefix(text, "whsec_"); ok {
			if r.key, err = base64.StdEncoding.DecodeString(coded); err != nil {
				return fmt.Errorf("secret_file: what follows whsec_ in %s is not base64", w.SecretFile)
			}
		}
	}
	if w.CA != "" {
		pem, err := gapi.ReadSmall(w.CA)
		if err != nil {
			return fmt.Errorf("ca: %s: %w", w.CA, err)
		}
		if r.roots = x509.NewCertPool(); !r.roots.AppendCertsFromPEM(pem) {
			return fmt.Errorf("ca: there is no certificate in %s", w.CA)
		}
	}
	return nil
}

// small reads a short text without the line end behind it. No error has a part of it.
func small(key, path string, least int) (string, error) {
	data, err := gapi.ReadSmall(path)
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w", key, path, err)
	}
	text := strings.TrimRight(string(data), "\r\n")
	if len(text) < least || len(text) > maxKey {
		return "", fmt.Errorf("%s: %s has %d bytes, write %d to %d", key, path, len(text), least, maxKey)
	}
	return text, nil
}
