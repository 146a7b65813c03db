package mgmt

import (
	"reflect"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine/reactor"
)

// objects are the fields of Options that stay the caller's, as its comment says.
var objects = []string{"Registry", "Backends", "World", "Host", "State", "Store", "Images", "Policy", "Past", "Logger", "Stdin", "Heartbeat", "Reload", "BeforeReload", "Abandon", "Observer", "Background"}

// TestOptionsShareNothing: a run shares no memory with its caller: each field of Options is a plain value, is copied, or is an object that the comment names.
// A new field that is a slice, a map or a pointer fails here until clone copies it.
func TestOptionsShareNothing(t *testing.T) {
	var o Options
	in := reflect.ValueOf(&o).Elem()
	shared := func(v reflect.Value) bool {
		return slices.Contains([]reflect.Kind{reflect.Slice, reflect.Map, reflect.Pointer}, v.Kind())
	}
	for i := range in.NumField() {
		switch f := in.Field(i); {
		case slices.Contains(objects, in.Type().Field(i).Name):
		case f.Kind() == reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case f.Kind() == reflect.Map:
			f.Set(reflect.MakeMap(f.Type()))
		case f.Kind() == reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case f.Kind() == reflect.Interface, f.Kind() == reflect.Func, f.Kind() == reflect.Chan:
			t.Errorf("%s is an object of the caller: name it in the comment of Options, and here", in.Type().Field(i).Name)
		}
	}
	o.Accept[0] = "file" // an empty one says nothing
	first, err := o.ready()
	if err != nil {
		t.Fatal(err)
	}
	one := reflect.ValueOf(first)
	for i := range in.NumField() {
		name := in.Type().Field(i).Name
		if f := in.Field(i); shared(f) && !f.IsNil() {
			if one.Field(i).IsNil() || one.Field(i).Pointer() == f.Pointer() {
				t.Errorf("%s is not copied", name)
			}
		}
	}
}

// TestOptionsNeverChange: what a caller does to its slices and structs afterwards does not reach an engine.
func TestOptionsNeverChange(t *testing.T) {
	o := Options{Roles: []string{"web"}, Flapping: &reactor.Flapping{}}
	own, err := o.ready()
	if err != nil {
		t.Fatal(err)
	}
	o.Roles[0], *o.Flapping = "db", reactor.DefaultFlapping()
	if own.Roles[0] != "web" || *own.Flapping != (reactor.Flapping{}) {
		t.Errorf("the options are %v, %v", own.Roles, own.Flapping)
	}
}
