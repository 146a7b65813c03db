package database

import (
	"github.com/reactivegraph/mgmt/idl"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/keys"
	"github.com/reactivegraph/mgmt/idl/testdata/cumulus/idl/network"
)

// An Engine is a program of databases.
type Engine string

const (
	Postgres Engine = "postgres"
	MySQL    Engine = "mysql"
)

// A Cluster is a server of databases with its copies.
type Cluster struct {
	idl.NamedResource `lumi:"watch,createBeforeDelete"`
	Engine            Engine            `lumi:"replaces"`
	Version           *string           `lumi:"optional,format=semver"`
	Subnets           []*network.Subnet `lumi:"minItems=2"`
	Settings          *ParameterGroup   `lumi:"optional"`
	// Of the first user. It cannot be read back.
	Password string    `lumi:"in,secret,minLen=12"`
	Key      *keys.Key `lumi:"optional,replaces"`
	Endpoint *Endpoint `lumi:"out"`
}

// An Endpoint is where a server answers.
type Endpoint struct {
	Host string
	Port float64
}
