package mgmt

import (
	"reflect"
	"testing"
)

// TestObserverWith: each function of both is called, in their order, and those that both lack stay nil.
func TestObserverWith(t *testing.T) {
	typ := reflect.TypeFor[Observer]()
	for i := range typ.NumField() {
		t.Run(typ.Field(i).Name, func(t *testing.T) {
			var calls string
			observer := func(who string) (o Observer) {
				f := typ.Field(i).Type
				reflect.ValueOf(&o).Elem().Field(i).Set(reflect.MakeFunc(f, func([]reflect.Value) []reflect.Value {
					calls += who
					return nil
				}))
				return o
			}
			for want, o := range map[string]Observer{
				"ab": observer("a").With(observer("b")),
				"a":  observer("a").With(Observer{}),
				"b":  Observer{}.With(observer("b")),
			} {
				calls = ""
				v := reflect.ValueOf(o)
				var args []reflect.Value
				for in := range typ.Field(i).Type.Ins() {
					args = append(args, reflect.Zero(in))
				}
				v.Field(i).Call(args)
				if calls != want {
					t.Errorf("called %q, want %q", calls, want)
				}
				for k := range typ.NumField() {
					if k != i && !v.Field(k).IsNil() {
						t.Errorf("%s is not nil", typ.Field(k).Name)
					}
				}
			}
		})
	}
}
