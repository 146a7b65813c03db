package basic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/watches"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("test", func() engine.Res { return &TestRes{} })
}

var (
	_ engine.Res            = (*TestRes)(nil)
	_ engine.RefreshableRes = (*TestRes)(nil)
	_ engine.RecvableRes    = (*TestRes)(nil)
	_ engine.SendableRes    = (*TestRes)(nil)
	_ engine.Batcher        = (*TestRes)(nil)
	_ engine.OverlappingRes = (*TestRes)(nil)
	_ engine.DescribedRes   = (*TestRes)(nil)
)

// TestRes has a parameter of every type, and follows its orders, failures included. It is a fixture
// for tests of graphs, frontends and the engine.
type TestRes struct {
	traits.Base
	traits.Recvable
	traits.Refreshable
	traits.Sendable
	traits.Overlapping

	init *engine.Init
	run  *testRun

	Bool     bool              `yaml:"bool" lang:"bool" doc:"A truth." mgmt:"nowatch"`
	Str      string            `yaml:"str" lang:"str" doc:"A text." mgmt:"nowatch"`
	Choice   string            `yaml:"choice" lang:"choice" doc:"One of a few words, or absent." mgmt:"nowatch,enum=red|green|blue"`
	Int      int               `yaml:"int" lang:"int" doc:"A whole number." mgmt:"nowatch"`
	Int8     int8              `yaml:"int8" lang:"int8" doc:"A whole number of 8 bits." mgmt:"nowatch"`
	Int16    int16             `yaml:"int16" lang:"int16" doc:"A whole number of 16 bits." mgmt:"nowatch"`
	Int32    int32             `yaml:"int32" lang:"int32" doc:"A whole number of 32 bits." mgmt:"nowatch"`
	Int64    int64             `yaml:"int64" lang:"int64" doc:"A whole number of 64 bits." mgmt:"nowatch"`
	Uint     uint              `yaml:"uint" lang:"uint" doc:"A whole number that is not negative." mgmt:"nowatch"`
	Uint8    uint8             `yaml:"uint8" lang:"uint8" doc:"One of 8 bits." mgmt:"nowatch"`
	Uint16   uint16            `yaml:"uint16" lang:"uint16" doc:"One of 16 bits." mgmt:"nowatch"`
	Uint32   uint32            `yaml:"uint32" lang:"uint32" doc:"One of 32 bits." mgmt:"nowatch"`
	Uint64   uint64            `yaml:"uint64" lang:"uint64" doc:"One of 64 bits." mgmt:"nowatch"`
	Float32  float32           `yaml:"float32" lang:"float32" doc:"A number of 32 bits." mgmt:"nowatch"`
	Float64  float64           `yaml:"float64" lang:"float64" doc:"A number of 64 bits." mgmt:"nowatch"`
	Bounded  int               `yaml:"bounded" lang:"bounded" doc:"A whole number from 0 to 10." mgmt:"nowatch,min=0,max=10"`
	Duration time.Duration     `yaml:"duration" lang:"duration" doc:"A length of time; a bare integer is seconds." mgmt:"nowatch,unit=s"`
	Size     schema.Size       `yaml:"size" lang:"size" doc:"A number of bytes." mgmt:"nowatch"`
	Mode     schema.Mode       `yaml:"mode" lang:"mode" doc:"Permission bits." mgmt:"nowatch"`
	Ref      schema.Ref        `yaml:"ref" lang:"ref" doc:"A reference to a resource." mgmt:"nowatch"`
	Secret   schema.Secret     `yaml:"secret" lang:"secret" doc:"A text that must not be shown." mgmt:"nowatch"`
	Any      any               `yaml:"any" lang:"any" doc:"Anything." mgmt:"nowatch"`
	List     []string          `yaml:"list" lang:"list" doc:"A list of texts." mgmt:"nowatch"`
	Map      map[string]string `yaml:"map" lang:"map" doc:"Texts by name." mgmt:"nowatch"`
	Struct   TestStruct        `yaml:"struct" lang:"struct" doc:"Several values." mgmt:"nowatch"`
	Structs  []TestStruct      `yaml:"structs" lang:"structs" doc:"Several times several values." mgmt:"nowatch"`
	Optional *string           `yaml:"optional" lang:"optional" doc:"A text, or none." mgmt:"nowatch"`
	OptInt   *int              `yaml:"optint" lang:"optint" doc:"A whole number, or none." mgmt:"nowatch"`
	InitOnly string            `yaml:"initonly" lang:"initonly" doc:"A text that can't be changed later." mgmt:"init"`

	ValidateError string `yaml:"validateerror" lang:"validateerror" doc:"Fail Validate with this." mgmt:"param"`
	InitError     string `yaml:"initerror" lang:"initerror" doc:"Fail Init with this." mgmt:"param"`
	CleanupError  string `yaml:"cleanuperror" lang:"cleanuperror" doc:"Fail Cleanup with this." mgmt:"param"`
	Panic         string `yaml:"panic" lang:"panic" doc:"Panic in this method." mgmt:"param,enum=validate|init|cleanup|watch|checkapply|cmp"`

	Differs    int           `yaml:"differs" lang:"differs" doc:"How many runs find a difference and change it, from the start." mgmt:"param,min=0"`
	CheckError string        `yaml:"checkerror" lang:"checkerror" doc:"Fail CheckApply with this." mgmt:"param"`
	CheckFails int           `yaml:"checkfails" lang:"checkfails" doc:"How many runs fail with checkerror before they are well; 0 for all." mgmt:"param,min=0"`
	Permanent  bool          `yaml:"permanent" lang:"permanent" doc:"Say that a retry will not end checkerror." mgmt:"param"`
	Sleep      time.Duration `yaml:"sleep" lang:"sleep" doc:"How long each run takes." mgmt:"param,unit=s"`
	Deaf       time.Duration `yaml:"deaf" lang:"deaf" doc:"How long each run takes, heedless of the end of its context." mgmt:"param,unit=s"`

	WatchEvery time.Duration `yaml:"watchevery" lang:"watchevery" doc:"Give an event at this interval." mgmt:"param,unit=s"`
	WatchError string        `yaml:"watcherror" lang:"watcherror" doc:"Fail Watch with this, once it was armed." mgmt:"param"`
	WatchSlow  time.Duration `yaml:"watchslow" lang:"watchslow" doc:"How long Watch takes until it is armed." mgmt:"param,unit=s"`
	WatchNil   bool          `yaml:"watchnil" lang:"watchnil" doc:"End Watch at once and without an error." mgmt:"param"`

	Batch    string `yaml:"batch" lang:"batch" doc:"Run together with others that have the same here." mgmt:"param"`
	SendNone bool   `yaml:"sendnone" lang:"sendnone" doc:"Send nothing." mgmt:"param"`
}

