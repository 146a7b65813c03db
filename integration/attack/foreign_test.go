package attack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/collect"
	"github.com/reactivegraph/mgmt/gapi/native"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/traits"
)

// lent says what each kind lends to other hosts, and why that does no harm at a place that this host names. Whoever alters a kind has to think
// about it here: may the parameter run a program, name a file or a program of this machine, choose an owner, or take a thing away?
var lent = map[string]map[string]string{
	"file": {
		"content": "the text at the place", "keep": "leaves a text alone", "mode": "up to 0777", "state": "there, or as it is",
	},
	"gzip": {"content": "the text at the place", "level": "a number", "mode": "up to 0777"},
	"host": {
		"comment": "free text", "family": "4 or 6", "host_aliases": "names that fit the pattern, too", "ip": "an address of the name", "state": "there",
	},
	"ini_setting": {
		"indent": "blanks", "key_val_separator": "a text in the file at the place", "secret": "as value", "section": "a part of the file at the place",
		"section_prefix": "as key_val_separator", "section_suffix": "as key_val_separator", "setting": "as section", "state": "there", "value": "a text in the file",
	},
	"kv": {"state": "there", "value": "a value of the store"},
	"line": {
		"above": "a place in the file", "below": "a place in the file", "content": "a text in the file at the place", "create": "makes the file at the place",
		"if_missing": "leaves it alone", "marker": "a text in the file", "state": "there",
	},
	"msg": {
		"body": "a text of the log", "fields": "texts of the journal", "journal": "a switch", "priority": "a word", "syslog": "a switch",
	},
	"noop":     {"comment": "free text"},
	"print":    {"msg": "a text of the log", "refresh_only": "prints less"},
	"schedule": {"count": "a number", "strategy": "a word", "withdraw": "this host is chosen no more"},
	"sysctl": {
		"ignore_missing": "less is an error", "persist": "a switch", "runtime": "a switch", "state": "there", "value": "of the key at the place",
	},
	"value": {"any": "a value that this graph may send"},
}

// lendsNothing are the kinds that come from another host only where accept says so of their parameters, with the reason.
var lendsNothing = map[string]string{
	"apt_key":             "who signs packages runs programs",
	"cron":                "starts units",
	"crontab":             "runs commands",
	"download":            "reads any address, and files of this machine, too",
	"exec":                "runs a command, by its name alone",
	"git:index:checkout":  "of a provider, which does not say that it lends: runs git",
	"group":               "its members get rights",
	"hostname":            "who this machine is",
	"mount":               "a file system may have programs, and hides what is below",
	"net":                 "how this machine is reached",
	"nspawn":              "runs a container",
	"password":            "makes a secret in the state folder",
	"pkg":                 "runs the scripts of a package",
	"postgres:index:role": "of a provider, which does not say that it lends: lets others log in",
	"ssh_authorized_key":  "lets others log in",
	"svc":                 "starts and stops services",
	"tar":                 "reads files of this machine, and writes many",
	"test":                "panics and sleeps, for tests",
	"timer":               "is of use only to a graph that names it",
	"user":                "lets others log in",
}

// TestFindingH1EveryKind: each kind, those of providers too, lends exactly what someone has thought about.
func TestFindingH1EveryKind(t *testing.T) {
	registry := everyKind(t)
	for _, fault := range unthought(t, registry) {
		t.Error(fault)
	}
	for _, kind := range slices.Concat(slices.Collect(maps.Keys(lent)), slices.Collect(maps.Keys(lendsNothing))) {
		if !slices.Contains(registry.Kinds(), kind) {
			t.Errorf("there is no kind %s", kind)
		}
	}
	if want := []string{"host", "kv", "noop", "print", "value"}; !slices.Equal(lend.Default, want) {
		t.Errorf("by default %v come from other hosts", lend.Default)
	}
}

