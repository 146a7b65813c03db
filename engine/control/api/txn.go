package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Txn is the body of POST /v1/api:txn.
// Programs send it; the server reads the JSON itself, for the places of faults.
type Txn struct {
	Operations []Op `json:"operations"`
}

// Op is one change of a Txn.
// The id may be left out where the object has it. A call has no object, and a deletion neither object nor arguments. An object
// without fields may be left out of create and apply.
type Op struct {
	Op        string         `json:"op"` // create, update, replace, patch, apply, delete or call
	Table     string         `json:"table"`
	ID        string         `json:"id,omitempty"`        // may stand in the object
	Object    Object         `json:"object,omitempty"`    // absent for delete and call
	Operation string         `json:"operation,omitempty"` // of call
	Args      map[string]any `json:"args,omitempty"`      // of call
	IfRev     int64          `json:"if_rev,omitempty"`    // only if the object has this revision
}

// Done is the answer to a Txn.
// Its objects are those of this transaction, also where other writers have changed them since.
type Done struct {
	Revision     int64             `json:"revision"`               // the last one; 0 where nothing was to be changed, and after a dry run
	Transactions int               `json:"transactions,omitempty"` // how many it has taken, where it might be several
	Results      []string          `json:"results"`                // created, changed, same or deleted, in the order of the operations
	Objects      []json.RawMessage `json:"objects,omitempty"`      // as they are now, in the same order; null after a deletion
}

// txnRoute is the endpoint for several objects at once.
func (a *API) txnRoute() httpd.Route {
	return httpd.Route{
		Method: "POST", Pattern: "/v1/api:txn", Summary: "Change several objects at once, or none of them.",
		Doc: "An operation sees what those before it have done. The store bounds how many there may be; an answer of 413 has the figure. " +
			"With split, changes that are too many become several transactions, after all have been checked together.",
		Params: []httpd.Param{
			dryParam,
			{Name: "split", Doc: "Make several transactions where one would be too large.", Type: "boolean"},
			{Name: "loose", Doc: "A number or a truth value stands for its text where a field is text, as in YAML.", Type: "boolean"},
			{Name: "Prefer", Doc: "return=minimal leaves the objects out of the answer.", Head: true},
		},
		Body: Txn{}, MaxBody: maxTxn, Answer: Done{}, Lasting: func(q url.Values) bool { return q.Has("split") },
		Errors: []int{http.StatusBadRequest, http.StatusConflict, http.StatusPreconditionFailed}, Serve: a.postTxn,
	}
}

// postTxn makes all operations in one transaction of the store, which is one revision for all who watch, or in several where the
// caller allows that. All that is wrong is told at once.
func (a *API) postTxn(_ http.ResponseWriter, r *http.Request) (any, error) {
	text, err := httpd.ReadBody(r)
	if err != nil {
		return nil, err
	}
	n, err := parse(text)
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	dry, err1 := truth(query, "dry_run")
	split, err2 := truth(query, "split")
	loose, err3 := truth(query, "loose")
	if err := first([]error{err1, err2, err3}); err != nil {
		return nil, err
	}
	ops, faults := a.operations(n, loose)
	t := &transaction{nb: a.nb, ops: ops, objects: make([]*model.Object, len(ops))}
	if faults != nil { // the faults of the other operations are told, too
		return nil, problem(errors.Join(faults, t.located(a.nb.DryRun(r.Context(), t.all))))
	}
	out := &Done{}
	switch {
	case dry && split: // DryRun would tell of the limits, which do not count here
		err = a.nb.Try(r.Context(), t.all)
	case dry:
		err = a.nb.DryRun(r.Context(), t.all)
	case split:
		var done int
		done, out.Transactions, out.Revision, err = a.nb.Many(r.Context(), len(ops), t.one)
		err = halfway(t.located(err), done, len(ops))
	default:
		out.Revision, err = a.nb.Txn(r.Context(), t.all)
	}
	if err != nil {
		return nil, problem(t.located(err))
	}
	return out, t.tell(out, !strings.Contains(r.Header.Get("Prefer"), "return=minimal"))
}

// halfway adds how far several transactions have come.
func halfway(err error, done, of int) error {
	if err == nil || done == 0 {
		return err
	}
	p := *errorsAs(problem(err))
	p.Detail = fmt.Sprintf("%d of %d operations were made before this: %s", done, of, p.Detail)
	return p.WithHint(fmt.Sprintf("send the rest again: those from operations[%d] on", done))
}

// transaction is what a Txn asks for. Its functions may run several times, so they put results at their places and append nothing.
type transaction struct {
	nb      *model.NB
	ops     []*operation
	objects []*model.Object // as they are then; nil after a deletion
}

// one makes one operation. An operation that could not be read is left out: its fault is told already.
func (t *transaction) one(tx *model.Tx, i int) error {
	op := t.ops[i]
	if op.unread {
		return nil
	}
	o, err := op.do(tx)
	if t.objects[i] = o; op.verb == remove {
		t.objects[i] = nil
	}
	return inOperation(i, err)
}

// all makes all operations, and joins the faults.
// A fault of one operation does not keep the others from being tried, so the caller learns all of them at once. An error of the
// store ends it: that is no fault, and the next operation would wait for the same store.
func (t *transaction) all(tx *model.Tx) error {
	return model.Each(0, len(t.ops), func(i int) error { return t.one(tx, i) })
}

// located gives a fault that the transaction as a whole has met the place of the operation whose object it is about.
func (t *transaction) located(err error) error {
	for _, f := range model.Faults(err) {
		if strings.HasPrefix(f.Field, "operations[") || f.ID == "" {
			continue
		}
		for i, op := range t.ops {
			if !op.unread && op.id == f.ID && op.model.Label() == f.Table {
				_ = inOperation(i, op.positioned(f))
				break
			}
		}
	}
	return err
}