// TestStruct is a parameter with parts.
type TestStruct struct {
	Str string     `yaml:"str" lang:"str" doc:"A text."`
	Int int        `yaml:"int" lang:"int" doc:"A whole number."`
	Sub *TestInner `yaml:"sub" lang:"sub" doc:"More, or nothing."`
}

// TestInner is a part of a part.
type TestInner struct {
	List []int `yaml:"list" lang:"list" doc:"Whole numbers."`
}

// TestSends has the values that a test sends: its parameters, and how often it was run.
type TestSends struct {
	Hello  string        `yaml:"hello" lang:"hello" doc:"The parameter str, or a greeting where it is empty."`
	Answer int           `yaml:"answer" lang:"answer" doc:"The parameter int, or 42 where it is 0."`
	Any    any           `yaml:"any" lang:"any" doc:"The parameter any."`
	List   []string      `yaml:"list" lang:"list" doc:"The parameter list."`
	Secret schema.Secret `yaml:"secret" lang:"secret" doc:"The parameter secret."`
}

// testRun is what an instance has done so far.
type testRun struct{ changed, failed int }

// Default returns an empty resource.
func (x *TestRes) Default() engine.Res { return &TestRes{} }

// Validate fails if it is to.
func (x *TestRes) Validate() error {
	x.panicIn("validate")
	return told(x.ValidateError)
}

// Init fails if it is to.
func (x *TestRes) Init(init *engine.Init) error {
	x.panicIn("init")
	x.init, x.run = init, &testRun{}
	return told(x.InitError)
}

