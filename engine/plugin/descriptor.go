package plugin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// Descriptor is the file that names one provider.
type Descriptor struct {
	Name      string            `yaml:"name" doc:"The name of the provider." mgmt:"required,min=1"`
	Command   []string          `yaml:"command" doc:"The program and its arguments. A program with a slash in its name is looked for from the folder of the descriptor on." mgmt:"required,min=1"`
	Schema    string            `yaml:"schema" doc:"The file with the schema of its types, from the folder of the descriptor on." mgmt:"required,min=1"`
	Protocol  versions          `yaml:"protocol" doc:"The versions of the protocol that the provider speaks; all that mgmt speaks where it is left out."`
	Transport string            `yaml:"transport" doc:"How mgmt speaks to it: lines, which is JSON lines on descriptor 3, or grpc, over a unix socket." mgmt:"enum=lines|grpc"`
	User      string            `yaml:"user" doc:"The user that it runs as; that of mgmt where it is left out."`
	Group     string            `yaml:"group" doc:"The group that it runs as."`
	Dir       string            `yaml:"dir" doc:"The folder that it runs in; the folder of the descriptor where it is left out."`
	Env       map[string]string `yaml:"env" doc:"Its environment, besides PATH."`
	Config    map[string]any    `yaml:"config" doc:"What it is configured with, before any other call."`
	Timeout   time.Duration     `yaml:"timeout" doc:"How long one call may take."`
	Poll      time.Duration     `yaml:"poll" doc:"How often resources look that the provider cannot watch."`
	Calls     int               `yaml:"calls" doc:"How many calls may wait for an answer at once." mgmt:"min=1"`
	Memory    schema.Size       `yaml:"memory" doc:"How much memory it may have for itself; no limit where it is left out."`
	Grace     time.Duration     `yaml:"grace" doc:"How long it may take to end before it is killed."`
}

// versions is a range of versions of the protocol.
type versions struct {
	Min int `yaml:"min" doc:"The lowest version." mgmt:"min=1"`
	Max int `yaml:"max" doc:"The highest version." mgmt:"min=1"`
}

// The transports. A Conn hides which one it is.
const (
	transportLines = "lines" // JSON lines on descriptor 3
	transportGRPC  = "grpc"  // provider.proto, over a unix socket
)

// defaults are a Descriptor before it is read.
func defaults() Descriptor {
	return Descriptor{
		Protocol: versions{protocol.MinVersion, protocol.MaxVersion}, Transport: transportLines,
		Timeout: 10 * time.Minute, Poll: time.Minute, Calls: 64, Grace: 2 * time.Second,
	}
}

// maxTypes bounds the types of one schema.
const maxTypes = 20_000

// decode reads a descriptor, with the paths as they are from its folder on.
func decode(n *schema.Node) (*Descriptor, schema.Diagnostics) {
	d := defaults()
	ds := schema.Decode(n, &d)
	if ds.Err() != nil {
		return &d, ds
	}
	dir := filepath.Dir(n.Pos.File)
	if strings.Contains(d.Command[0], "/") {
		d.Command[0] = from(dir, d.Command[0])
	}
	d.Schema, d.Dir = from(dir, d.Schema), from(dir, d.Dir)
	if d.Protocol.Min > protocol.MaxVersion || d.Protocol.Max < protocol.MinVersion || d.Protocol.Min > d.Protocol.Max {
		ds.Errorf(n.At("protocol").Pos, "the provider %s speaks the protocol versions %d to %d, and mgmt speaks %d to %d",
			d.Name, d.Protocol.Min, d.Protocol.Max, protocol.MinVersion, protocol.MaxVersion)
	}
	return &d, ds
}

// from returns a path, which may be relative to a folder, as an absolute one where it can.
func from(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// decodeSchema reads the text of a schema file.
func decodeSchema(text []byte) (*protocol.Schema, error) {
	s := &protocol.Schema{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("it is no schema of a provider: %w", err)
	}
	switch {
	case s.Format != protocol.SchemaFormat:
		return nil, fmt.Errorf("the schema is written in format %d, and this mgmt reads format %d", s.Format, protocol.SchemaFormat)
	case len(s.Types) == 0:
		return nil, fmt.Errorf("the schema %s has no types", cmp.Or(s.Name, "of the provider"))
	case len(s.Types) > maxTypes:
		return nil, fmt.Errorf("the schema has %d types, and may have %d", len(s.Types), maxTypes)
	}
	return s, nil
}
