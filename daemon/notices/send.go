package notices

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/quotedprintable"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
)

// Sending is what the sending of messages needs.
type Sending struct {
	Host    string // the name of this machine
	Program string // "mgmt" when empty
	Clock   clock.Clock
	Log     *slog.Logger
	Command func(context.Context, engine.Command) (*engine.Result, error) // runs the commands of receivers
}

func (s *Sending) complete() {
	s.Program, s.Clock = cmp.Or(s.Program, "mgmt"), clock.Or(s.Clock)
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
}

// sender sends a message once, until ctx ends. A *refusedError says that no other try will help.
type sender interface {
	send(ctx context.Context, m *Message, body []byte) error
	close()
}

// refusedError says that the receiver does not take this message, now or later.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// busyError says how long the receiver wants to be left alone.
type busyError struct {
	error
	after time.Duration
}

func (e *busyError) Unwrap() error { return e.error }

func (r *Ready) sender(s *Sending) sender {
	switch {
	case r.Webhook != nil:
		return newWebhook(r, s)
	case r.Mail != nil:
		return &mailer{r, s}
	case r.Journal:
		return &logger{r, s}
	}
	return &runner{r, s}
}

// Test sends a message to a receiver that says that it is a test, once.
func (r *Ready) Test(ctx context.Context, s Sending) error {
	s.complete()
	now := s.Clock.Now()
	q := queue{r: &r.Receiver, host: s.Host}
	m := q.seal(Message{Test: true}, mark{Number: now.UnixMicro()}, now)
	to := r.sender(&s)
	defer to.close()
	ctx, cancel := clock.WithTimeout(ctx, s.Clock, r.Timeout, nil)
	defer cancel()
	return to.send(ctx, m.message, m.body)
}

// webhook posts messages, signed as Standard Webhooks has it.
type webhook struct {
	r      *Ready
	s      *Sending
	client http.Client
}

// maxAnswer is how much of an answer is read.
const maxAnswer = 4 << 10

// refusals are the answers after which the same message is not tried again.
var refusals = []int{http.StatusBadRequest, http.StatusGone, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}

func newWebhook(r *Ready, s *Sending) *webhook {
	return &webhook{r: r, s: s, client: http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: r.roots, MinVersion: tls.VersionTLS12},
			MaxResponseHeaderBytes: maxAnswer, MaxIdleConns: 1, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		},
		// Another address has not been asked for, and would get the message.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (h *webhook) send(ctx context.Context, m *Message, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.r.url.String(), bytes.NewReader(body))
	if err != nil {
		return errors.New("the URL of the webhook is wrong")
	}
	at := strconv.FormatInt(h.s.Clock.Now().Unix(), 10)
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {h.s.Program}, "Webhook-Id": {m.ID}, "Webhook-Timestamp": {at},
	}
	if len(h.r.key) > 0 {
		req.Header.Set("Webhook-Signature", Sign(h.r.key, m.ID, at, body))
	}
	resp, err := h.client.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok { // it has the URL in it
			err = e.Err
		}
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer within %s", h.r.Timeout)
		}
		return fmt.Errorf("the server %s: %w", h.r.url.Host, err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer) // so the connection can be used again
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		return nil
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return fmt.Errorf("the server %s answers %d, a redirect, which is not followed: write the address that it points to", h.r.url.Host, resp.StatusCode)
	}
	err = fmt.Errorf("the server %s answers %d", h.r.url.Host, resp.StatusCode)
	if slices.Contains(refusals, resp.StatusCode) {
		return &refusedError{err}
	}
	// A date in place of seconds is left to the usual wait: the clock of the server is not this one.
	if s, bad := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31); bad == nil {
		return &busyError{err, time.Duration(s) * time.Second}
	}
	return err
}

func (h *webhook) close() { h.client.CloseIdleConnections() }