// Cleanup fails if it is to.
func (x *TestRes) Cleanup() error {
	x.panicIn("cleanup")
	return told(x.CleanupError)
}

// Cmp compares the parameters.
func (x *TestRes) Cmp(r engine.Res) error {
	x.panicIn("cmp")
	return engine.CmpFields(x, r)
}

func (x *TestRes) panicIn(method string) {
	if x.Panic == method {
		panic(fmt.Sprintf("told to panic in %s", method))
	}
}

// told returns what a parameter says should be the error.
func told(msg string) error {
	if msg == "" {
		return nil
	}
	return errors.New(msg)
}

// Watch does what the parameters say.
func (x *TestRes) Watch(ctx context.Context) error {
	x.panicIn("watch")
	if x.WatchNil {
		return nil
	}
	if err := watches.Pause(ctx, engine.ClockOf(x.init.Host), x.WatchSlow); err != nil {
		return nil
	}
	x.init.Running()
	if x.WatchError != "" {
		return told(x.WatchError)
	}
	if x.WatchEvery <= 0 {
		<-ctx.Done()
		return nil
	}
	t := clock.NewTimer(engine.ClockOf(x.init.Host), x.WatchEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			x.init.Event()
			t.Reset(x.WatchEvery)
		case <-ctx.Done():
			return nil
		}
	}
}

// CheckApply does what the parameters say.
func (x *TestRes) CheckApply(ctx context.Context, apply bool) (bool, error) {
	x.panicIn("checkapply")
	if err := watches.Pause(ctx, engine.ClockOf(x.init.Host), x.Sleep); err != nil {
		return false, err
	}
	_ = watches.Pause(context.WithoutCancel(ctx), engine.ClockOf(x.init.Host), x.Deaf) // it stands for code that does not listen
	if err := x.fail(); err != nil {
		return false, err
	}
	ok := x.differ(apply)
	if x.SendNone || !ok && !apply {
		return ok, nil
	}
	return ok, x.init.Send(x.sends())
}

// fail returns checkerror as long as it lasts.
func (x *TestRes) fail() error {
	if x.CheckError == "" || x.CheckFails > 0 && x.run.failed >= x.CheckFails {
		return nil
	}
	x.run.failed++
	if x.Permanent {
		return failure.Permanent(told(x.CheckError))
	}
	return told(x.CheckError)
}

// differ reports a difference as long as there are some.
func (x *TestRes) differ(apply bool) bool {
	switch {
	case x.run.changed < x.Differs:
		x.init.Change(engine.Change{Field: "differs", From: x.Differs - x.run.changed, To: x.Differs - x.run.changed - 1})
		if apply {
			x.run.changed++
		}
	case x.init.Refresh():
		x.init.Change(engine.Change{Verb: engine.Refreshed})
	default:
		return true
	}
	return false
}

func (x *TestRes) sends() *TestSends {
	s := &TestSends{Hello: x.Str, Answer: x.Int, Any: x.Any, List: x.List, Secret: x.Secret}
	if s.Hello == "" {
		s.Hello = "hello from " + x.Name()
	}
	if s.Answer == 0 {
		s.Answer = 42
	}
	return s
}

// Sends returns the type of what is sent.
func (x *TestRes) Sends() any { return &TestSends{} }

// GroupKey returns the key of the batch.
func (x *TestRes) GroupKey() string { return x.Batch }

// CheckApplyBatch runs the members one after the other.
func (x *TestRes) CheckApplyBatch(ctx context.Context, apply bool, members []engine.Res) []engine.Outcome {
	out := make([]engine.Outcome, len(members))
	for i, m := range members {
		ok, err := m.CheckApply(ctx, apply)
		out[i] = engine.Outcome{OK: ok, Err: err}
	}
	return out
}

// Doc describes the kind.
func (x *TestRes) Doc() string {
	return `A fixture for tests: it has a parameter of every type, and follows its orders, failures included.

Graphs that use it show how the engine deals with slow, failing, panicking and deaf resources, and how values of each type
are read, received and sent. It touches nothing on the machine.`
}
