package mgmt_test

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/exec"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/password"
)

func Example_typedGraph() {
	g := static.NewGraph("web")
	key := g.Add("password", "app", &password.Res{Length: 24})
	conf := &file.Res{Mode: "0600"}
	f := g.Add("file", "/etc/app.key", conf)
	f.Recv(&conf.Content, static.SentField(key, func(s *password.Sends) any { return &s.Password }))
	f.Notify(g.Add("exec", "restart", &exec.Res{Cmd: "app-restart", RefreshOnly: true}))

	made, wrong := gapi.Build(engine.DefaultRegistry(), g.Declared())
	fmt.Println(len(wrong), "findings")
	for e := range made.Edges() {
		fmt.Println(made.ID(e.From), "before", made.ID(e.To), "notify", e.Notify)
	}
	// Output:
	// 0 findings
	// password[app] before file[/etc/app.key] notify false
	// file[/etc/app.key] before exec[restart] notify true
}
