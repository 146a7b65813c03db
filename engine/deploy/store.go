package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/world"
)

// The tables of the store; see the package's documentation.
const (
	tableDeploys  = "deploys/"
	tableContents = "contents/"
	tableDeployed = "deployed/"
)

// Written are the prefixes of the keys that an operator writes, and Reports is that of the keys of the hosts.
func Written() []string { return []string{tableDeploys, tableContents, tableFleet} }

// Reports is the prefix of the keys that hosts write.
func Reports() string { return tableDeployed }

// RolloutPrefix is the prefix of the keys of all topics with a deploy.
func RolloutPrefix() string { return tableDeploys }

// Large are the prefixes of the keys that hold parts of files.
func Large() []string { return []string{tableContents} }

func below(topic string) string { return tableDeploys + url.PathEscape(topic) + "/" }

// maxNumber is the highest number of a deploy. Up to it, the keys of records are in the order of their numbers.
const maxNumber = 999_999_999_999

func recordKey(topic string, number int64) string {
	return fmt.Sprintf("%srecord/%012d", below(topic), number)
}

// RolloutKey is the key that says which deploy of a topic is due. It is the one key below the prefix of that name.
func RolloutKey(topic string) string { return below(topic) + "rollout" }

func partKey(topic, digest string, part int) string {
	return fmt.Sprintf("%s%s/%s/%06d", tableContents, url.PathEscape(topic), url.PathEscape(digest), part)
}

// ReportKey is the key of a host.
func ReportKey(host string) string { return tableDeployed + url.PathEscape(host) }

// Store reads and writes the deploys of a World. The caller closes the World.
type Store struct{ World World }

// World is what a Store needs of an world.World.
type World interface {
	Get(ctx context.Context, key string) (world.KV, error)
	List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error)
	Txn(ctx context.Context, compares []world.Compare, ops []world.Op) (revision int64, ok bool, err error)
	Limits() world.Limits
}

// Stored is a deploy in the history.
type Stored struct {
	Manifest
	Record   Record
	Revision int64
	Err      error // why its record cannot be read; then the number alone is known
}

// partSize is how many bytes of the content one key has. It leaves room for the key in the limit of a World.
func (s Store) partSize() int { return max(1024, s.World.Limits().Bytes-(8<<10)) }

// PutContent writes a content in parts. A part that is there already is not written again: its key says what it is.
func (s Store) PutContent(ctx context.Context, topic, digest string, content []byte) (parts int, err error) {
	size := s.partSize()
	for parts = 0; parts == 0 || parts*size < len(content); parts++ {
		part := content[min(parts*size, len(content)):min((parts+1)*size, len(content))]
		key := partKey(topic, digest, parts)
		kv, err := s.World.Get(ctx, key)
		if err == nil && bytes.Equal(kv.Value, part) {
			continue
		}
		if err != nil && !errors.Is(err, world.ErrNotFound) {
			return 0, err
		}
		if _, _, err := s.World.Txn(ctx, nil, []world.Op{{Key: key, Value: part}}); err != nil {
			return 0, err
		}
	}
	return parts, nil
}

// Content returns the files of a deploy, if they are those of the digest.
func (s Store) Content(ctx context.Context, m Manifest) ([]byte, error) {
	var content []byte
	for part := range m.Parts {
		kv, err := s.World.Get(ctx, partKey(m.Topic, m.Digest, part))
		if errors.Is(err, world.ErrNotFound) {
			return nil, fmt.Errorf("%w: part %d of %d is missing", ErrContent, part+1, m.Parts)
		}
		if err != nil {
			return nil, err
		}
		if content = append(content, kv.Value...); len(content) > m.Size {
			break
		}
	}
	return content, CheckContent(m, content)
}

