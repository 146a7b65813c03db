package basic

import (
	"reflect"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// A hundred thousand noops are a graph like any other.
func TestNoopIsSmall(t *testing.T) {
	if n := reflect.TypeFor[NoopRes]().Size(); n > 112 {
		t.Errorf("a noop takes %d bytes beside its metaparameters, which many share", n)
	}
}

func TestNoopSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "noop", NoState: true,
		New: func(*testing.T, string) engine.Res { return &NoopRes{Comment: "a point"} },
	})
}

func TestPrintSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "print", NoState: true, Received: []string{"msg"},
		New: func(*testing.T, string) engine.Res { return &PrintRes{Msg: "hello"} },
	})
}

func TestMsgSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "msg", NoState: true, Received: []string{"body", "fields"},
		New: func(*testing.T, string) engine.Res {
			return &MsgRes{Body: "hello", Priority: "notice", Fields: map[string]string{"A": "1"}}
		},
	})
}

func TestValueSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "value", NoState: true,
		New: func(*testing.T, string) engine.Res { return &ValueRes{Any: "hello"} },
		Variants: map[string]func(engine.Res){
			"int":  func(r engine.Res) { r.(*ValueRes).Any = int64(1) },
			"bool": func(r engine.Res) { r.(*ValueRes).Any = true },
			"none": func(r engine.Res) { r.(*ValueRes).Any = nil },
		},
	})
}

func TestTimerSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "timer", NoState: true,
		New: func(*testing.T, string) engine.Res { return &TimerRes{Interval: time.Hour} },
	})
}

func TestTestSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "test", NoState: true,
		New: func(*testing.T, string) engine.Res {
			return &TestRes{
				Str: "text", Int: 1, Any: "any", List: []string{"a"}, Map: map[string]string{"a": "b"},
				Secret: schema.NewSecret("hidden"), Duration: time.Minute, Size: 1 << 20, Mode: "0644",
				Ref:    schema.Ref{Kind: "noop", Name: "a"},
				Struct: TestStruct{Str: "s", Sub: &TestInner{List: []int{1}}}, Structs: []TestStruct{{Int: 2}},
				Optional: new("there"), Differs: 1, Batch: "b",
			}
		},
	})
}