// unthought returns what nobody has thought about: a kind that stands in no table, and what it lends beyond the tables.
func unthought(t *testing.T, registry *engine.Registry) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, kind := range registry.Kinds() {
		k, err := registry.Kind(kind)
		if err != nil {
			t.Fatal(err)
		}
		known, ok := lent[kind]
		if ok == (lendsNothing[kind] != "") {
			fault("the kind %s: think about what another host may do by it. Write it into lent, with each parameter that it lends, or into lendsNothing", kind)
			continue
		}
		if k.Abilities.Collectable != ok {
			fault("%s is collectable: %t, and the tables say %t", kind, k.Abilities.Collectable, ok)
		}
		for _, f := range k.Type.Fields {
			if lends := f.Lend != schema.LendNone; lends != (known[f.Key] != "") {
				fault("%s.%s is lent: %t, and the table says %q", kind, f.Key, lends, known[f.Key])
			}
			if f.Lend != schema.LendNone && f.Role == schema.RoleIdentity && f == firstIdentity(k.Type) {
				fault("%s.%s is the place, which patterns judge, and is marked as lent", kind, f.Key)
			}
			// The parts of a structure are lent with it, also those that come later.
			if f.Lend != schema.LendNone && f.Type.Kind == schema.KindStruct {
				fault("%s.%s is lent with all its parts: lend texts, numbers and lists of them", kind, f.Key)
			}
			if len((&victim{}).evil(f, f.Type)) == 0 {
				fault("%s.%s is %s: write down what an attacker would put there", kind, f.Key, f.Type)
			}
		}
	}
	return faults
}

// newcomer is a kind that nobody has thought about. It may come from another host, with its command.
type newcomer struct {
	engine.Res
	traits.Base
	traits.Collectable

	Path    string `yaml:"path" mgmt:"identity" doc:"A path."`
	Command string `yaml:"command" mgmt:"param,lend" doc:"A command."`
}

func (x *newcomer) Default() engine.Res { return &newcomer{} }
func (x *newcomer) String() string      { return x.Base.String() }
func (x *newcomer) Kind() string        { return x.Base.Kind() }
func (x *newcomer) SetKind(s string)    { x.Base.SetKind(s) }
func (x *newcomer) Name() string        { return x.Base.Name() }
func (x *newcomer) SetName(s string)    { x.Base.SetName(s) }

func (x *newcomer) MetaParams() *engine.MetaParams     { return x.Base.MetaParams() }
func (x *newcomer) SetMetaParams(m *engine.MetaParams) { x.Base.SetMetaParams(m) }

// TestFindingH1Newcomer: the test of every kind fails where a kind comes, and where a known one lends more than before.
func TestFindingH1Newcomer(t *testing.T) {
	for kind, want := range map[string][]string{
		"newcomer": {"the kind newcomer: think about"},
		"noop":     {"noop.command is lent: true", `and the table says ""`},
		"exec":     {"exec is collectable: true, and the tables say false", "exec.command is lent: true"},
		"file":     {"file.command is lent: true"},
	} {
		registry := engine.NewRegistry()
		if err := registry.Register(kind, func() engine.Res { return &newcomer{} }); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(unthought(t, registry), "\n")
		for _, want := range want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: it says %q, want %q", kind, text, want)
			}
		}
	}
}

// firstIdentity returns the field that is the place of a kind, nil where the name is.
func firstIdentity(t *schema.Type) *schema.Field {
	for _, f := range t.Fields {
		if f.Role == schema.RoleIdentity {
			return f
		}
	}
	return nil
}

// victim is a place with things that other hosts must not touch.
type victim struct {
	dir string
	in  string // the folder that they may write to
}

const secretText = "the secret of the victim"

