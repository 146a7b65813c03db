package provider

import (
	"errors"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// learn keeps the sensitive values of a record out of all that is said.
func (l *Logger) learn(rec Record) {
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	for k, v := range rec {
		l.book.secrets.Learn(v, l.book.opt.Secret(k))
	}
}

// cleanText returns a text without secrets.
func (b *logBook) cleanText(s string) string { return b.opt.Redact(b.secrets.Clean(s)) }

// clean returns an event without secrets.
func (b *logBook) clean(e Event) Event {
	e.From, e.To = b.learnAndHide(e.Attribute, e.From), b.learnAndHide(e.Attribute, e.To)
	e.From, e.To = b.cleanValue(e.From), b.cleanValue(e.To)
	e.Attribute, e.Message = b.cleanText(e.Attribute), b.cleanText(e.Message)
	if e.Context != nil {
		e.Context.Label = b.cleanText(e.Context.Label)
	}
	if e.Err != nil {
		if text := e.Err.Error(); b.cleanText(text) != text {
			e.Err = errors.New(b.cleanText(text))
		}
	}
	return e
}

// learnAndHide returns a value of an attribute, or a record, without the parts that
// must not be shown.
func (b *logBook) learnAndHide(attribute string, v any) any {
	rec, ok := v.(Record)
	if !ok {
		return b.hide(attribute, v)
	}
	out := make(Record, len(rec))
	for k, v := range rec {
		out[k] = b.hide(k, v)
	}
	return out
}

// hide leaves nothing of the value of a sensitive attribute but whether there is one.
func (b *logBook) hide(attribute string, v any) any {
	secret := attribute != "" && b.opt.Secret(attribute)
	b.secrets.Learn(v, secret)
	if secret && v != nil {
		return schema.NewSecret(schema.Redacted)
	}
	return v
}

// cleanValue returns a copy of a value whose texts hold no secrets.
func (b *logBook) cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return b.cleanText(v)
	case Record:
		return Record(b.cleanMap(v))
	case map[string]any:
		return b.cleanMap(v)
	case puppettype.Map:
		out := make(puppettype.Map, len(v))
		for i, e := range v {
			out[i] = puppettype.Entry{Key: b.cleanValue(e.Key), Value: b.cleanValue(e.Value)}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = b.cleanValue(x)
		}
		return out
	}
	return v
}

func (b *logBook) cleanMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = b.cleanValue(v)
	}
	return out
}

// conceal keeps texts out of all that is said.
func (l *Logger) conceal(texts []string) {
	for _, s := range texts {
		l.book.secrets.Add(s)
	}
}
