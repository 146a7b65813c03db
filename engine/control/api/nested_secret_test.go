package api_test

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control/api"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// account is a model with secrets inside of other values.
func account(t testing.TB) *model.Model {
	secret := &schema.Type{Kind: schema.KindString, Secret: true}
	login := define(t, model.Spec{Name: "Login", Plain: true, Fields: []model.Field{{Key: "user", Type: text}, {Key: "key", Type: secret}}})
	return define(t, model.Spec{Name: "Account", Table: "account", Fields: []model.Field{
		{Key: "note", Type: text}, {Key: "login", Nested: login},
		{Key: "keys", Type: &schema.Type{Kind: schema.KindList, Elem: secret}}, {Key: "env", Type: &schema.Type{Kind: schema.KindMap, Elem: secret}},
	}})
}

// TestNestedSecretsComeBack: an answer that is sent back as it was read keeps each secret, also those inside of lists, maps and nested objects. One
// that has no stored secret to stand for is refused with its place.
func TestNestedSecretsComeBack(t *testing.T) {
	r := newRig(t, api.Options{}, account(t))
	made := r.ask(t, "POST", "/v1/api/account", `{"id":"a","login":{"user":"u","key":"one"},"keys":["two","three"],"env":{"A":"four"}}`)
	if made.status != 201 || strings.Contains(made.body, "one") {
		t.Fatal(made)
	}
	for _, how := range []string{"PUT", "PATCH"} {
		got := r.ask(t, "GET", "/v1/api/account/a", "")
		body := strings.Replace(got.body, `"user":"u"`, `"user":"`+how+`"`, 1)
		if back := r.ask(t, how, "/v1/api/account/a", body); back.status != 204 {
			t.Fatal(how, back, body)
		}
		m, err := r.nb.Registry().Model("account")
		if err != nil {
			t.Fatal(err)
		}
		o, err := r.nb.Get(t.Context(), m, "a")
		if err != nil {
			t.Fatal(err)
		}
		raw, err := r.world.Get(t.Context(), "m//account/a")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"sealed:ONE", "sealed:TWO", "sealed:THREE", "sealed:FOUR"} {
			if !strings.Contains(string(raw.Value), want) {
				t.Errorf("%s of %v: the record is %s, and lacks %s", how, o, raw.Value, want)
			}
		}
	}
	r.want(t, 204, "PATCH", "/v1/api/account/a", `{"login":{"user":"alone"},"env":{"B":"five"}}`)
	raw, err := r.world.Get(t.Context(), "m//account/a")
	if want := `"env":{"A":"sealed:FOUR","B":"sealed:FIVE"}`; err != nil || !strings.Contains(string(raw.Value), want) || !strings.Contains(string(raw.Value), `"login":{"key":"sealed:ONE","user":"alone"}`) {
		t.Errorf("a patch of their neighbours leaves %s, %v", raw.Value, err)
	}
	for _, body := range []string{`{"id":"b","login":{"key":"(secret)"}}`, `{"id":"b","keys":["(secret)"]}`, `{"id":"b","env":{"A":"(secret)"}}`} {
		if got := r.ask(t, "POST", "/v1/api/account", body); got.status != 422 || !strings.Contains(got.body, "what an answer shows in the place of a secret") {
			t.Errorf("%s: %v", body, got)
		}
	}
	for _, n := range []int{1, 3} { // of two secrets that look alike
		body := `{"keys":["(secret)"` + strings.Repeat(`,"(secret)"`, n-1) + `]}`
		if got := r.ask(t, "PUT", "/v1/api/account/a", body); got.status != 422 || !strings.Contains(got.body, "keys[0]") {
			t.Errorf("%d secrets in the place of two: %v", n, got)
		}
	}
}

// TestSecretsOfMovedItems: an item of a list keeps its secret when the list is sent back in another order, or shorter.
func TestSecretsOfMovedItems(t *testing.T) {
	login := define(t, model.Spec{Name: "Login", Plain: true, Fields: []model.Field{{Key: "user", Type: text}, {Key: "key", Type: &schema.Type{Kind: schema.KindString, Secret: true}}}})
	for _, c := range []struct{ send, want string }{
		{`[{"user":"b","key":"(secret)"},{"user":"a","key":"(secret)"}]`, `[{"key":"sealed:TWO","user":"b"},{"key":"sealed:ONE","user":"a"}]`},
		{`[{"user":"b","key":"(secret)"}]`, `[{"key":"sealed:TWO","user":"b"}]`},
		{`[{"user":"a","key":"(secret)"},{"user":"c","key":"(secret)"}]`, `[{"key":"sealed:ONE","user":"a"},{"key":"sealed:TWO","user":"c"}]`},
		{`[{"user":"b","key":"(secret)"},{"user":"c","key":"(secret)"}]`, ``}, // c stands at the place of b, which has moved
		{`[{"user":"a","key":"new"},{"user":"c","key":"(secret)"},{"user":"d"}]`, ``},
	} {
		r := newRig(t, api.Options{}, define(t, model.Spec{Name: "Account", Table: "account", Fields: []model.Field{{Key: "logins", Type: &schema.Type{Kind: schema.KindList}, Nested: login}}}))
		r.want(t, 201, "POST", "/v1/api/account", `{"id":"a","logins":[{"user":"a","key":"one"},{"user":"b","key":"two"}]}`)
		got := r.ask(t, "PUT", "/v1/api/account/a", `{"logins":`+c.send+`}`)
		raw, err := r.world.Get(t.Context(), "m//account/a")
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case c.want == "" && (got.status != 422 || !strings.Contains(got.body, "logins[1].key")):
			t.Errorf("%s: %v", c.send, got)
		case c.want != "" && (got.status != 204 || !strings.Contains(string(raw.Value), c.want)):
			t.Errorf("%s: %v, and the record is %s", c.send, got, raw.Value)
		}
	}
}