func newVictim(t *testing.T) *victim {
	v := &victim{dir: t.TempDir()}
	v.in = filepath.Join(v.dir, "in")
	for path, text := range map[string]string{"secret": secretText, "out/there": "there\n", "tree/a/b": "b\n", "in/kept": "kept\n"} {
		path = filepath.Join(v.dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// outside returns everything that is not in the folder in: the paths, with modes and texts.
func (v *victim) outside(t *testing.T) string {
	var b strings.Builder
	err := filepath.WalkDir(v.dir, func(path string, d fs.DirEntry, err error) error {
		if path == v.in {
			return fs.SkipDir
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || d.IsDir() {
			fmt.Fprintln(&b, path, info.Mode())
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %s %q\n", path, info.Mode(), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// evil returns values for a parameter: programs, files of the victim, places elsewhere, modes with special bits, and words that take away.
func (v *victim) evil(f *schema.Field, t *schema.Type) (list []any) {
	texts := []any{
		"/bin/touch " + v.dir + "/out/ran", "/bin/touch " + v.dir + "/out/ran %", v.dir + "/secret", v.dir + "/tree/", v.dir + "/out/new", v.in + "/../out/new",
		"../out/new", "absent", "root", "4755", "u+s", "file://" + v.dir + "/secret", "kernel.core_pattern", "0",
	}
	switch t.Kind {
	case schema.KindBool:
		return []any{true, false}
	case schema.KindInt, schema.KindSize, schema.KindFloat, schema.KindDuration:
		return []any{int64(0), int64(1)}
	case schema.KindMode:
		return []any{
			"4755", "2755", "1777", "7777", "u+s", "g+s", "+t", "a=rwxs", "0777", "u=rwx,g=rs", "004755", "0o4755", int64(0o4755), int64(4755), "=4755", "ug+s", "a+st", "u=rwx,u+s,u-s",
			[]any{"4755"}, "01000", "u=s", "g=u,u+s", "o+t", "-rwsr-xr-x", 2541.0,
		}
	case schema.KindList:
		for _, item := range v.evil(f, t.Elem) {
			list = append(list, []any{item}, item, []any{"harmless", item}) // a single value for a list, too
		}
	case schema.KindMap:
		for _, item := range v.evil(f, t.Elem) {
			list = append(list, map[string]any{"x": item})
		}
	case schema.KindStruct:
		for _, inner := range t.Fields {
			for _, item := range v.evil(inner, inner.Type) {
				list = append(list, map[string]any{inner.Key: item})
			}
		}
	case schema.KindString, schema.KindAny, schema.KindRef:
		list = append(list, texts...)
		for _, word := range t.Enum {
			list = append(list, word)
		}
		if f.Absent != "" {
			list = append(list, f.Absent)
		}
	}
	return list
}

// attempt is a resource that the attacker wants on the victim.
type attempt struct {
	kind, name, key string // the parameter; name for the name itself
	value           any
	params, meta    map[string]any
}

// String shows it.
func (a *attempt) String() string { return fmt.Sprintf("%s[%s] %s=%v", a.kind, a.name, a.key, a.value) }

// base returns the place of a resource inside of the pattern, and parameters that make it whole.
func (v *victim) base(kind string, k engine.Kind, i int) (name string, params map[string]any) {
	params = map[string]any{}
	name = fmt.Sprintf("%s/%s-%d", v.in, kind, i)
	switch kind {
	case "ini_setting":
		params = map[string]any{"path": name, "section": "s", "setting": "k", "value": "v"}
	case "line":
		params = map[string]any{"file": name, "content": "a line", "create": true}
	case "file", "gzip":
		params["content"] = "harmless"
	case "host":
		params["ip"] = "192.0.2.1"
	case "sysctl":
		name, params["value"] = fmt.Sprintf("%s/net.x%d", v.in, i), "1"
	default:
		for _, f := range k.Type.Fields { // what must be there
			if f.Required {
				params[f.Key] = name
			}
		}
	}
	return name, params
}

// attempts walks every parameter of a kind, the name, the wiring and the metaparameters.
func (v *victim) attempts(kind string, k engine.Kind) (list []attempt) {
	add := func(key string, value any) *attempt {
		name, params := v.base(kind, k, len(list))
		list = append(list, attempt{kind: kind, name: name, key: key, value: value, params: params})
		return &list[len(list)-1]
	}
	for _, f := range k.Type.Fields {
		for _, value := range v.evil(f, f.Type) {
			add(f.Key, value).params[f.Key] = value
			if _, list := value.([]any); !list {
				add(f.Key, value).params[f.Key] = []any{value} // a list for a single value
			}
			if other := strings.ToUpper(f.Key[:1]) + f.Key[1:]; k.Type.Field(other) == nil {
				a := add(other, value)
				delete(a.params, f.Key)
				a.params[other] = value
			}
			if f.Alias != "" { // by the other word
				a := add(f.Alias, value)
				delete(a.params, f.Key)
				a.params[f.Alias] = value
			}
		}
		if f.Key == "state" { // a thing that is there
			a := add(f.Key, "absent")
			a.params[f.Key] = "absent"
			if id := firstIdentity(k.Type); id != nil {
				a.params[id.Key] = v.in + "/kept"
			}
			a.name = v.in + "/kept"
		}
	}
	for _, place := range []string{v.dir + "/out/there", v.dir + "/tree/", v.in, v.in + "/", v.in + "/.", v.in + "/../out/new", v.in + "/a/../../out/new"} {
		a := add("name", place)
		a.name = place
		if id := firstIdentity(k.Type); id != nil {
			delete(a.params, id.Key)
			add(id.Key, place).params[id.Key] = place
		}
	}
	a := add("name", "title")
	a.name, a.params = "x in "+v.dir+"/out/new", map[string]any{"ip": "192.0.2.1"}
	for key, value := range map[string]any{"export": []any{"*"}, "reverse": true, "sema": []any{"x"}, "noop": false, "hidden": true, "realize": true, "backend": "x", "dollar": true} {
		add("meta."+key, value).meta = map[string]any{key: value}
	}
	return list
}

// rules accept every kind, at the place alone.
func (v *victim) rules(t *testing.T, kinds []string) *lend.Rules {
	var list []string
	for _, kind := range kinds {
		list = append(list, kind+"="+v.in+"/")
	}
	r, err := lend.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ways are how a resource comes from elsewhere. Each returns the declaration that the victim runs, or why it runs none.
func (v *victim) ways(t *testing.T, reg *engine.Registry, rules *lend.Rules) map[string]func(attempt) (*gapi.Declaration, error) {
	registry := func() *engine.Registry { return reg }
	nb := model.Open(memory.New(), model.NewRegistry(reg), model.Options{})
	object := func(a attempt) (*model.Object, error) {
		m, err := nb.Registry().Model(a.kind)
		if err != nil {
			return nil, err
		}
		fields := maps.Clone(a.params)
		fields["id"] = a.name
		for _, key := range []string{"id", "topic", "version", "meta", "recv"} {
			if value, taken := a.params[key]; taken {
				fields[key+"_"] = value
			}
		}
		if a.meta != nil {
			fields["meta"] = a.meta
		}
		text, err := json.Marshal(fields)
		if err != nil {
			return nil, err
		}
		return m.Parse("", text)
	}
	accept, remote := native.Accepting(registry, rules), nb.Guarded(native.AdmitRemote(registry, rules))
	return map[string]func(attempt) (*gapi.Declaration, error){
		"an export": func(a attempt) (*gapi.Declaration, error) {
			wish := []gapi.CollectDecl{{Kind: a.kind, Name: v.in + "/*"}}
			found, notes := collect.Declare(collect.Options{Host: "victim", Registry: reg, Accept: rules}, wish, []hosts.Export{a.export(t)}, func(string) bool { return false })
			if len(found) == 1 {
				return &found[0].Declaration, nil
			}
			return nil, errors.Join(errors.New("it is left out"), notes.Err())
		},
		"an object of a topic": func(a attempt) (*gapi.Declaration, error) {
			o, err := object(a)
			if err != nil {
				return nil, err
			}
			d, err := native.Declaration(o)
			if err == nil {
				err = accept(d)
			}
			return d, err
		},
		"a client of the API": func(a attempt) (*gapi.Declaration, error) {
			o, err := object(a)
			if err == nil {
				o, err = remote.Create(t.Context(), o, model.Write{DryRun: true})
			}
			if err != nil {
				return nil, err
			}
			return native.Declaration(o)
		},
	}
}

// export returns it as a record of the attacker in the store.
func (a *attempt) export(t *testing.T) hosts.Export {
	x := hosts.Export{Topic: "all", From: "web1", Kind: a.kind, Name: a.name}
	value, err := json.Marshal(a.params)
	if err == nil && a.meta != nil {
		x.Meta, err = json.Marshal(a.meta)
	}
	if err != nil {
		t.Fatal(err)
	}
	x.Value = value
	return x
}

// everyKind returns the kinds of this program, and those of the providers in the examples.
func everyKind(t *testing.T) *engine.Registry {
	reg := engine.DefaultRegistry().Clone()
	for _, file := range []string{"git", "postgres"} {
		path, err := filepath.Abs("../../examples/providers/" + file + "/schema.json")
		if err != nil {
			t.Fatal(err)
		}
		n, err := schema.NodeOf(map[string]any{"name": file, "command": []any{"/bin/false"}, "schema": path})
		if err != nil {
			t.Fatal(err)
		}
		set, ds := plugin.Load([]*schema.Node{n}, plugin.Options{ReadFile: os.ReadFile})
		if err := errors.Join(ds.Err(), set.Register(reg)); err != nil {
			t.Fatal(err)
		}
	}
	return reg
}

// TestFindingH2EveryParameter walks every kind, every parameter and every provider's schema, in each way that a resource may come. What is taken
// over is at the place, gives only parameters that the table names, and takes nothing away. No kind but those of the table comes at all.
func TestFindingH2EveryParameter(t *testing.T) {
	v, reg := newVictim(t), everyKind(t)
	ways := v.ways(t, reg, v.rules(t, reg.Kinds()))
	taken, tried := map[string]int{}, 0
	for _, kind := range reg.Kinds() {
		k, err := reg.Kind(kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range v.attempts(kind, k) {
			for way, do := range ways {
				tried++
				d, err := do(a)
				if err != nil {
					continue
				}
				taken[kind]++
				if why := v.harm(k, d); why != "" {
					t.Errorf("%s: %s is taken over: %s", way, &a, why)
				}
				if way != "a client of the API" { // which is told, and then given nothing else
					for _, key := range []string{"export", "reverse", "sema", "hidden", "realize", "backend", "dollar", "noop"} {
						if d.Meta.Get(key) != nil {
							t.Errorf("%s: %s brings its metaparameter %s", way, &a, key)
						}
					}
				}
			}
		}
	}
	t.Logf("tried %d, of %d kinds; taken over are %v", tried, len(reg.Kinds()), taken)
	for kind := range lent {
		if taken[kind] == 0 {
			t.Errorf("nothing of %s is taken over, not even what is harmless: the walk proves nothing", kind)
		}
	}
}

// harm says what is wrong with a declaration that is taken over.
func (v *victim) harm(k engine.Kind, d *gapi.Declaration) string {
	known := lent[k.Name]
	if known == nil {
		return "nobody has said that the kind does no harm"
	}
	place := d.Name
	id := firstIdentity(k.Type)
	if id != nil && d.Value.Get(id.Key) != nil {
		place = d.Value.Get(id.Key).Text
	}
	rest, inside := strings.CutPrefix(place, v.in+"/")
	if parts := strings.Split(rest, "/"); !inside || rest == "" || slices.Contains(parts, "..") || slices.Contains(parts, ".") {
		return "it is at " + place
	}
	res, err := engine.DefaultRegistry().New(k.Name)
	if err != nil {
		return err.Error()
	}
	if err := schema.Decode(d.Value, res).Err(); err != nil {
		return "" // it is not run
	}
	params, err := schema.EncodeChanged(res, res.Default())
	if err != nil {
		return err.Error()
	}
	absence, word := k.Type.Absence()
	for key, value := range params {
		switch m, isMode := value.(schema.Mode); {
		case id != nil && key == id.Key:
		case known[key] == "":
			if f := k.Type.Field(key); !f.Required {
				return "it gives " + key
			}
		case key == absence && value == word:
			return "it takes the thing away"
		case isMode:
			if now, err := m.Apply(0, false); err != nil || now&^fs.ModePerm != 0 {
				return "its mode is " + string(m)
			}
		}
	}
	return ""
}

// told collects warnings.
type told struct {
	mu   sync.Mutex
	list []string
	log  strings.Builder
}

func (w *told) warned(ds schema.Diagnostics) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range ds {
		w.list = append(w.list, d.Message)
	}
}

func (w *told) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

// notRun are the kinds that lend something, and whose harmless forms alter the machine of the test.
var notRun = map[string]string{
	"host":   "writes /etc/hosts",
	"msg":    "writes into the journal of the machine",
	"sysctl": "sets a parameter of the kernel",
}

// TestFindingH2Run runs what other hosts export of each kind that lends something, with each hostile value of each parameter, on a real engine:
// nothing outside of the place changes, no program runs, and no text of the victim comes out.
func TestFindingH2Run(t *testing.T) {
	v, reg := newVictim(t), engine.DefaultRegistry()
	store := memory.New()
	g := static.NewGraph("victim")
	var accept []string
	count := 0
	kinds := []string{"exec", "tar", "download"}
	for _, kind := range slices.Sorted(maps.Keys(lent)) {
		if notRun[kind] == "" {
			kinds = append(kinds, kind)
		}
	}
	for _, kind := range kinds {
		accept = append(accept, kind+"="+v.in+"/")
		g.Collect(kind, v.in+"/*", "*", nil)
		k, err := reg.Kind(kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range v.attempts(kind, k) {
			count++
			x := a.export(t)
			text, err := json.Marshal(x.Record)
			if err != nil {
				t.Fatal(err)
			}
			key := hosts.ExportPrefix("all") + fmt.Sprintf("web%d/%s/%s", count, kind, escaped(a.name))
			if _, _, err := store.Txn(t.Context(), nil, []world.Op{{Key: key, Value: text}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	before, w := v.outside(t), &told{}
	report := func() mgmt.Report {
		r, err := mgmt.Run(t.Context(), mgmt.Options{
			Hostname: "victim", World: mgmt.Share(store), Accept: accept, Logger: slog.New(slog.NewTextHandler(w, nil)),
			ConvergedExit: true, ConvergedTimeout: time.Millisecond, Observer: mgmt.Observer{Warned: w.warned},
		}, static.New(g.Declared()))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}()
	if after := v.outside(t); after != before {
		t.Errorf("outside of the place is\n%s\nand was\n%s", after, before)
	}
	if text, err := os.ReadFile(v.in + "/kept"); err != nil || len(text) == 0 {
		t.Errorf("a file of the place was removed or emptied: %v", err)
	}
	made := 0
	err := filepath.WalkDir(v.in, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		made++
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky|fs.ModeSymlink) != 0 {
			t.Errorf("%s has the mode %s", path, info.Mode())
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), secretText) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.Contains(w.log.String(), secretText) {
		t.Error("the log has the secret")
	}
	if made < 20 || len(w.list) < count/2 {
		t.Errorf("of %d exports %d files came, with %d warnings: the walk proves nothing", count, made, len(w.list))
	}
	t.Logf("%d exports, %d files, %d warnings, %+v", count, made, len(w.list), report.Counts)
}

// escaped is how a key of the store has a name.
func escaped(name string) string {
	return url.PathEscape(name)
}
