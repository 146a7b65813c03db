package docker

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// hostile are names that could be an option, a path, a second line or another call.
var hostile = []string{"", "-o", "--help", "../x", "a/../b", "x\ny", "x y", "a?force=1", "a#b", "a%2fb", "/", ".", "x\x00", "ü"}

// TestHostileNames: Validate refuses them, wherever they can stand.
func TestHostileNames(t *testing.T) {
	for _, s := range hostile {
		for where, make := range map[string]func() engine.Res{
			"container": func() engine.Res { r := valid(); r.SetName(s); return r },
			"image": func() engine.Res {
				r := &ImageRes{State: ImageExists}
				r.SetName(s)
				return r
			},
			"of image": func() engine.Res { r := valid(); r.Image = s; return r },
			"network":  func() engine.Res { r := valid(); r.Networks = []string{s}; return r },
			"volume":   func() engine.Res { r := valid(); r.Volumes = []string{strings.TrimPrefix(s, "/") + ":/x"}; return r },
			"target":   func() engine.Res { r := valid(); r.Volumes = []string{"data:" + s}; return r },
			"hostname": func() engine.Res { r := valid(); r.Hostname = s; return unlessEmpty(r, s) },
			"user":     func() engine.Res { r := valid(); r.User = s; return unlessEmpty(r, s) },
			"workdir": func() engine.Res {
				r := valid()
				r.Workdir = strings.TrimPrefix(s, "/")
				return unlessEmpty(r, r.Workdir)
			},
			"protocol": func() engine.Res { r := valid(); r.Ports = map[string]map[string]string{s: {"1": ""}}; return r },
			"port":     func() engine.Res { r := valid(); r.Ports = map[string]map[string]string{"tcp": {s: ""}}; return r },
			"address": func() engine.Res {
				r := valid()
				r.Ports = map[string]map[string]string{"tcp": {"1": s + ":1"}}
				return r
			},
			"restart": func() engine.Res { r := valid(); r.Restart = s; return unlessEmpty(r, s) },
			"state":   func() engine.Res { r := valid(); r.State = s; return unlessEmpty(r, s) },
			"pull":    func() engine.Res { r := valid(); r.Pull = s; return unlessEmpty(r, s) },
			"host":    func() engine.Res { r := valid(); r.Host = s; return unlessEmpty(r, s) },
			"version": func() engine.Res { r := valid(); r.APIVersion = s; return unlessEmpty(r, s) },
		} {
			if r := make(); r != nil && r.Validate() == nil {
				t.Errorf("%q is taken for the %s", s, where)
			}
		}
	}
}

func valid() *ContainerRes {
	r := &ContainerRes{Image: "x"}
	r.SetName("web")
	return r
}

func unlessEmpty(r engine.Res, s string) engine.Res {
	if s == "" {
		return nil
	}
	return r
}

