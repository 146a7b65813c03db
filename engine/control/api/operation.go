package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/jsonnode"
)

// verb is what an operation does with an object.
type verb string

// The verbs. Update merges whole fields; patch merges maps and nested objects too. Replace clears the fields that are
// not given. Apply is replace, or create where there is no object.
const (
	create  verb = "create"
	update  verb = "update"
	replace verb = "replace"
	patch   verb = "patch"
	apply   verb = "apply"
	remove  verb = "delete"
	call    verb = "call"
)

var verbs = []verb{create, update, replace, patch, apply, remove, call}

// operation is one change of one object, as a part of a transaction.
type operation struct {
	verb  verb
	model *model.Model
	id    string
	body  *schema.Node // the object, or the arguments of a call
	name  string       // of the called operation
	check func(was *model.Object) error

	loose  bool   // the body has no quotes around some text
	unread bool   // it has faults of its own, and is not made
	result string // the outcome; see Done
}

// do makes the change. All faults have a place in the body.
// It may run several times, where another writer was faster; it reads only tx and the request, and alters nothing else.
func (op *operation) do(tx *model.Tx) (*model.Object, error) {
	o, err := op.change(tx)
	return o, op.positioned(err)
}

// decode reads the object in the body.
func (op *operation) decode(n *schema.Node) (*model.Object, error) {
	if op.loose {
		return op.model.DecodeLoose(n)
	}
	return op.model.Decode(n)
}

// change makes the change in the transaction. The condition of the caller (If-Match) is judged on the object of this transaction,
// before the fields of the body: a stale writer learns that first. The outcome is noted with an error, too.
func (op *operation) change(tx *model.Tx) (now *model.Object, err error) {
	was, err := op.was(tx)
	if err != nil {
		return nil, err
	}
	defer func() { op.note(was, now) }()
	if err := op.check(was); err != nil {
		return nil, err
	}
	switch op.verb {
	case remove:
		return tx.Delete(op.model, op.id, model.Write{})
	case call:
		return op.call(tx, was)
	}
	n, err := op.given(was)
	if err != nil {
		return nil, err
	}
	o, err := op.decode(n)
	if err == nil {
		o, err = op.unredacted(o, was)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case was == nil:
		return tx.Create(o, model.Write{})
	case op.verb == replace || op.verb == apply:
		return tx.Replace(o, model.Write{})
	default:
		return tx.Update(o, model.Write{})
	}
}

// note notes the outcome. An object that was written has no revision before the transaction has taken effect.
func (op *operation) note(was, now *model.Object) {
	switch {
	case op.verb == remove:
		op.result = "deleted"
	case was == nil:
		op.result = "created"
	case now != nil && was.Revision() == now.Revision():
		op.result = "same"
	default:
		op.result = "changed"
	}
}

// was returns the object as it is; nil where one is to be made.
// The transaction compares all that it has read, so a change by another writer makes it run again.
func (op *operation) was(tx *model.Tx) (*model.Object, error) {
	if op.verb == create {
		return nil, nil
	}
	if op.id == "" {
		return nil, op.fault("id", "id is required: it names the object")
	}
	was, err := tx.Get(op.model, op.id)
	if op.verb == apply && model.CodeOf(err) == model.NotFound {
		return nil, nil
	}
	return was, err
}

// fault is an error about a field of the object in hand.
func (op *operation) fault(field, message string) error {
	return &model.Error{Code: model.Validation, Table: op.model.Table(), ID: op.id, Field: field, Message: message}
}

