package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine/program"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/strictjson"
)

// question is the line for the get command.
func (c *exchange) question(f Filter) []byte {
	q := struct {
		Type  string `json:"type"`
		Names []any  `json:"names"`
	}{Type: c.rt.Type.Name()}
	if !f.All {
		q.Names = make([]any, 0, len(f.Names))
		for _, n := range f.Names {
			if utf8.ValidString(n.String()) { // else no line of an answer could have it
				q.Names = append(q.Names, c.name(n))
			}
		}
	}
	return program.Line(q)
}

// name returns a name as JSON has it.
func (c *exchange) name(n Name) any {
	rec := c.object(c.rt.Type.nameRecord(n))
	if len(c.rt.Type.names) == 1 {
		return rec[c.rt.Type.names[0].Name]
	}
	return rec
}

// orders are the lines for the set command. What JSON would alter fails instead.
func (c *exchange) orders(changes []Change) []byte {
	var b bytes.Buffer
	for _, ch := range changes {
		should := c.object(ch.Should)
		if !strictjson.IsText(ch.Title) || !strictjson.IsText(should) {
			c.rt.Log.Failed(ch.Title, "its title, or a value of it, is no UTF-8, which JSON for the set command has no form for")
			continue
		}
		line := map[string]any{"title": ch.Title, "name": c.name(ch.Name), "should": should, "noop": ch.Noop}
		switch ch.Is.Presence {
		case Known:
			line["is"] = c.object(ch.Is.Record)
		case Absent:
			line["is"] = nil
		}
		b.Write(program.Line(line))
	}
	return b.Bytes()
}

// object returns a record as JSON has it, secrets in clear.
func (c *exchange) object(r Record) map[string]any {
	out := make(map[string]any, len(r))
	for name, v := range r {
		out[name] = wire(v)
	}
	return out
}

// wire returns a value as JSON has it.
func wire(v any) any {
	if s, ok := v.(puppettype.Sensitive); ok {
		return wire(s.Reveal())
	}
	return plainWire(puppettype.Plain(v))
}