// TestValidate: what is taken, and what is refused with which words.
func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		alter func(*ContainerRes)
		want  string // empty for valid
	}{
		"least":            {func(*ContainerRes) {}, ""},
		"all":              {func(r *ContainerRes) { *r = *full(&fakeDaemon{socket: "/x"}) }, ""},
		"digest":           {func(r *ContainerRes) { r.Image = "x@sha256:" + strings.Repeat("a", 64) }, ""},
		"registry":         {func(r *ContainerRes) { r.Image = "host:5000/a/b:1" }, ""},
		"version":          {func(r *ContainerRes) { r.APIVersion = "v1.41" }, ""},
		"tcp":              {func(r *ContainerRes) { r.Host = "tcp://h:2376" }, ""},
		"IPv6":             {func(r *ContainerRes) { r.Ports = map[string]map[string]string{"tcp": {"1": "[::1]:8"}} }, ""},
		"no image removed": {func(r *ContainerRes) { r.Image, r.State = "", Removed }, ""},
		"image received":   {func(r *ContainerRes) { r.Image = ""; r.SetRecv(map[string]*engine.Send{"image": {}}) }, ""},
		"no image":         {func(r *ContainerRes) { r.Image = "" }, "image is missing"},
		"an ID":            {func(r *ContainerRes) { r.Image = "sha256:" + strings.Repeat("a", 64) }, "is no image"},
		"upper case":       {func(r *ContainerRes) { r.Image = "Web" }, "in lower case"},
		"one letter":       {func(r *ContainerRes) { r.SetName("x") }, "two or more"},
		"env":              {func(r *ContainerRes) { r.Env = []string{"hidden-word"} }, "env: an entry is not NAME=VALUE"},
		"env name":         {func(r *ContainerRes) { r.Env = []string{"a b=c"} }, `"a b" is no name`},
		"env zero":         {func(r *ContainerRes) { r.Env = []string{"a=\x00"} }, "zero byte"},
		"env twice":        {func(r *ContainerRes) { r.Env = []string{"A=1", "A=2"} }, "A is given twice"},
		"env secret twice": {func(r *ContainerRes) {
			r.Env, r.SecretEnv = []string{"A=1"}, map[string]schema.Secret{"A": schema.NewSecret("x")}
		}, "A is given twice"},
		"secret env":    {func(r *ContainerRes) { r.SecretEnv = map[string]schema.Secret{"": schema.NewSecret("x")} }, "secret_env"},
		"port 0":        {func(r *ContainerRes) { r.Ports = map[string]map[string]string{"tcp": {"0": ""}} }, "no port of a container"},
		"port large":    {func(r *ContainerRes) { r.Ports = map[string]map[string]string{"tcp": {"65536": ""}} }, "no port of a container"},
		"port 080":      {func(r *ContainerRes) { r.Ports = map[string]map[string]string{"tcp": {"080": ""}} }, "no port of a container"},
		"host port 0":   {func(r *ContainerRes) { r.Ports = map[string]map[string]string{"tcp": {"80": "0"}} }, "port 0"},
		"relative":      {func(r *ContainerRes) { r.Volumes = []string{"./x:/y"} }, "neither an absolute path"},
		"up":            {func(r *ContainerRes) { r.Volumes = []string{"/x/../y:/y"} }, "without . and .."},
		"whole":         {func(r *ContainerRes) { r.Volumes = []string{"/x:/"} }, "absolute"},
		"mode":          {func(r *ContainerRes) { r.Volumes = []string{"/x:/y:r-o"} }, "no mode"},
		"mounted twice": {func(r *ContainerRes) { r.Volumes = []string{"/x:/y", "/z:/y"} }, "mounted twice"},
		"host and":      {func(r *ContainerRes) { r.Networks = []string{"host", "front"} }, "has to be alone"},
		"network twice": {func(r *ContainerRes) { r.Networks = []string{"front", "front"} }, "there twice"},
		"host and ports": {func(r *ContainerRes) {
			r.Networks, r.Ports = []string{"host"}, map[string]map[string]string{"tcp": {"80": ""}}
		}, "not published"},
		"memory":       {func(r *ContainerRes) { r.Memory = 1 << 20 }, "6MiB"},
		"stop timeout": {func(r *ContainerRes) { r.StopTimeout = 1500 * time.Millisecond }, "whole seconds"},
		"own label":    {func(r *ContainerRes) { r.Labels = map[string]string{Label: "x"} }, "for mgmt to give"},
		"label":        {func(r *ContainerRes) { r.Labels = map[string]string{"a\nb": "x"} }, "no name of a label"},
		"zero":         {func(r *ContainerRes) { r.Cmd = []string{"a\x00b"} }, "zero byte"},
		"ssh":          {func(r *ContainerRes) { r.Host = "ssh://x" }, "neither unix"},
	} {
		r := valid()
		c.alter(r)
		err := r.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, wanted %q", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hidden-word") {
			t.Errorf("%s: what may be a secret is shown: %v", name, err)
		}
	}
}

// TestValidateImage does the same for images.
func TestValidateImage(t *testing.T) {
	for want, r := range map[string]*ImageRes{
		"":            {State: ImageExists, Username: "u", Password: schema.NewSecret("p")},
		"need each":   {Username: "u"},
		"force":       {Force: true},
		"must be exi": {State: "running"},
		"host":        {Place: Place{Host: "http://x"}},
	} {
		r.SetName("web")
		if err := r.Validate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, wanted %q", err, want)
		}
	}
	r := &ImageRes{Username: "u"}
	r.SetName("web")
	r.SetRecv(map[string]*engine.Send{"password": {}})
	if err := r.Validate(); err != nil {
		t.Errorf("a password that is received: %v", err)
	}
}