// given returns the fields that are to be set, with the id.
func (op *operation) given(was *model.Object) (*schema.Node, error) {
	if op.id == "" {
		return op.body, nil
	}
	pairs := make([]schema.Pair, 0, len(op.body.Pairs)+1)
	for _, p := range op.body.Pairs {
		switch {
		case p.Key == "id" && (p.Value == nil || p.Value.Kind != schema.NodeString || p.Value.Text != op.id):
			return nil, op.fault("id", "the id differs from that of the path: leave it out, or delete the object and create another one")
		case p.Key == "id":
			continue
		case op.verb == patch && was != nil && p.Value != nil && p.Value.Kind == schema.NodeMap:
			old, err := schema.NodeOf(was.Get(p.Key))
			if err != nil {
				return nil, err
			}
			p.Value = merged(old, p.Value)
		}
		pairs = append(pairs, p)
	}
	n := *op.body
	n.Pairs = append(pairs, schema.Pair{Key: "id", Pos: n.Pos, Value: &schema.Node{Kind: schema.NodeString, Text: op.id, Pos: n.Pos}})
	return &n, nil
}

// merged returns a map with the changes of a patch, as RFC 7396 says: null takes a member away, maps are merged, and
// all else is replaced. Values of the patch keep their places.
func merged(old, patch *schema.Node) *schema.Node {
	if patch == nil || patch.Kind != schema.NodeMap {
		return patch
	}
	n := *patch
	n.Pairs = nil
	if old != nil && old.Kind == schema.NodeMap {
		for _, p := range old.Pairs {
			if patch.Get(p.Key) == nil {
				n.Pairs = append(n.Pairs, p)
			}
		}
	}
	for _, p := range patch.Pairs {
		if p.Value == nil || p.Value.Kind == schema.NodeNull {
			continue
		}
		if old != nil && old.Kind == schema.NodeMap {
			p.Value = merged(old.Get(p.Key), p.Value)
		} else {
			p.Value = merged(nil, p.Value)
		}
		n.Pairs = append(n.Pairs, p)
	}
	return &n
}

// unredacted puts the stored secrets in the place of the texts by which an answer has redacted them. Without that, a reader who
// sends an answer back would overwrite each secret with such a text. A text for which no secret is stored is refused, with its place.
func (op *operation) unredacted(o, was *model.Object) (*model.Object, error) {
	for _, key := range o.Mask() {
		given := o.Get(key)
		if !isShown(given) {
			continue
		}
		var before any
		if was != nil {
			before = was.Get(key)
		}
		v, err := op.shown(key, given, before)
		if given == any(schema.Redacted) && (o.Hidden(key) || was != nil && was.Hidden(key)) {
			v, err = before, op.stored(key, before)
		}
		if err == nil {
			o, err = o.With(key, v)
		}
		if err != nil {
			return nil, err
		}
	}
	return o, nil
}

