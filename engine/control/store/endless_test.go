package store_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/control/store"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/world"
)

// transport answers each request by itself.
type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestFindingJ12EndlessDeploys: a daemon that tells of too many keys at once is given up.
func TestFindingJ12EndlessDeploys(t *testing.T) {
	c := &store.Client{HTTP: transport(func(r *http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader(`{"kvs": [`), strings.NewReader(strings.Repeat("{},", 1<<20)), strings.NewReader(`{}]}`))
		return &http.Response{StatusCode: 200, Body: io.NopCloser(body), Request: r}, nil
	})}
	_, err := c.List(t.Context(), "deploys/", world.ListOptions{})
	if _, long := errors.AsType[*httpd.LongError](err); !long {
		t.Error(err)
	}
}
