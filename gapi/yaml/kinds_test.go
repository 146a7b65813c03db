package yaml_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
)

// inert does nothing: these kinds are only read.
type inert struct{}

func (inert) Validate() error                                { return nil }
func (inert) Init(*engine.Init) error                        { return nil }
func (inert) Cleanup() error                                 { return nil }
func (inert) Watch(context.Context) error                    { return nil }
func (inert) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (inert) Cmp(engine.Res) error                           { return nil }

type fileRes struct {
	traits.Base
	traits.Recvable
	inert `yaml:"-"`

	Path    string      `yaml:"path" mgmt:"identity"`
	State   string      `yaml:"state" mgmt:"enum=exists|absent|undefined"`
	Content *string     `yaml:"content"`
	Mode    schema.Mode `yaml:"mode"`
	Limit   schema.Size `yaml:"limit"`
	Owner   string      `yaml:"owner"`
	Recurse bool        `yaml:"recurse"`
	Inode   int64       `yaml:"inode" mgmt:"readonly"`
	Source  string      `yaml:"source"`
}

func (r *fileRes) Default() engine.Res { return &fileRes{State: "exists"} }

func (r *fileRes) Validate() error {
	var errs []error
	if path := r.Path; path != "" && !strings.HasPrefix(path, "/") {
		errs = append(errs, fmt.Errorf("path %q is not absolute", path))
	}
	if r.Content != nil && r.Source != "" {
		errs = append(errs, errors.New("content and source exclude each other"))
	}
	if r.Owner == "panic" {
		panic("no such owner")
	}
	return errors.Join(errs...)
}

type execRes struct {
	traits.Base
	traits.Recvable
	traits.Refreshable
	inert `yaml:"-"`

	Cmd         string            `yaml:"cmd" mgmt:"required"`
	Args        []string          `yaml:"args"`
	Env         map[string]string `yaml:"env"`
	Timeout     time.Duration     `yaml:"timeout"`
	RefreshOnly bool              `yaml:"refreshonly"`
	Count       int               `yaml:"count" mgmt:"min=0,max=10"`
	Ratio       float64           `yaml:"ratio"`
	User        schema.Ref        `yaml:"user"`
	Token       schema.Secret     `yaml:"token"`
	Extra       any               `yaml:"extra"`
}

func (r *execRes) Default() engine.Res { return &execRes{} }
func (r *execRes) Sends() any          { return &execSends{} }

type execSends struct {
	Output string `yaml:"output"`
	Code   int    `yaml:"code"`
}

type passwordRes struct {
	traits.Base
	inert `yaml:"-"`

	Length int `yaml:"length" mgmt:"min=1"`
}

func (r *passwordRes) Default() engine.Res { return &passwordRes{Length: 32} }
func (r *passwordRes) Sends() any {
	return &struct {
		Password schema.Secret `yaml:"password"`
	}{}
}

type noopRes struct {
	traits.Base
	inert   `yaml:"-"`
	Comment string `yaml:"comment"`
}

func (r *noopRes) Default() engine.Res { return &noopRes{} }

type userRes struct {
	traits.Base
	inert `yaml:"-"`
	Login string `yaml:"name" mgmt:"identity"`
}

func (r *userRes) Default() engine.Res { return &userRes{} }

// registry has the kinds that the tests declare.
func registry(t testing.TB) *engine.Registry {
	reg := engine.NewRegistry()
	for kind, make := range map[string]func() engine.Res{
		"file":     func() engine.Res { return &fileRes{} },
		"exec":     func() engine.Res { return &execRes{} },
		"password": func() engine.Res { return &passwordRes{} },
		"noop":     func() engine.Res { return &noopRes{} },
		"user":     func() engine.Res { return &userRes{} },
	} {
		if err := reg.Register(kind, make); err != nil {
			t.Fatal(err)
		}
		if _, err := reg.Kind(kind); err != nil {
			t.Fatal(err)
		}
	}
	return reg
}