// isShown reports whether a value has a part that an answer shows in the place of a secret.
// Most values have none, so they are not copied.
func isShown(v any) bool {
	switch v := v.(type) {
	case string:
		return v == schema.Redacted
	case schema.Secret:
		return v.Reveal() == schema.Redacted
	case map[string]any:
		for _, item := range v {
			if isShown(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, isShown)
	}
	return false
}

// shown returns a value with the stored secrets in the place of the texts that an answer shows for them. was is the stored value at the same path,
// nil for none. The maps and lists of the result are new, and belong to the caller; was stays as it is.
func (op *operation) shown(path string, v, was any) (any, error) {
	switch v := v.(type) {
	case schema.Secret:
		if v.Reveal() != schema.Redacted {
			return v, nil
		}
		return was, op.stored(path, was)
	case map[string]any:
		old, _ := was.(map[string]any)
		out := make(map[string]any, len(v))
		for key, item := range v {
			var err error
			if out[key], err = op.shown(path+"."+key, item, old[key]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		old, _ := was.([]any)
		out := make([]any, len(v))
		for i, before := range counterparts(v, old) {
			var err error
			if out[i], err = op.shown(fmt.Sprintf("%s[%d]", path, i), v[i], before); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

// stored is an error unless a secret is stored. It is
// the fault of a secret that is written as an answer shows it, where none is stored.
func (op *operation) stored(path string, was any) error {
	if was != nil {
		return nil
	}
	return op.fault(path, path+" is what an answer shows in the place of a secret: write the secret itself")
}

// counterparts returns the stored item that each item of a list stands for, nil for none. An item stands for the only stored item that looks the
// same in an answer. Items without such a partner keep their places if the list is as long as before. An item that could stand for
// several secrets of a shorter list stands for none: a guess could give a secret to the wrong account. The time is linear, since a list may fill a body.
func counterparts(list, was []any) []any {
	at := map[string]int{} // by the look of a stored item: its place, -1 for several
	for i, item := range was {
		look := look(item)
		if _, twice := at[look]; twice {
			i = -1
		}
		at[look] = i
	}
	out, taken := make([]any, len(list)), make([]bool, len(was))
	for i, item := range list {
		if j, ok := at[look(item)]; ok && j >= 0 {
			out[i], taken[j] = was[j], true
		}
	}
	for i := range list {
		if out[i] == nil && len(list) == len(was) && !taken[i] {
			out[i] = was[i]
		}
	}
	return out
}

// look returns a value as an answer shows it, as a key for counterparts.
// Equal values have equal texts, since the keys of maps are sorted in JSON.
func look(v any) string {
	text, err := json.Marshal(redacted(v))
	if err != nil {
		return "" // it looks like no other
	}
	return string(text)
}

// redacted returns a value as an answer shows it, for a comparison. The result shares the parts of v that are neither maps nor lists.
func redacted(v any) any {
	switch v := v.(type) {
	case schema.Secret:
		return schema.Redacted
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = redacted(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = redacted(item)
		}
		return out
	}
	return v
}

// call applies an operation of the model.
// The version is left out: operations of two writers both take effect, one after the other.
func (op *operation) call(tx *model.Tx, was *model.Object) (*model.Object, error) {
	args := map[string]any{}
	if op.body != nil {
		v, found := schema.Value(&schema.Type{Kind: schema.KindAny}, op.body)
		if err := found.Err(); err != nil {
			return nil, err
		}
		args, _ = v.(map[string]any)
	}
	next, err := was.Do(op.name, args)
	if err != nil {
		return nil, err
	}
	return tx.Replace(next.Without("version"), model.Write{})
}

// positioned gives faults that have no place that of their field, or of the whole object where the field is missing.
func (op *operation) positioned(err error) error {
	if op.body == nil {
		return err
	}
	for _, f := range model.Faults(err) {
		if f.Pos.Line != 0 || f.Field == "" {
			continue
		}
		f.Pos = op.body.Pos
		if at := op.body.At(f.Field); at != nil && at.Pos.Line != 0 {
			f.Pos = at.Pos
		}
	}
	return err
}

// parse reads the text of one JSON object.
func parse(text []byte) (*schema.Node, error) {
	n, found := jsonnode.Parse(text, jsonnode.Options{Strict: true, Quiet: true, What: "the body cannot be read"})
	if err := found.Err(); err != nil {
		p := httpd.AsProblem(found)
		p.Status, p.Hint = http.StatusBadRequest, "send one JSON object as "+httpd.DescriptionPath+" describes it"
		return nil, p
	}
	if n.Kind != schema.NodeMap {
		return nil, &httpd.Problem{
			Status: http.StatusBadRequest, Detail: "the body is no JSON object", Hint: "write the fields of the object in { }",
			Errors: []httpd.Finding{{Detail: "it begins here", Line: int(n.Pos.Line), Column: int(n.Pos.Col)}},
		}
	}
	return n, nil
}

// location returns the path of an object.
// A client may send it as it is.
func location(o *model.Object) string {
	return "/v1/api/" + url.PathEscape(o.Model().Table()) + "/" + Escape(o.ID())
}

// Escape writes an id as a segment of a path: an id of dots only is escaped too, and so is a colon, which begins the
// name of an operation.
func Escape(id string) string {
	if strings.Trim(id, ".") == "" {
		return strings.Repeat("%2E", len(id))
	}
	return strings.ReplaceAll(url.PathEscape(id), ":", "%3A")
}