// Sign returns the signature of a message: v1, and the HMAC with SHA-256 of ID.TIMESTAMP.BODY in base64, as Standard Webhooks has it.
func Sign(key []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// mailer hands messages to the agent of the machine, which has a queue of its own.
type mailer struct {
	r *Ready
	s *Sending
}

func (x *mailer) send(ctx context.Context, m *Message, _ []byte) error {
	agent := cmp.Or(x.r.Mail.Sendmail, "/usr/sbin/sendmail")
	return x.s.run(ctx, x.r, engine.Command{Argv: []string{agent, "-t", "-i"}, Stdin: x.letter(m)})
}

func (x *mailer) close() {}

// letter writes a message as a mail. What comes from events is encoded, in headers as in the text, so none of it can make a header.
func (x *mailer) letter(m *Message) []byte {
	var b bytes.Buffer
	header := func(key, value string) { fmt.Fprintf(&b, "%s: %s\n", key, oneLine(value)) }
	if x.r.Mail.From != "" {
		header("From", x.r.Mail.From)
	}
	header("To", strings.Join(x.r.Mail.To, ", "))
	header("Subject", strings.ReplaceAll(mime.QEncoding.Encode("utf-8", cut(m.Text, 200)), "\r\n", "\n"))
	header("Date", m.At.Format(time.RFC1123Z))
	header("Message-ID", "<"+m.ID+"@"+safeHost(m.Host)+">")
	header("Auto-Submitted", "auto-generated")
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\n")
	w := quotedprintable.NewWriter(&b)
	fmt.Fprintf(w, "%s\n\n", m.Text)
	for i := range m.Events {
		e := &m.Events[i]
		fmt.Fprintln(w, oneLine(strings.TrimSpace(e.At.Format(time.RFC3339)+" "+e.Outcome+" "+e.Resource)))
		if e.Error != "" {
			fmt.Fprintln(w, "    "+strings.ReplaceAll(e.Error, "\n", "\n    "))
		}
	}
	if more := m.Total - len(m.Events); more > 0 {
		fmt.Fprintf(w, "and %d more, see mgmt log\n", more)
	}
	_ = w.Close()
	return bytes.ReplaceAll(b.Bytes(), []byte("\r\n"), []byte("\n")) // an agent reads lines of this machine
}

// safeHost returns a name for the right side of a Message-ID.
func safeHost(host string) string {
	return cmp.Or(strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, host), "localhost")
}

// runner runs a command for each message.
type runner struct {
	r *Ready
	s *Sending
}

func (x *runner) send(ctx context.Context, _ *Message, body []byte) error {
	return x.s.run(ctx, x.r, engine.Command{Argv: x.r.Command, Stdin: body})
}

func (x *runner) close() {}

// run runs a command until it or ctx ends. Whatever it has started ends with it.
func (s *Sending) run(ctx context.Context, r *Ready, c engine.Command) error {
	c.Alone, c.MaxOutput = true, maxAnswer
	result, err := s.Command(ctx, c)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s has not ended within %s, and was stopped", c.Argv[0], r.Timeout)
	case err != nil:
		return err
	case result.ExitCode == 0:
		return nil
	}
	how := "exit status " + strconv.Itoa(result.ExitCode)
	if result.Signal != "" {
		how = result.Signal
	}
	if line, _, _ := strings.Cut(strings.TrimSpace(string(result.Stderr)), "\n"); line != "" {
		how += ": " + oneLine(cut(line, 200))
	}
	return fmt.Errorf("%s: %s", c.Argv[0], how)
}

// logger writes messages to the log, and so to the journal of systemd.
type logger struct {
	r *Ready
	s *Sending
}

func (x *logger) send(ctx context.Context, m *Message, _ []byte) error {
	level := slog.LevelInfo
	for outcome := range m.Counts {
		switch outcome {
		case "failed", "refused":
			level = max(level, slog.LevelError)
		case "held", "dropped":
			level = max(level, slog.LevelWarn)
		}
	}
	if m.Dropped > 0 {
		level = max(level, slog.LevelWarn)
	}
	attrs := []slog.Attr{slog.String("receiver", m.Receiver), slog.String("id", m.ID), slog.String("text", m.Text), slog.Int("total", m.Total)}
	if len(m.Events) == 1 {
		attrs = append(attrs, slog.String("resource", m.Events[0].Resource), slog.String("outcome", m.Events[0].Outcome))
	}
	x.s.Log.LogAttrs(ctx, level, "notice", attrs...)
	return nil
}

func (x *logger) close() {}
