package functions

import (
	"github.com/reactivegraph/mgmt/idl"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/identity"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/queue"
)

// A Runtime is what runs the code of a function.
type Runtime string

const (
	Node20   Runtime = "node20"
	Python39 Runtime = "python3.9"
	Go1      Runtime = "go1"
)

// A Function is code that runs when it is called.
type Function struct {
	idl.NamedResource `lumi:"refresh,batch=10"`
	// The code: a folder, or an archive.
	Code        *idl.Archive       `lumi:"code"`
	Handler     string             `lumi:"handler"`
	Role        *identity.Role     `lumi:"role"`
	Runtime     Runtime            `lumi:"runtime"`
	MemorySize  *float64           `lumi:"memorySize,optional,min=128,max=3008"`
	Environment *map[string]string `lumi:"environment,optional,secret"`
	Layers      *[]*Layer          `lumi:"layers,optional,maxItems=5"`
	// Where events go that failed.
	DeadLetters *queue.Queue `lumi:"deadLetters,optional"`
	Version     *string      `lumi:"version,out"`
	Size        *float64     `lumi:"size,out"`
}
