package store

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Options say what is served, and to whom. All fields but Large are required.
type Options struct {
	World    world.World
	MayWrite func(httpd.Peer) bool // who may ask
	Read     []string              // prefixes of the keys that may be read, besides those of Write
	Write    []string              // prefixes of the keys that may be written
	Large    []string              // prefixes of keys that may have 1 MiB each; a page has few of them
}

// ListRequest asks for a page of keys.
type ListRequest struct {
	Prefix string `json:"prefix"`
	At     int64  `json:"at"`
	Limit  int    `json:"limit"` // of keys, from 1 to 1000; 0 is 1000. Of large keys, a page has 8 at most
	After  string `json:"after"`
}

// TxnRequest is a transaction.
type TxnRequest struct {
	Compares []Compare `json:"compares"`
	Ops      []Op      `json:"ops"`
}

// Compare holds if the key's last change has this revision; 0 means that the key is absent.
type Compare struct {
	Key      string `json:"key"`
	Revision int64  `json:"revision"`
}

// Op puts a key, or deletes it.
type Op struct {
	Key    string `json:"key"`
	Value  []byte `json:"value"`
	Delete bool   `json:"delete"`
}

// Page is a page of keys.
type Page struct {
	KVs      []KV  `json:"kvs"`
	Revision int64 `json:"revision"`
	More     bool  `json:"more"`
}

// KV is a key with its value.
type KV struct {
	Key      string `json:"key"`
	Value    []byte `json:"value"`
	Revision int64  `json:"revision"`
	Created  int64  `json:"created"`
}

// TxnAnswer says what a transaction has led to.
type TxnAnswer struct {
	Revision int64 `json:"revision"`
	Done     bool  `json:"done"` // every comparison held
}

// The paths of the endpoints.
const (
	listPath = "/v1/store/list"
	txnPath  = "/v1/store/txn"
)

// maxBody is how long a body may be: the limit of a transaction in base64.
const maxBody = 4 << 20

// How many keys a page has at most, and how many large ones. An answer is made in memory as a whole.
const (
	maxPage  = 1000
	maxLarge = 8
)

// Routes are the endpoints. A request may block as the store does, and ends with its context.
func Routes(o Options) []httpd.Route {
	errs := []int{http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusConflict}
	return []httpd.Route{
		{
			Method: "POST", Pattern: listPath, Summary: "Keys of the store that are of deploys and hosts.",
			Body: ListRequest{}, Answer: Page{}, Errors: errs, Serve: o.list,
		},
		{
			Method: "POST", Pattern: txnPath, Summary: "Alter keys of the store that are of deploys.",
			Body: TxnRequest{}, MaxBody: maxBody, Answer: TxnAnswer{}, Errors: append(errs, http.StatusRequestEntityTooLarge), Serve: o.txn,
		},
	}
}

// may refuses callers, and keys outside the prefixes.
func (o *Options) may(r *http.Request, prefixes []string, keys ...string) error {
	if p, ok := httpd.PeerOf(r.Context()); ok && !o.MayWrite(p) {
		return httpd.NewProblem(http.StatusForbidden, "%s may not use the store of deploys", p).
			WithHint("ask as root, or as a member of the group that the setting api_write_group names")
	}
	for _, key := range keys {
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) {
			return httpd.NewProblem(http.StatusForbidden, "the key %.80q is not one of %s", key, strings.Join(prefixes, ", "))
		}
	}
	return nil
}

func (o *Options) list(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q ListRequest
	if err := httpd.DecodeObject(r, &q); err != nil {
		return nil, err
	}
	if err := o.may(r, slices.Concat(o.Read, o.Write), q.Prefix); err != nil {
		return nil, err
	}
	most := maxPage
	if slices.ContainsFunc(o.Large, func(p string) bool { return strings.HasPrefix(q.Prefix, p) }) {
		most = maxLarge
	}
	switch {
	case q.Limit < 0 || q.Limit > maxPage:
		return nil, httpd.NewProblem(http.StatusUnprocessableEntity, "the limit %d is not from 1 to %d", q.Limit, maxPage)
	case q.Limit == 0 || q.Limit > most:
		q.Limit = most
	}
	p, err := o.World.List(r.Context(), q.Prefix, world.ListOptions{At: q.At, Limit: q.Limit, After: q.After})
	if err != nil {
		return nil, problem(err)
	}
	out := Page{Revision: p.Revision, More: p.More, KVs: make([]KV, len(p.KVs))}
	for i, kv := range p.KVs {
		if kv.Value == nil {
			kv.Value = []byte{} // null is no text
		}
		out.KVs[i] = KV{Key: kv.Key, Value: kv.Value, Revision: kv.Revision, Created: kv.Created}
	}
	return out, nil
}

func (o *Options) txn(_ http.ResponseWriter, r *http.Request) (any, error) {
	var q TxnRequest
	if err := httpd.DecodeObject(r, &q); err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(q.Ops)+len(q.Compares))
	ops := make([]world.Op, len(q.Ops))
	for i, op := range q.Ops {
		keys = append(keys, op.Key)
		ops[i] = world.Op{Key: op.Key, Value: op.Value, Delete: op.Delete}
	}
	compares := make([]world.Compare, len(q.Compares))
	for i, c := range q.Compares {
		keys = append(keys, c.Key)
		compares[i] = world.Compare(c)
	}
	if err := o.may(r, o.Write, keys...); err != nil {
		return nil, err
	}
	revision, done, err := o.World.Txn(r.Context(), compares, ops)
	if err != nil {
		return nil, problem(err)
	}
	return TxnAnswer{revision, done}, nil
}

// problem gives an error of a store its status: the caller's faults are 4xx.
func problem(err error) error {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, world.ErrCompacted):
		status = http.StatusConflict
	case errors.Is(err, world.ErrRefused):
		status = http.StatusUnprocessableEntity
	case errors.Is(err, world.ErrUnavailable), errors.Is(err, world.ErrClosed):
		status = http.StatusServiceUnavailable
	}
	p := httpd.NewProblem(status, "%v", err)
	p.Cause = err
	return p
}
