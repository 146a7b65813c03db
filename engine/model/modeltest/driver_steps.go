package modeltest

import (
	"errors"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world"
)

// driverSteps are those of a driver: tables of keys in a World, without models.
type driverSteps struct{ *runner }

// all returns the steps by operation.
func (r driverSteps) all() map[string]operation {
	return map[string]operation{
		"drv.create_table": r.drvTable, "drv.create_key": r.drvCreate, "drv.set_key": r.drvSet, "drv.get_key": r.drvGet,
		"drv.delete_key": r.drvDelete, "drv.get_all_keys": r.drvKeys, "drv.get_all_entries": r.drvEntries, "drv.allocate_unique_key": r.drvAllocate,
		"drv.delete_table": r.drvDropTable,
	}
}

// drvKey reads the table, the key and the value of a step.
func drvKey(step map[string]any) (key, value string) {
	args := asStrings(step["args"])
	for len(args) < 3 {
		args = append(args, "")
	}
	return "d/" + args[0] + "/" + args[1], args[2]
}

// drvTable has nothing to make: a table is the prefix of its keys.
func (r driverSteps) drvTable(map[string]any) (outcome, error) { return outcome{"value": nil}, nil }

// drvTxn alters a key that is there, or makes a new key.
func (r driverSteps) drvTxn(op world.Op, there bool) (outcome, error) {
	kv, err := r.world.Get(r.ctx, op.Key)
	if err != nil && !errors.Is(err, world.ErrNotFound) {
		return nil, err
	}
	if there && kv.Revision == 0 {
		return nil, &model.Error{Code: model.NotFound, Message: "there is no such key"}
	}
	if !there && kv.Revision != 0 {
		return nil, &model.Error{Code: model.Exists, Message: "there is such a key"}
	}
	_, ok, err := r.world.Txn(r.ctx, []world.Compare{{Key: op.Key, Revision: kv.Revision}}, []world.Op{op})
	if err == nil && !ok {
		err = errors.New("the comparison did not hold")
	}
	return outcome{"value": nil}, err
}

// drvCreate makes a key.
func (r driverSteps) drvCreate(step map[string]any) (outcome, error) {
	key, value := drvKey(step)
	return r.drvTxn(world.Op{Key: key, Value: []byte(value)}, false)
}

// drvSet alters a key that is there.
func (r driverSteps) drvSet(step map[string]any) (outcome, error) {
	key, value := drvKey(step)
	return r.drvTxn(world.Op{Key: key, Value: []byte(value)}, true)
}

// drvDelete deletes a key that is there.
func (r driverSteps) drvDelete(step map[string]any) (outcome, error) {
	key, _ := drvKey(step)
	return r.drvTxn(world.Op{Key: key, Delete: true}, true)
}

// drvGet reads a key.
func (r driverSteps) drvGet(step map[string]any) (outcome, error) {
	key, _ := drvKey(step)
	kv, err := r.world.Get(r.ctx, key)
	if errors.Is(err, world.ErrNotFound) {
		return nil, &model.Error{Code: model.NotFound, Err: err}
	}
	return outcome{"value": string(kv.Value)}, err
}

// drvList returns the keys and values of a table.
func (r driverSteps) drvList(step map[string]any) (keys, values []string, err error) {
	prefix := "d/" + asStrings(step["args"])[0] + "/"
	page, err := r.world.List(r.ctx, prefix, world.ListOptions{})
	keys, values = []string{}, []string{}
	for _, kv := range page.KVs {
		keys, values = append(keys, strings.TrimPrefix(kv.Key, prefix)), append(values, string(kv.Value))
	}
	slices.Sort(values)
	return keys, values, err
}

// drvKeys returns the keys of a table, sorted.
func (r driverSteps) drvKeys(step map[string]any) (outcome, error) {
	keys, _, err := r.drvList(step)
	return outcome{"value": keys}, err
}

// drvEntries returns the values of a table, sorted.
func (r driverSteps) drvEntries(step map[string]any) (outcome, error) {
	_, values, err := r.drvList(step)
	return outcome{"value": values}, err
}

// drvDropTable deletes all keys of a table.
func (r driverSteps) drvDropTable(step map[string]any) (outcome, error) {
	keys, _, err := r.drvList(step)
	for _, key := range keys {
		if _, _, err := r.world.Txn(r.ctx, nil, []world.Op{{Key: "d/" + asStrings(step["args"])[0] + "/" + key, Delete: true}}); err != nil {
			return nil, err
		}
	}
	return outcome{"value": nil}, err
}

// drvAllocate returns a number that the table has not had.
func (r driverSteps) drvAllocate(step map[string]any) (outcome, error) {
	key, err := r.nb.Allocate(r.ctx, asStrings(step["args"])[0])
	return outcome{"value": key}, err
}
