package etcd

import (
	"net/url"
	"slices"
	"strings"
)

// Grant is a right on keys of a World. Every right allows to read.
type Grant struct {
	Key   string
	Below bool // every key that begins with Key, and not Key alone
	Write bool
}

// SignedGrants are the rights of a host to read what the operator has signed about the store and its hosts, and to say when it was last there. The
// rights that an older mgmt has given lack them.
func SignedGrants(host string) []Grant {
	return []Grant{
		{Key: "fleet/store", Below: true}, {Key: "fleet/hosts/", Below: true},
		{Key: "seen/", Below: true}, {Key: "seen/" + url.PathEscape(host), Write: true},
	}
}

// RolesOf returns the roles that the rights of a host are those of.
func RolesOf(grants []Grant) (roles []string) {
	for _, g := range grants {
		table, topic, _ := strings.Cut(strings.TrimSuffix(g.Key, "/"), "/")
		topic, err := url.PathUnescape(topic)
		if role, ok := strings.CutPrefix(topic, "group:"); ok && err == nil && table == "deploys" && g.Below {
			roles = append(roles, role)
		}
	}
	return roles
}

// HostGrants are the rights of a host with these roles, by the keys of the packages model, hosts and deploy. It reads the
// keys for its topics, the hosts with their roles, and the topics of all ids. It writes its own status, its own exports, its report of deploys, and its
// own place among the hosts. Between the hosts of a topic, values, schedules and semaphores are shared, so it writes those
// of its topics. exportTo are further topics that it may export to.
func HostGrants(host string, roles []string, exportTo ...string) []Grant {
	name := url.PathEscape(host)
	grants := append(SignedGrants(host), []Grant{
		{Key: "hosts/", Below: true}, {Key: "i/", Below: true}, {Key: "meta/", Below: true},
		{Key: "m//", Below: true}, // the objects without a topic, which are for all
		{Key: "hosts/" + name, Write: true}, {Key: "s/" + name + "/", Below: true, Write: true}, {Key: "deployed/" + name, Write: true}, {Key: "recipients/" + name, Write: true},
	}...)
	topics := []string{"all", "host:" + host}
	for _, r := range roles {
		topics = append(topics, "group:"+r)
	}
	for _, t := range topics {
		t = url.PathEscape(t) + "/"
		for _, table := range []string{"m/", "exports/", "deploys/", "contents/"} {
			grants = append(grants, Grant{Key: table + t, Below: true})
		}
		for _, table := range []string{"kv/", "schedules/", "semaphores/"} {
			grants = append(grants, Grant{Key: table + t, Below: true, Write: true})
		}
	}
	for _, t := range slices.Concat(topics, exportTo) {
		grants = append(grants, Grant{Key: "exports/" + url.PathEscape(t) + "/" + name + "/", Below: true, Write: true})
	}
	return grants
}