// tell fills in the answer.
// The objects of a large transaction make a large answer, so a caller may leave them out.
func (t *transaction) tell(out *Done, objects bool) error {
	out.Results = make([]string, len(t.ops))
	for i, op := range t.ops {
		out.Results[i] = op.result
		if !objects {
			continue
		}
		text := []byte("null")
		if o := t.objects[i]; o != nil {
			var err error
			if text, err = o.MarshalJSON(); err != nil {
				return err
			}
		}
		out.Objects = append(out.Objects, text)
	}
	return nil
}

// inOperation adds the place of an operation to the fields of faults. Another error gets the
// number of the operation in its text.
func inOperation(i int, err error) error {
	at := fmt.Sprintf("operations[%d]", i)
	if p, ok := errors.AsType[*httpd.Problem](err); ok {
		c := *p
		c.Detail = at + ": " + p.Detail
		return &c
	}
	for _, f := range model.Faults(err) {
		if f.Field != "" {
			f.Field = at + ".object." + f.Field
		} else {
			f.Field = at
		}
	}
	return err
}

// txnFields are the members of the body of a transaction, and of an operation in it.
var (
	txnFields = []string{"operations"}
	opFields  = []string{"op", "table", "id", "object", "operation", "args", "if_rev"}
)

// operations reads the operations of a transaction, and says all that is wrong with them at once.
// Nothing is read from the store for that: a body with a fault costs no transaction.
func (a *API) operations(n *schema.Node, loose bool) (ops []*operation, err error) {
	list := n.Get("operations")
	errs := unknown(n, "", txnFields)
	if list == nil || list.Kind != schema.NodeList || len(list.Items) == 0 {
		errs = append(errs, &model.Error{Code: model.Validation, Field: "operations", Pos: n.Pos, Message: "operations must be a list of operations, and not empty"})
		return nil, errors.Join(errs...)
	}
	for i, item := range list.Items {
		op, err := a.operation(item, fmt.Sprintf("operations[%d]", i))
		if op == nil {
			op = &operation{}
		}
		op.unread, op.loose = err != nil, loose
		errs = append(errs, err)
		ops = append(ops, op)
	}
	return ops, errors.Join(errs...)
}

// unknown returns a fault for each member of an object that has no meaning.
// A member that is misspelt would else mean nothing, and the caller would take the change for made as it was meant.
func unknown(n *schema.Node, at string, names []string) (errs []error) {
	for i := range n.Pairs {
		if p := &n.Pairs[i]; !slices.Contains(names, p.Key) {
			errs = append(errs, &model.Error{Code: model.UnknownField, Field: at + p.Key, Pos: p.Pos, Suggestion: schema.Nearest(p.Key, names), Message: p.Key + " has no meaning here"})
		}
	}
	return errs
}

// operation reads one operation of a transaction.
func (a *API) operation(n *schema.Node, at string) (*operation, error) {
	if n.Kind != schema.NodeMap {
		return nil, &model.Error{Code: model.Validation, Field: at, Pos: n.Pos, Message: "an operation is an object"}
	}
	errs := unknown(n, at+".", opFields)
	fail := func(key, format string, args ...any) {
		pos := n.Pos
		if v := n.Get(key); v != nil {
			pos = v.Pos
		}
		errs = append(errs, &model.Error{Code: model.Validation, Field: at + "." + key, Pos: pos, Message: fmt.Sprintf(format, args...)})
	}
	op := &operation{verb: verb(textIn(n, "op")), id: textIn(n, "id"), name: textIn(n, "operation"), body: n.Get("object")}
	if !slices.Contains(verbs, op.verb) {
		fail("op", "op is %q, it must be one of %v", op.verb, verbs)
	}
	m, err := a.nb.Registry().Model(textIn(n, "table"))
	if err == nil && m.FirstClass() {
		op.model = m
	} else {
		fail("table", "there is no table %q", textIn(n, "table"))
	}
	switch {
	case op.verb == remove:
		op.body = nil
	case op.verb == call:
		op.body = n.Get("args")
	case op.body == nil && op.id != "" && (op.verb == create || op.verb == apply): // an object without fields, such as a noop
		op.body = &schema.Node{Kind: schema.NodeMap, Pos: n.Pos}
	case op.body == nil || op.body.Kind != schema.NodeMap:
		fail("object", "object is required: the fields of the object")
	case op.id == "":
		op.id = idIn(op.body)
	}
	op.check = func(*model.Object) error { return nil }
	if rev := n.Get("if_rev"); rev != nil {
		want, err := strconv.ParseInt(rev.Text, 10, 64)
		if err != nil || want < 1 {
			fail("if_rev", "if_rev must be a revision: a whole number from 1 on")
		}
		op.check = func(was *model.Object) error { return sameRevision(was, want) }
	}
	return op, errors.Join(errs...)
}

// sameRevision is what If-Match is for a request with one object.
func sameRevision(was *model.Object, want int64) error {
	if was != nil && was.Revision() == want {
		return nil
	}
	p := httpd.NewProblem(http.StatusPreconditionFailed, "the object is not of the revision %d", want)
	if was == nil {
		return p.WithHint("there is no such object")
	}
	return p.WithHint(fmt.Sprintf("read it again: it has the revision %d", was.Revision()))
}

// textIn returns a member that is text, or nothing.
func textIn(n *schema.Node, key string) string {
	if v := n.Get(key); v != nil && v.Kind == schema.NodeString {
		return v.Text
	}
	return ""
}
