package provider

import (
	"bytes"
	"context"
	"errors"

	"github.com/reactivegraph/mgmt/engine/program"
	"github.com/reactivegraph/mgmt/engine/schema/strictjson"
)

// canonicalizing is an external with a canonicalize command.
type canonicalizing struct{ x *external }

// Canonicalize implements Canonicalizer.
func (p canonicalizing) Canonicalize(ctx context.Context, rt *Runtime, records []Record) ([]Record, error) {
	c := p.x.exchange(rt, "canonicalize", p.x.External.Canonicalize)
	var in bytes.Buffer
	for _, r := range records {
		c.learn(r)
		obj := c.object(r)
		if !strictjson.IsText(obj) {
			return nil, errors.New("a value is no UTF-8, which JSON for the canonicalize command has no form for")
		}
		in.Write(program.Line(obj))
	}
	out, err := c.run(ctx, in.Bytes())
	if err != nil {
		return nil, err
	}
	list := make([]Record, 0, len(records))
	for line := range c.lines(out) {
		rec, err := c.record(line)
		if err != nil {
			return nil, err
		}
		if list = append(list, rec); len(list) > len(records) {
			break
		}
	}
	if len(list) != len(records) {
		return nil, c.errorf("it has not written as many records as the %d that it was given", len(records))
	}
	return list, nil
}

// comparing is an external with a custom_insync command.
type comparing struct{ x *external }

// InSync implements InSyncer.
func (p comparing) InSync(ctx context.Context, rt *Runtime, name Name, attribute string, is, should Record) (Answer, string, error) {
	c := p.x.exchange(rt, "custom_insync", p.x.External.InSync)
	c.learn(is)
	c.learn(should)
	question := map[string]any{"name": c.name(name), "attribute": attribute, "is": c.object(is), "should": c.object(should)}
	if !strictjson.IsText(question) {
		return OutOfSync, "", errors.New("a value is no UTF-8, which JSON for the custom_insync command has no form for")
	}
	out, err := c.run(ctx, program.Line(question))
	if err != nil {
		return OutOfSync, "", err
	}
	ans, why, lines := Default, "", 0
	for line := range c.lines(out) {
		if lines++; lines > 1 {
			return OutOfSync, "", c.errorf("it has written more than one line")
		}
		if ans, why, err = c.verdict(line); err != nil {
			return OutOfSync, "", err
		}
	}
	if lines == 0 {
		return OutOfSync, "", c.errorf("it has not answered")
	}
	return ans, why, nil
}

// verdict reads the line of a custom_insync command.
func (c *exchange) verdict(line answer) (ans Answer, why string, err error) {
	obj, err := c.parse(line)
	if err != nil {
		return Default, "", err
	}
	if _, ok := obj["insync"]; !ok {
		return Default, "", c.bad(line, "it has no key insync")
	}
	for key, v := range obj {
		text, isText := v.(string)
		yes, isBool := v.(bool)
		switch {
		case key == "message" && isText:
			why = c.secrets.Clean(text)
		case key == "insync" && v == nil:
		case key == "insync" && isBool && yes:
			ans = InSync
		case key == "insync" && isBool:
			ans = OutOfSync
		default:
			return Default, "", c.bad(line, "it has insync, which is true, false or null, and may have a message, which is text")
		}
	}
	return ans, why, nil
}