// TestSettles: whatever valid container is asked for, one CheckApply makes it, and the
// next finds nothing to do; what Read shows of it, asked for, finds nothing to do either.
func TestSettles(t *testing.T) {
	d := newFakeDaemon(t)
	rapid.Check(t, func(rt *rapid.T) {
		d.reset()
		res := drawContainer(rt, d)
		r := start(t, res, "docker_container")
		r.must()
		if ok, err := res.CheckApply(t.Context(), true); !ok || err != nil {
			rt.Fatalf("it does not settle: %v %v", r.fake.Changes(), err)
		}
		got, err := res.Read(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		again := start(t, got, "docker_container")
		if ok, err := got.CheckApply(t.Context(), true); !ok || err != nil {
			rt.Fatalf("what Read shows would change it: %v %v", again.fake.Changes(), err)
		}
	})
}

func drawContainer(rt *rapid.T, d *fakeDaemon) *ContainerRes {
	some := func(label string, from ...string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, len(from), rapid.ID).Draw(rt, label)
	}
	r := &ContainerRes{
		State: rapid.SampledFrom([]string{Running, Stopped}).Draw(rt, "state"), Image: rapid.SampledFrom([]string{"sleeper:1", "sleeper:2", "web"}).Draw(rt, "image"),
		Entrypoint: some("entrypoint", "/sleeper", "-x"), Cmd: some("cmd", "run", "", "a b"), Env: some("env", "A=1", "PATH=/bin", "B="),
		User: rapid.SampledFrom([]string{"", "0", "a:b"}).Draw(rt, "user"), Hostname: rapid.SampledFrom([]string{"", "box"}).Draw(rt, "hostname"),
		Volumes: some("volumes", "/a:/b:rw", "/a:/c:ro", "data:/d"), Networks: some("networks", "front", "back"), Restart: rapid.SampledFrom([]string{"", "no", "always", "on-failure", "on-failure:2"}).Draw(rt, "restart"),
		Memory: rapid.SampledFrom([]schema.Size{0, 64 << 20}).Draw(rt, "memory"), StopTimeout: rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(rt, "stop"),
		Place: d.place(),
	}
	for _, p := range some("ports", "80", "81") {
		if r.Ports == nil {
			r.Ports = map[string]map[string]string{"tcp": {}}
		}
		r.Ports["tcp"][p] = rapid.SampledFrom([]string{"", "8080", "0.0.0.0:1", "[::1]:2", "127.0.0.1:"}).Draw(rt, "at")
	}
	for _, l := range some("labels", "a", "of") {
		r.Labels = dict(r.Labels, map[string]string{l: "x"})
	}
	for _, name := range some("secrets", "S", "T") {
		if r.SecretEnv == nil {
			r.SecretEnv = map[string]schema.Secret{}
		}
		r.SecretEnv[name] = schema.NewSecret("v")
	}
	r.SetName("web")
	return r
}

// TestDifferences: each parameter that differs is named, and only that.
func TestDifferences(t *testing.T) {
	d := newFakeDaemon(t)
	for field, alter := range map[string]func(*ContainerRes){
		"image":        func(r *ContainerRes) { r.Image = "sleeper:2" },
		"entrypoint":   func(r *ContainerRes) { r.Entrypoint = []string{"/other"} },
		"cmd":          func(r *ContainerRes) { r.Cmd = []string{"other"} },
		"env":          func(r *ContainerRes) { r.Env = []string{"A=2", "PATH=/sbin"} },
		"secret_env":   func(r *ContainerRes) { r.SecretEnv = map[string]schema.Secret{"PASSWORD": schema.NewSecret("x")} },
		"user":         func(r *ContainerRes) { r.User = "" },
		"workdir":      func(r *ContainerRes) { r.Workdir = "" },
		"hostname":     func(r *ContainerRes) { r.Hostname = "" },
		"ports":        func(r *ContainerRes) { r.Ports = nil },
		"volumes":      func(r *ContainerRes) { r.Volumes = r.Volumes[:1] },
		"networks":     func(r *ContainerRes) { r.Networks = nil },
		"labels":       func(r *ContainerRes) { r.Labels = nil },
		"restart":      func(r *ContainerRes) { r.Restart = "" },
		"memory":       func(r *ContainerRes) { r.Memory = 0 },
		"stop_timeout": func(r *ContainerRes) { r.StopTimeout = 0 },
		"state":        func(r *ContainerRes) { r.State = Stopped },
	} {
		d.reset()
		d.locked(func() { d.addImage("docker.io/library/sleeper:2") })
		start(t, full(d), "docker_container").must()
		id := d.containers["web"].ID
		res := full(d)
		alter(res)
		r := start(t, res, "docker_container")
		r.must()
		var got []string
		for _, c := range r.fake.Changes() {
			got = append(got, c.Field)
		}
		if !slices.Equal(got, []string{field}) {
			t.Errorf("%s: %v", field, got)
		}
		live := slices.Contains([]string{"networks", "restart", "state"}, field)
		if (d.containers["web"].ID == id) != live {
			t.Errorf("%s: replaced %t", field, live)
		}
	}
}

// TestHidden: variables that env does not name are shown neither where they are read nor
// where they differ.
func TestHidden(t *testing.T) {
	d := newFakeDaemon(t)
	start(t, full(d), "docker_container").must()
	res := web(d)
	res.Env = []string{"A=3"}
	r := start(t, res, "docker_container")
	got, err := res.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	is := got.(*ContainerRes)
	if !slices.Equal(is.Env, []string{"A=1"}) || !slices.Equal(slices.Sorted(maps.Keys(is.SecretEnv)), []string{"PASSWORD", "PATH"}) {
		t.Errorf("env %v, secret_env %v", is.Env, is.SecretEnv)
	}
	r.must()
	for _, c := range r.fake.Changes() {
		if strings.Contains(c.String(), "hidden") {
			t.Errorf("it is shown: %s", c)
		}
	}
	for res, err := range (&ContainerRes{daemon: res.daemon, Place: res.Place}).List(t.Context()) {
		if err != nil || res.Name() != "web" || len(res.(*ContainerRes).Env) > 0 {
			t.Errorf("listed %v %v", res, err)
		}
	}
}