// CheckContent says whether a content is that of a deploy.
func CheckContent(m Manifest, content []byte) error {
	switch {
	case len(content) != m.Size:
		return fmt.Errorf("%w: they have not the size that was signed, %d bytes", ErrContent, m.Size)
	case Digest(content) != m.Digest:
		return fmt.Errorf("%w: their digest is not %s", ErrContent, m.Digest)
	}
	return nil
}

// Get returns the record of a deploy.
func (s Store) Get(ctx context.Context, topic string, number int64) (Record, error) {
	kv, err := s.World.Get(ctx, recordKey(topic, number))
	if errors.Is(err, world.ErrNotFound) {
		return Record{}, fmt.Errorf("%w: the topic %s has no deploy %d: mgmt deploys lists them", ErrRecord, topic, number)
	}
	if err != nil {
		return Record{}, err
	}
	var r Record
	if err := json.Unmarshal(kv.Value, &r); err != nil {
		return r, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return r, nil
}

// History returns the deploys of a topic, or of all topics where that is empty, the oldest first. A record that cannot be read
// hides no other. A key that recordKey does not make is of no deploy, and is left out.
func (s Store) History(ctx context.Context, topic string) (list []Stored, err error) {
	prefix := tableDeploys
	if topic != "" {
		prefix = below(topic) + "record/"
	}
	kvs, err := s.list(ctx, prefix)
	for _, kv := range kvs {
		parts := strings.Split(strings.TrimPrefix(kv.Key, tableDeploys), "/")
		if len(parts) != 3 || parts[1] != "record" {
			continue
		}
		st := Stored{Revision: kv.Revision}
		name, _ := url.PathUnescape(parts[0])
		number, bad := strconv.ParseInt(parts[2], 10, 64)
		if bad != nil || number < 1 || number > maxNumber || recordKey(name, number) != kv.Key {
			continue
		}
		if st.Err = json.Unmarshal(kv.Value, &st.Record); st.Err == nil {
			st.Manifest, st.Err = st.Record.Read()
		}
		st.Topic, st.Number = name, number
		list = append(list, st)
	}
	return list, err
}

// Topics returns the topics that have a rollout.
func (s Store) Topics(ctx context.Context) (topics []string, err error) {
	kvs, err := s.list(ctx, tableDeploys)
	for _, kv := range kvs {
		parts := strings.Split(strings.TrimPrefix(kv.Key, tableDeploys), "/")
		if topic, bad := url.PathUnescape(parts[0]); bad == nil && len(parts) == 2 && parts[1] == "rollout" {
			topics = append(topics, topic)
		}
	}
	return topics, err
}

// pageSize is how many keys one question asks for.
const pageSize = 500

// lists is how often a list begins again because the store has forgotten its revision.
const lists = 3

// list returns all keys below a prefix, at one revision. It begins again where the store has forgotten that revision.
func (s Store) list(ctx context.Context, prefix string) (all []world.KV, err error) {
	for range lists {
		if all, err = s.listOnce(ctx, prefix); !errors.Is(err, world.ErrCompacted) {
			break
		}
	}
	return all, err
}

// maxList bounds the bytes of one list: a store that another one has filled, or a daemon that never ends a list, takes no memory without a bound.
const maxList = 256 << 20

func (s Store) listOnce(ctx context.Context, prefix string) (all []world.KV, err error) {
	o := world.ListOptions{Limit: pageSize}
	for size := 0; ; {
		p, err := s.World.List(ctx, prefix, o)
		if err != nil {
			return nil, err
		}
		for _, kv := range p.KVs {
			size += len(kv.Key) + len(kv.Value)
		}
		if size > maxList {
			return nil, fmt.Errorf("the store has more than %d MiB below %s: this is no store of mgmt, or somebody has filled it; remove what does not belong there", maxList>>20, prefix)
		}
		all = append(all, p.KVs...)
		if !p.More || len(p.KVs) == 0 {
			return all, nil
		}
		o.At, o.After = p.Revision, p.KVs[len(p.KVs)-1].Key
	}
}
