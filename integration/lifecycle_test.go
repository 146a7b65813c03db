package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi/puppet"
	"github.com/reactivegraph/mgmt/internal/await"
)

// lifeVector is one whole run, and what came of it on Puppet.
type lifeVector struct {
	ID   string          `json:"id"`
	Desc string          `json:"desc"`
	Type json.RawMessage `json:"type"`

	Provider struct {
		Instances    []map[string]any `json:"instances"`
		Get          string           `json:"get"`
		Set          string           `json:"set"`
		Canonicalize string           `json:"canonicalize"`
		Record       bool             `json:"record_canonicalize"`
		InSync       string           `json:"insync"`
	} `json:"provider"`
	Resources []map[string]any  `json:"resources"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Settings  map[string]string `json:"settings"`
	Expect    lifeOutcome       `json:"expect"`

	def *provider.Definition
	err error // of the run
}

// lifeOutcome is what came of a run.
type lifeOutcome struct {
	Exit      int            `json:"exit"`
	Calls     []lifeCall     `json:"calls"`
	Resources []lifeResource `json:"resources"`

	loose   bool // the calls, and resources that are not named, do not count
	handler bool // Set is called with noop
}

// lifeResource is what came of one resource.
type lifeResource struct {
	Resource string      `json:"resource"`
	Changed  bool        `json:"changed"`
	Failed   bool        `json:"failed"`
	Skipped  bool        `json:"skipped"`
	Events   []lifeEvent `json:"events"`
}

type lifeEvent struct {
	Property string `json:"property"`
	Previous any    `json:"previous_value"`
	Desired  any    `json:"desired_value"`
	Status   string `json:"status"`
}

func (v *lifeVector) has(feature string) bool {
	return strings.Contains(string(v.Type), `"`+feature+`"`)
}

func (v *lifeVector) namevars() (names []string) {
	for _, a := range v.def.Attributes {
		if a.Role == provider.Namevar {
			names = append(names, a.Name)
		}
	}
	return names
}

func (v *lifeVector) ensurable() bool {
	return slices.ContainsFunc(v.def.Attributes, func(a provider.Attribute) bool { return a.Name == "ensure" })
}

// lifeVectors reads the cases of puppet apply. A folder without any is an error.
func lifeVectors(folder string) ([]*lifeVector, error) {
	files, err := filepath.Glob(filepath.Join(folder, "puppet", "lifecycle_*.json"))
	if err != nil {
		return nil, err
	}
	var list []*lifeVector
	for _, file := range files {
		vectors, err := readLifeVectors(file)
		if err != nil {
			return nil, err
		}
		list = append(list, vectors...)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s holds no runs, that is no puppet/lifecycle_*.json", folder)
	}
	return list, nil
}

// readLifeVectors reads the cases of puppet apply from one file.
func readLifeVectors(file string) ([]*lifeVector, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all struct{ Vectors []*lifeVector }
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	if err := dec.Decode(&all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return slices.DeleteFunc(all.Vectors, func(v *lifeVector) bool { return v.Command != "puppet apply" }), nil
}

// TestLifecycleVectors runs every run of puppet apply that was seen, and compares what
// the provider was asked and what came of each resource. VECTORS names a folder that
// holds puppet/ with others.
func TestLifecycleVectors(t *testing.T) {
	folder, others := os.LookupEnv("VECTORS")
	if !others {
		folder = "../engine/provider/testdata"
	}
	list, err := lifeVectors(folder)
	if err != nil {
		t.Fatal(err)
	}
	used := runLifeVectors(t, list)
	if others {
		return
	}
	for _, d := range lifeDeviations {
		if !used[d.reason] && !d.unseen {
			t.Errorf("nothing deviates because %q", d.reason)
		}
	}
}

// TestMoreRuns runs what was seen on Puppet 7.23 beyond these, with strict=error where a
// case does not say.
func TestMoreRuns(t *testing.T) {
	list, err := readLifeVectors("testdata/runs.json")
	if err != nil || len(list) == 0 {
		t.Fatal(err, len(list))
	}
	runLifeVectors(t, list)
}

// runLifeVectors runs cases, and returns the reasons for which some deviate.
func runLifeVectors(t *testing.T, list []*lifeVector) map[string]bool {
	t.Helper()
	used := map[string]bool{}
	match := 0
	for _, v := range list {
		t.Run(v.ID, func(t *testing.T) {
			got, log := v.run(t)
			if v.Expect.differs(got) == "" {
				match++
				return
			}
			want, reasons := v.wanted()
			for _, r := range reasons {
				used[r] = true
			}
			if diff := want.differs(got); diff != "" {
				t.Errorf("%s\n%s\nafter %q\n%s", v.Desc, diff, reasons, log)
			}
			t.Logf("deviates: %q", reasons)
		})
	}
	t.Logf("%d of %d match", match, len(list))
	return used
}

// TestLifecycleVectorsMustBeThere: nothing passes for want of cases.
func TestLifecycleVectorsMustBeThere(t *testing.T) {
	if list, err := lifeVectors(t.TempDir()); err == nil {
		t.Errorf("an empty folder holds %d", len(list))
	}
}

// run runs a vector.
func (v *lifeVector) run(t *testing.T) (lifeOutcome, string) {
	t.Helper()
	d := &double{vector: v}
	kinds, err := v.kinds(t, d)
	if err != nil {
		return lifeOutcome{Exit: 1}, err.Error()
	}
	var log strings.Builder
	seen := map[string]*lifeResource{}
	var order []string
	of := func(id string) *lifeResource {
		if seen[id] == nil {
			seen[id] = &lifeResource{Resource: id}
			order = append(order, id)
		}
		return seen[id]
	}
	o := mgmt.Options{
		Registry: kinds, ConvergedExit: true, MaxRuntime: await.Left(), Strict: true,
		Stdin: strings.NewReader(v.catalog()), NoAutoGroup: true,
	}
	if slices.Contains(v.Args, "--noop") {
		o.Noop = reactor.NoopDefault
	}
	o.Observer.Ran = func(r reactor.Run) {
		fmt.Fprintf(&log, "%s %s changed=%v err=%v %v\n", r.Resource, r.State, r.Changed, r.Err, r.Changes)
		if strings.HasPrefix(r.Resource, "noop[") || strings.HasPrefix(r.Resource, "msg[") {
			return
		}
		res := of(r.Resource)
		res.Changed = res.Changed || r.Changed
		res.Failed = r.State == resgraph.StateFailed
		created := false
		for _, c := range r.Changes {
			if created && c.Verb == engine.Updated && c.From == nil {
				continue // a value with which it was created: the event of ensure has them all
			}
			created = created || c.Verb == engine.Created
			status := "success"
			if r.State == resgraph.StateWouldChange {
				status = "noop"
			}
			res.Events = append(res.Events, event(c, status))
		}
	}
	_, err = mgmt.Run(t.Context(), o, puppet.New("-", puppet.Options{Tags: v.tags()}))
	v.err = err
	fmt.Fprintf(&log, "error %v", err)
	out := lifeOutcome{Calls: d.calls}
	if err != nil {
		out.Exit = 1
		return out, log.String()
	}
	for _, id := range order {
		out.Resources = append(out.Resources, *seen[id])
	}
	out.Exit = exitOf(out.Resources)
	return out, log.String()
}

// exitOf is the code of puppet apply --detailed-exitcodes.
func exitOf(list []lifeResource) (code int) {
	for _, r := range list {
		if r.Changed {
			code |= 2
		}
		if r.Failed {
			code |= 4
		}
	}
	return code
}

// event is a Change as a report of Puppet has it.
func event(c engine.Change, status string) lifeEvent {
	switch c.Verb {
	case engine.Created:
		return lifeEvent{"ensure", "absent", "present", status}
	case engine.Deleted:
		return lifeEvent{"ensure", "present", "absent", status}
	}
	field := c.Field
	if field == "state" { // our word for the attribute ensure of a type
		field = "ensure"
	}
	return lifeEvent{field, c.From, c.To, status}
}

// kinds returns the registry with the type of the vector.
func (v *lifeVector) kinds(t *testing.T, d *double) (*engine.Registry, error) {
	t.Helper()
	node, err := jsonNodeOf(string(v.Type))
	if err != nil {
		t.Fatal(err)
	}
	node.Pairs = append(node.Pairs, schema.Pair{Key: "provider", Value: &schema.Node{Kind: schema.NodeString, Text: "double"}})
	def, _, diags := provider.DecodeDefinition(node)
	if err := diags.Err(); err != nil {
		return nil, err
	}
	def.Features |= provider.Unverified // as Puppet, which believes Set
	v.def = def
	for _, r := range v.Provider.Instances {
		d.things = append(d.things, provider.Record(value(r).(map[string]any)))
	}
	strict := map[string]provider.Strict{"off": provider.StrictOff, "warning": provider.StrictWarning, "error": provider.StrictError, "": provider.StrictError}
	k, err := provider.New(*def, func() provider.Provider {
		switch {
		case v.has("canonicalize"):
			return canonicalDouble{d}
		case v.has("custom_insync"):
			return insyncDouble{d}
		}
		return d
	}, provider.WithStrict(strict[v.Settings["strict"]]))
	if err != nil {
		return nil, err
	}
	return engine.DefaultRegistry().With(k.Name(), k.New)
}

func (v *lifeVector) tags() []string {
	for i, a := range v.Args {
		if a == "--tags" {
			return strings.Split(v.Args[i+1], ",")
		}
	}
	return nil
}

// catalog makes the catalog that the manifest of the vector compiles to.
func (v *lifeVector) catalog() string {
	list := []any{
		map[string]any{"type": "Stage", "title": "main", "tags": []string{"stage"}, "exported": false},
		map[string]any{"type": "Class", "title": "Main", "tags": []string{"class", "main"}, "exported": false},
	}
	edges := []any{map[string]any{"source": "Stage[main]", "target": "Class[Main]"}}
	for i, r := range v.Resources {
		params, sensitive := map[string]any{}, []string{}
		attrs, _ := r["attributes"].(map[string]any)
		for k, a := range attrs {
			tag, _ := a.(map[string]any)
			switch {
			case tag != nil && tag["$t"] == "undef" || a == nil:
			case tag != nil && tag["$t"] == "sensitive":
				params[k] = tag["v"]
				sensitive = append(sensitive, k)
			case tag != nil && tag["$t"] == "float":
				params[k] = json.RawMessage(tag["v"].(string))
			default:
				params[k] = a
			}
		}
		tags := []string{strings.ToLower(r["type"].(string)), "class"}
		for k, to := range r {
			switch k {
			case "type", "title", "attributes":
			default:
				params[k] = references(to)
			}
		}
		if tag, ok := params["tag"]; ok {
			for _, t := range listOf(tag) {
				tags = append(tags, fmt.Sprint(t))
			}
		}
		ref := fmt.Sprintf("%s[%s]", capital(r["type"].(string)), r["title"])
		res := map[string]any{
			"type": capital(r["type"].(string)), "title": r["title"], "tags": tags, "file": "site.pp", "line": i + 1,
			"exported": false, "kind": "compilable_type", "parameters": params,
		}
		if len(sensitive) > 0 {
			res["sensitive_parameters"] = sensitive
		}
		list = append(list, res)
		edges = append(edges, map[string]any{"source": "Class[Main]", "target": ref})
	}
	return asJSON(map[string]any{
		"tags": []string{"settings"}, "name": "node", "version": 1, "catalog_format": 2, "environment": "production",
		"resources": list, "edges": edges, "classes": []string{"settings"},
	})
}

func listOf(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

// references writes relations as a catalog has them.
func references(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	var out []any
	for _, e := range list {
		pair, ok := e.([]any)
		if !ok || len(pair) != 2 {
			return v
		}
		out = append(out, fmt.Sprintf("%s[%s]", capital(fmt.Sprint(pair[0])), pair[1]))
	}
	return out
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// jsonNodeOf reads JSON as a frontend would, in the order in which it is written.
func jsonNodeOf(src string) (*schema.Node, error) {
	dec := json.NewDecoder(strings.NewReader(src))
	dec.UseNumber()
	return jsonNodeFrom(dec)
}

func jsonNodeFrom(dec *json.Decoder) (*schema.Node, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	open, ok := tok.(json.Delim)
	if !ok {
		if n, ok := tok.(json.Number); ok {
			return schema.NodeOf(value(n))
		}
		return schema.NodeOf(tok)
	}
	n := &schema.Node{Kind: schema.NodeList}
	if open == '{' {
		n.Kind = schema.NodeMap
	}
	for dec.More() {
		key := ""
		if open == '{' {
			k, err := dec.Token()
			if err != nil {
				return nil, err
			}
			key = k.(string)
		}
		item, err := jsonNodeFrom(dec)
		if err != nil {
			return nil, err
		}
		if open == '{' {
			n.Pairs = append(n.Pairs, schema.Pair{Key: key, Value: item})
		} else {
			n.Items = append(n.Items, item)
		}
	}
	_, err = dec.Token()
	return n, err
}

// differs says in what two outcomes differ; nothing if in nothing that counts.
func (o lifeOutcome) differs(got lifeOutcome) string {
	var out []string
	say := func(what string, want, got any) {
		if a, b := asJSON(want), asJSON(got); a != b {
			out = append(out, fmt.Sprintf("%s:\n  want %s\n  got  %s", what, a, b))
		}
	}
	say("exit", o.Exit, got.Exit)
	if !o.loose {
		say("calls", calls(o.Calls), calls(got.Calls))
	}
	if o.handler {
		say("noop", true, slices.ContainsFunc(got.Calls, func(c lifeCall) bool { return c.Noop == true }))
	}
	if o.Exit != 1 && !(o.loose && o.Resources == nil) {
		say("resources", outcomes(o.Resources), outcomes(got.Resources))
	}
	return strings.Join(out, "\n")
}

// calls are what a provider was asked in a form that does not depend on how it is
// put into calls: Puppet calls set for each resource, and get again for each that is
// absent; of equal gets one counts, and sets are one list.
func calls(list []lifeCall) any {
	gets, sets := map[string]bool{}, []string{}
	for _, c := range list {
		switch c.Call {
		case "get":
			if names, ok := c.Names.([]any); ok && len(names) > 0 {
				for _, n := range names {
					gets["get "+asJSON(n)] = true
				}
				continue
			}
			gets["get "+asJSON(c.Names)] = true
		case "set":
			for _, ch := range c.Changes {
				sets = append(sets, fmt.Sprintf("set%s %s", noopOf(c), asJSON(ch)))
			}
		}
	}
	slices.Sort(sets)
	return []any{slices.Sorted(maps.Keys(gets)), sets}
}

func noopOf(c lifeCall) string {
	if c.Noop == true {
		return " noop"
	}
	return ""
}

// wholeThing is what Puppet's library calls a type without properties in its events.
const wholeThing = "rsapi_custom_insync_trigger"

// outcomes are the resources of which there is something to tell.
func outcomes(list []lifeResource) map[string]any {
	out := map[string]any{}
	for _, r := range list {
		var events []string
		for _, e := range r.Events {
			if e.Status != "failure" && e.Property != "message" && e.Property != "" && e.Property != wholeThing {
				events = append(events, fmt.Sprintf("%s: %s to %s, %s", e.Property, plainText(e.Previous), plainText(e.Desired), e.Status))
			}
		}
		if r.Failed {
			events = nil
		}
		slices.Sort(events)
		if !r.Changed && !r.Failed && len(events) == 0 {
			continue
		}
		out[strings.ToLower(ourID(r.Resource))] = map[string]any{"changed": r.Changed, "failed": r.Failed, "events": events}
	}
	return out
}

func ourID(s string) string {
	if rest, ok := strings.CutPrefix(s, "Notify["); ok {
		return "print[" + rest
	}
	return s
}

func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, plainText(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		return asJSON(v)
	case schema.Secret:
		return "[redacted]"
	case string:
		if strings.Contains(v, "[value redacted]") {
			return "[redacted]"
		}
	}
	return fmt.Sprint(v)
}

// lifeDeviation is a way in which a run comes out differently than on Puppet, and why.
type lifeDeviation struct {
	reason string
	when   func(v *lifeVector) bool
	want   func(v *lifeVector, o *lifeOutcome) // alters what Puppet did into what is right here
	unseen bool                                // only TestMoreRuns shows it
}

// wanted returns what must come of a run, and why that is not what Puppet did.
func (v *lifeVector) wanted() (lifeOutcome, []string) {
	o, reasons := v.Expect, []string(nil)
	o.Resources = slices.Clone(o.Resources)
	o.Calls = slices.Clone(o.Calls)
	for _, d := range lifeDeviations {
		if d.when(v) {
			reasons = append(reasons, d.reason)
			d.want(v, &o)
		}
	}
	return o, reasons
}

// lifeDeviations are the ways in which a run comes out otherwise here than on Puppet.
var lifeDeviations = []lifeDeviation{
	{
		"a change is reported when it was made, so what Set fails to do is no change",
		func(v *lifeVector) bool { return v.sets("raise", "raise_in_context") && v.Expect.fails() },
		func(_ *lifeVector, o *lifeOutcome) {
			o.each(func(r *lifeResource) { r.Changed = r.Changed && !r.Failed })
		},
		false,
	},
	{
		"what the logger is told has failed has failed",
		func(v *lifeVector) bool { return v.sets("failed_action") },
		func(_ *lifeVector, o *lifeOutcome) {
			o.each(func(r *lifeResource) { r.Changed, r.Failed = false, true })
		},
		false,
	},
	{
		"a message is no change of the machine",
		func(v *lifeVector) bool {
			return slices.ContainsFunc(v.Expect.Resources, func(r lifeResource) bool { return strings.HasPrefix(r.Resource, "Notify[") })
		},
		func(_ *lifeVector, o *lifeOutcome) {
			o.Resources = slices.DeleteFunc(o.Resources, func(r lifeResource) bool { return strings.HasPrefix(r.Resource, "Notify[") })
			o.each(func(*lifeResource) {})
		},
		false,
	},
	{
		"an error ends nothing but the call of the provider that it is in: there is none that ends the run",
		func(v *lifeVector) bool { return v.sets("raise_fatal") || v.Provider.Get == "raise_fatal" },
		func(_ *lifeVector, o *lifeOutcome) { o.Exit, o.Resources, o.loose = 4, nil, true },
		false,
	},
	{
		"values are brought into canonical form when their resource is first due, so what canonicalize says of them fails that",
		func(v *lifeVector) bool { return v.Provider.Canonicalize == "raise" && v.has("canonicalize") },
		func(_ *lifeVector, o *lifeOutcome) { o.Exit, o.loose = 4, true },
		false,
	},
	{
		"an attribute that is required is asked for before anything runs",
		func(v *lifeVector) bool { return v.Expect.fails() && v.any(v.lacks) },
		func(_ *lifeVector, o *lifeOutcome) { *o = lifeOutcome{Exit: 1} },
		false,
	},
	{
		"a change of an init_only attribute is a failure, whatever strict says, and is not given to Set",
		func(v *lifeVector) bool { return v.any(v.altersInitOnly) },
		func(_ *lifeVector, o *lifeOutcome) {
			o.Calls = slices.DeleteFunc(o.Calls, func(c lifeCall) bool { return c.Call == "set" })
			o.each(func(r *lifeResource) { r.Changed, r.Failed = false, true })
		},
		false,
	},
	{
		"the noop handler is called",
		func(v *lifeVector) bool { return v.noop() && v.has("supports_noop") },
		func(_ *lifeVector, o *lifeOutcome) { o.loose, o.handler = true, true },
		false,
	},
	{
		"a noop handler that fails has failed",
		func(v *lifeVector) bool {
			return v.noop() && v.has("supports_noop") && v.sets("raise", "raise_in_context")
		},
		func(_ *lifeVector, o *lifeOutcome) {
			o.each(func(r *lifeResource) { r.Changed, r.Failed, r.Events = false, true, nil })
		},
		false,
	},
	{
		"with a filter all names are asked for at once",
		func(v *lifeVector) bool { return v.has("simple_get_filter") && len(v.Resources) > 1 },
		func(_ *lifeVector, o *lifeOutcome) { o.loose = true },
		false,
	},
	{
		"a number is no text",
		func(v *lifeVector) bool {
			return v.anyValue(func(_ provider.Attribute, is, should any) bool {
				return isNumber(should) && is != nil && is == fmt.Sprint(should)
			})
		},
		func(_ *lifeVector, o *lifeOutcome) { *o = lifeOutcome{Exit: 2, loose: true} },
		false,
	},
	{
		"what no resource manages is not removed",
		func(v *lifeVector) bool { return v.manages("resources") },
		func(_ *lifeVector, o *lifeOutcome) { *o = lifeOutcome{Exit: 1} },
		false,
	},
	{
		"plain text for a sensitive attribute is taken for the secret that it is",
		func(v *lifeVector) bool {
			return v.Expect.Exit == 1 && v.anyValue(func(a provider.Attribute, _, should any) bool {
				return isSecret(a) && should != nil && tagOf(should) == ""
			})
		},
		func(_ *lifeVector, o *lifeOutcome) { *o = lifeOutcome{Exit: 2, loose: true} },
		false,
	},
	{
		"a secret for an attribute that is not sensitive stays one",
		func(v *lifeVector) bool {
			return v.Expect.Exit == 1 && v.anyValue(func(a provider.Attribute, _, should any) bool { return !isSecret(a) && tagOf(should) == "sensitive" })
		},
		func(_ *lifeVector, o *lifeOutcome) { *o = lifeOutcome{Exit: 2, loose: true} },
		false,
	},
	{
		"what is in a secret of a catalog is text",
		func(v *lifeVector) bool {
			return v.Expect.Exit == 1 && v.anyValue(func(a provider.Attribute, _, should any) bool {
				_, text := wrapped(should).(string)
				return isSecret(a) && tagOf(should) == "sensitive" && !text
			})
		},
		func(_ *lifeVector, o *lifeOutcome) { *o = lifeOutcome{Exit: 2, loose: true} },
		false,
	},
	{
		"a secret that Get returns in plain is wrapped, and compared",
		func(v *lifeVector) bool { return v.anyValue(plainSecret) },
		func(v *lifeVector, o *lifeOutcome) {
			*o = lifeOutcome{loose: true}
			if v.anyValue(func(a provider.Attribute, is, should any) bool {
				return plainSecret(a, is, should) && is != wrapped(should)
			}) {
				o.Exit = 2
			}
		},
		false,
	},
	{
		"two things of one name are an error of Get",
		func(v *lifeVector) bool { return v.getsTwice() },
		func(_ *lifeVector, o *lifeOutcome) { *o = lifeOutcome{Exit: 4, loose: true} },
		true,
	},
	{
		"what Get calls absent is not there",
		func(v *lifeVector) bool {
			return slices.ContainsFunc(v.Provider.Instances, func(is map[string]any) bool { return is["ensure"] == "absent" })
		},
		func(_ *lifeVector, o *lifeOutcome) { o.loose = true },
		true,
	},
	{
		"a parameter can't be read, so Get does not return one",
		func(v *lifeVector) bool {
			return slices.ContainsFunc(v.def.Attributes, func(a provider.Attribute) bool {
				return a.Role == provider.Parameter && slices.ContainsFunc(v.Provider.Instances, func(is map[string]any) bool { return is[a.Name] != nil })
			})
		},
		func(_ *lifeVector, o *lifeOutcome) { *o = lifeOutcome{Exit: 4, loose: true} },
		true,
	},
	{
		"a part of the name that neither the title nor an attribute gives is an error",
		func(v *lifeVector) bool {
			return v.err != nil && strings.Contains(v.err.Error(), " is missing: the title ")
		},
		func(_ *lifeVector, o *lifeOutcome) { *o = lifeOutcome{Exit: 1} },
		false,
	},
}

// any reports whether is holds of one of the resources of the type.
func (v *lifeVector) any(is func(title string, attrs map[string]any) bool) bool {
	return slices.ContainsFunc(v.Resources, func(r map[string]any) bool {
		attrs, _ := r["attributes"].(map[string]any)
		return r["type"] == "rec" && is(fmt.Sprint(r["title"]), attrs)
	})
}

// anyValue reports whether holds is true of an attribute that one of the resources
// gives; is is what Get returns for it, nil where there is nothing.
func (v *lifeVector) anyValue(holds func(a provider.Attribute, is, should any) bool) bool {
	return v.any(func(title string, attrs map[string]any) bool {
		was := v.instance(title)
		return slices.ContainsFunc(v.def.Attributes, func(a provider.Attribute) bool {
			should, given := attrs[a.Name]
			return given && holds(a, was[a.Name], should)
		})
	})
}

// instance is what Get returns for a title that is the name.
func (v *lifeVector) instance(title string) map[string]any {
	for _, one := range v.Provider.Instances {
		if one["title"] == title || one[v.namevars()[0]] == title {
			return one
		}
	}
	return nil
}

// getsTwice reports whether Get returns two things of one name.
func (v *lifeVector) getsTwice() bool {
	seen := map[string]bool{}
	return slices.ContainsFunc(v.Provider.Instances, func(is map[string]any) bool {
		var name strings.Builder
		for _, n := range v.namevars() {
			name.WriteString(asJSON(is[n]))
		}
		before := seen[name.String()]
		seen[name.String()] = true
		return before
	})
}

// lacks reports whether a resource leaves out what it must give.
func (v *lifeVector) lacks(_ string, attrs map[string]any) bool {
	return attrs["ensure"] != "absent" && slices.ContainsFunc(v.def.Attributes, func(a provider.Attribute) bool {
		needed := a.Name != "ensure" && !a.HasDefault && a.Role != provider.Namevar && a.Role != provider.ReadOnly
		return needed && attrs[a.Name] == nil && !puppettype.MustParse(a.Type).Accepts(nil)
	})
}

func (v *lifeVector) altersInitOnly(title string, attrs map[string]any) bool {
	was := v.instance(title)
	return was != nil && attrs["ensure"] != "absent" && slices.ContainsFunc(v.def.Attributes, func(a provider.Attribute) bool {
		should, given := attrs[a.Name]
		return given && a.Role == provider.InitOnly && asJSON(should) != asJSON(was[a.Name])
	})
}

func isSecret(a provider.Attribute) bool { return a.Sensitive || strings.Contains(a.Type, "Sensitive") }

// plainSecret reports whether Get returns a secret as text.
func plainSecret(a provider.Attribute, is, should any) bool {
	return isSecret(a) && is != nil && tagOf(is) == "" && tagOf(should) == "sensitive"
}

func isNumber(v any) bool {
	_, ok := v.(json.Number)
	return ok
}

// tagOf is the tag of a value that JSON lacks, wrapped what it is on.
func tagOf(v any) string {
	m, _ := v.(map[string]any)
	tag, _ := m["$t"].(string)
	return tag
}

func wrapped(v any) any {
	m, _ := v.(map[string]any)
	return m["v"]
}

func (v *lifeVector) sets(how ...string) bool { return slices.Contains(how, v.Provider.Set) }

func (v *lifeVector) noop() bool { return slices.Contains(v.Args, "--noop") }

func (v *lifeVector) manages(kind string) bool {
	return slices.ContainsFunc(v.Resources, func(r map[string]any) bool { return r["type"] == kind })
}

func (o *lifeOutcome) fails() bool { return o.Exit&4 != 0 }

// each alters the resources, and the code with them.
func (o *lifeOutcome) each(f func(*lifeResource)) {
	for i := range o.Resources {
		f(&o.Resources[i])
	}
	o.Exit = exitOf(o.Resources)
}
