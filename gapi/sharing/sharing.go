// Package sharing joins an engine to the store that its host shares with other hosts. It publishes the record and the exports of
// the host, reads the exports of the others, and takes places of semaphores.
//
// # Laws
//
//   - A World brings the code that shares. A program that names no World does not link that code: its engine publishes nothing,
//     collects nothing and has no store for its resources, and says so where one is wanted.
//   - A World without a store shares with itself: the store is in memory, and each engine has its own.
package sharing

import (
	"context"
	"log/slog"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/lazy"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/collect"
)

// World is a store that hosts share, with the code that shares it. With returns one.
type World interface {
	// Store returns the store; nil where each engine has its own in memory. It is the caller's, who closes it.
	Store() world.World

	open(Env) Sharing
}

// Env is the engine that shares. All fields are needed but Version, Roles, Accept, File and Exported.
type Env struct {
	Clock         clock.Clock
	Lease         time.Duration // for how long the store keeps the keys of this host after the host has died
	Host, Version string
	Roles         []string // with the name, they say which topics the host reads
	Facts         func() engine.Facts
	Accept        *lend.Rules // what may come from other hosts; nil for the default
	Log           *slog.Logger
	Quiet         bool   // nothing is published: the run alters nothing
	Offline       bool   // the store is not asked, and File is not written
	File          string // keeps the exports that were collected last; empty for none
	Exported      string // the file with the names of the exports of this host; empty for none
}

// Sharing is what one engine shares. Its Exports are to be closed.
type Sharing struct {
	Store     world.World // for the resources; never nil
	Publisher Publisher
	Exports   Exports
	// Place takes a place of a semaphore that hosts share; nil where there is no store. See hosts.Holder.
	Place func(ctx context.Context, topic, name string, count int) (release func(), lost <-chan struct{}, err error)
}

// Publisher shows other hosts how the graph stands, and its exports; see hosts.Publisher.
type Publisher interface {
	Run(context.Context)
	Swapped(graph string, differs bool)
	Stirred()
	Rested(counts [resgraph.NumStates]int)
	Whole(*resgraph.Graph)
	Part(brought map[string]*resgraph.Vertex, removed []string)
}

// Exports are the exports of other hosts; see collect.Reader.
type Exports interface {
	Want(ctx, life context.Context, list []gapi.CollectDecl)
	Wants() []gapi.CollectDecl
	Declare(kinds *engine.Registry, taken func(id string) bool) ([]collect.Collected, schema.Diagnostics)
	News() <-chan struct{}
	Signal()
	Close() error
}

// With returns a World over a store; nil for a store in memory of each engine.
func With(store world.World) World { return reading{store} }

// StoreOf returns the store of a World, nil for none.
func StoreOf(w World) world.World {
	if w == nil {
		return nil
	}
	return w.Store()
}

// Open joins an engine to a World; nil is one with which nothing is shared.
func Open(w World, env Env) Sharing {
	if w == nil {
		none := lazy.New(func() (world.World, error) { return nil, errNone })
		return Sharing{Store: none, Publisher: nobody{}, Exports: &nothing{}}
	}
	return w.open(env)
}

type reading struct{ store world.World }

func (w reading) Store() world.World { return w.store }

func (w reading) open(env Env) Sharing {
	store := w.store
	if store == nil {
		store = memory.New()
	}
	p := hosts.PublisherOptions{
		World: store, Clock: env.Clock, Lease: env.Lease, Host: env.Host, Version: env.Version, Facts: env.Facts, Log: env.Log, Quiet: env.Quiet,
		File: env.Exported,
	}
	if w.store != nil { // else no other host can see it
		p.Used = hosts.Used(w.store)
	}
	holder := &hosts.Holder{World: store, Clock: env.Clock, Lease: env.Lease, Host: env.Host, Log: env.Log}
	return Sharing{
		Store:     store,
		Publisher: hosts.NewPublisher(p),
		Exports: collect.NewReader(collect.ReaderOptions{
			Host: env.Host, World: store, Clock: env.Clock, Topics: hosts.Topics(env.Host, env.Roles),
			Accept: env.Accept, Log: env.Log, Offline: env.Offline, File: env.File,
		}),
		Place: holder.Place,
	}
}