func plainWire(v any) any {
	switch v := v.(type) {
	case schema.Secret:
		return v.Reveal()
	case float64:
		return floatWire(v)
	case time.Duration:
		return schema.FormatDuration(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plainWire(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = plainWire(v[k])
		}
		return out
	}
	if _, err := json.Marshal(v); err != nil {
		return fmt.Sprint(v)
	}
	return v
}

// floatWire writes a Float so that it is read as one; NaN and infinities are text.
func floatWire(f float64) any {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	switch {
	case math.IsInf(f, 0) || math.IsNaN(f):
		return text
	case !strings.ContainsAny(text, ".e"):
		text += ".0"
	}
	return json.Number(text)
}

// record reads a line of the get command. A value that does not fit its type is
// left as it is, for the engine to say so.
func (c *exchange) record(line answer) (Record, error) {
	obj, err := c.parse(line)
	if err != nil {
		return nil, err
	}
	rec := make(Record, len(obj))
	for name, v := range obj {
		rec[name] = v
		if a := c.rt.Type.byName[name]; a != nil {
			rec[name] = a.fromWire(v)
		}
	}
	return rec, nil
}

// fromWire is the inverse of wire.
func (a *compiled) fromWire(v any) any {
	switch {
	case v == nil, a.typ.Accepts(v):
		return v
	case a.secret:
		return a.secretOf(v)
	}
	n, err := schema.NodeOf(v)
	if err != nil {
		return v
	}
	plain, found := schema.Value(a.typ.Lower(), n)
	if found.Err() != nil {
		return v
	}
	if lifted, err := a.typ.Lift(a.Name, plain); err == nil {
		return lifted
	}
	return v
}

// secretOf wraps a value of a sensitive attribute.
func (a *compiled) secretOf(v any) any {
	text, ok := v.(string)
	if !ok {
		return puppettype.NewSensitive(v)
	}
	if lifted, err := a.typ.Lift(a.Name, schema.NewSecret(text)); err == nil {
		return lifted
	}
	return schema.NewSecret(text)
}

// parse reads a line as an object.
func (c *exchange) parse(line answer) (map[string]any, error) {
	if len(line.text) > maxLine {
		return nil, c.bad(line, fmt.Sprintf("it is longer than %d bytes", maxLine))
	}
	v, err := strictjson.Parse(line.text)
	if err != nil {
		return nil, c.bad(line, err.Error())
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, c.bad(line, "it is no object")
	}
	return obj, nil
}

// said is a line of the set command.
type said struct {
	title, status, attribute, level, context, message string
	titles                                            []string // besides title
	from, to                                          any
}

// report logs a line of the set command.
func (c *exchange) report(line answer) error {
	obj, err := c.parse(line)
	if err != nil {
		return err
	}
	var s said
	for key, v := range obj {
		if problem := s.put(c.secrets.Clean(key), v); problem != "" {
			return c.bad(line, problem)
		}
	}
	if problem := c.log(s); problem != "" {
		return c.bad(line, problem)
	}
	return nil
}

// put takes a key, and says what is wrong with it.
func (s *said) put(key string, v any) string {
	texts := map[string]*string{"title": &s.title, "status": &s.status, "attribute": &s.attribute, "level": &s.level, "context": &s.context, "message": &s.message}
	into := texts[key]
	switch text, isText := v.(string); {
	case key == "from":
		s.from = v
	case key == "to":
		s.to = v
	case key == "titles":
		return s.putTitles(v)
	case into == nil:
		return fmt.Sprintf("unknown key %q", shorten(key))
	case !isText:
		return key + " is no text"
	default:
		*into = text
	}
	return ""
}

// log tells the Logger, and says what is wrong.
func (c *exchange) log(s said) string {
	var opts []LogOption
	if s.message != "" {
		opts = append(opts, Message(c.secrets.Clean(s.message)))
	}
	ways := 0
	for _, word := range []string{s.status, s.attribute, s.level, s.context} {
		if word != "" {
			ways++
		}
	}
	switch {
	case ways != 1:
		return "it must have one of status, attribute, level and context"
	case s.level != "":
		return c.say(s)
	case s.attribute != "":
		if s = c.within(s); s.title == "" {
			return "it has no title, and there is no context"
		}
		c.rt.Log.AttributeChanged(s.attribute, s.from, s.to, append(opts, Of(s.all()...))...)
		return ""
	case s.title == "":
		return "it has no title"
	case s.context != "":
		return c.enter(s, append(opts, Also(s.titles...)))
	}
	c.done(s.all())
	return c.mark(s, append(opts, Also(s.titles...)))
}

// mark gives a title its status.
func (c *exchange) mark(s said, opts []LogOption) string {
	log := c.rt.Log
	switch s.status {
	case "failed":
		log.Failed(s.title, c.secrets.Clean(s.message), Also(s.titles...))
	case "processed":
		log.Processed(s.title, c.changes[s.title].Is.Record, c.changes[s.title].Should, opts...)
	default:
		act, ok := map[string]func(string, ...LogOption){
			"created": log.Created, "updated": log.Updated, "deleted": log.Deleted, "unchanged": log.Unchanged,
		}[s.status]
		if !ok {
			return "status must be created, updated, deleted, unchanged, processed or failed"
		}
		act(s.title, opts...)
	}
	return ""
}

// say logs a plain message.
func (c *exchange) say(s said) string {
	var opts []LogOption
	if s = c.within(s); s.title != "" {
		opts = []LogOption{Of(s.all()...)}
	}
	log := c.rt.Log
	words := []string{"debug", "info", "notice", "warning", "err"}
	i := slices.Index(words, s.level)
	if i < 0 {
		return "level must be debug, info, notice, warning or err"
	}
	[]func(string, ...LogOption){log.Debug, log.Info, log.Notice, log.Warning, log.Err}[i](c.secrets.Clean(s.message), opts...)
	return ""
}
