package modeltest

type expect = map[string]any

// departures are the outcomes that the scenarios recommend in words, by scenario and step. A step that is not here has
// the outcome that was seen.
var departures = map[string]map[int]expect{
	// A snapshot that is put again changes nothing, so it is not out of date.
	"df-045": {3: {"value": false}},
	// An unset element of a query finds everything, also where the field is required.
	"df-056": {1: {"ids": []any{"1"}}},
	// Each object comes once, so it is the only one.
	"df-067": {1: {"ids": []any{"1"}}, 2: {"obj": map[string]any{
		"id": "1", "topic": "t", "many": []any{map[string]any{"subs": []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}}},
	}}},
	// An empty list is missing, and found by any.
	"df-071": {2: {"ids": []any{"1", "2"}}},
	// An absent target refuses no put, and is looked for without a question to the store.
	"df-074": {1: {"ok": true}, 2: {"count": 0}},
	// The index follows the target, so the object is found by the new name before it is put again.
	"df-076": {5: {"ids": []any{"p1"}}},
	// The gap is there between two updates; TestMoveUnseen moves in one transaction.
	"df-082": {},
	// The topic of a deletion is that of the stored object.
	"df-097": {3: {"events": []any{map[string]any{"table": "a", "key": "1", "action": "delete", "topic": "t", "value": nil}}}},
	// Create never writes over an object.
	"df-103": {
		1: {"error": "already_exists"},
		2: {"value": map[string]any{"f": "x", "g": "y", "id": "1", "topic": "t"}},
		3: {"events": []any{map[string]any{
			"table": "a", "key": "1", "action": "create", "topic": "t",
			"value": map[string]any{"f": "x", "g": "y", "id": "1", "topic": "t"},
		}}},
	},
	// Fields that the model does not have any more are kept, and hide nothing.
	"df-109": {1: {"obj": map[string]any{"id": "1", "topic": "t"}}, 2: {"ids": []any{"1"}}},
	// The hooks of mixins always run.
	"df-117": {1: {"value": map[string]any{"f": "x", "id": "1", "version": 1}}},
	// A version that comes with an update is the expected one.
	"df-119": {
		2: {"error": "conflict"}, 3: {"value": map[string]any{"f": "x", "id": "1", "version": 7}},
		4: {"error": "conflict"}, 5: {"value": map[string]any{"f": "x", "id": "1", "version": 7}},
	},
	// The same over HTTP.
	"df-150": {1: {"status": 409}, 2: {"status": 200, "body": map[string]any{"f": "x", "id": "1", "version": 1}}},
}
