package hosts

import (
	"fmt"
	"net/url"
	"strings"
)

// The tables of the store; see the package's documentation.
const (
	tableHosts      = "hosts/"
	tableSeen       = "seen/"
	tableExports    = "exports/"
	tableKV         = "kv/"
	tableSchedules  = "schedules/"
	tableSemaphores = "semaphores/"
)

// Prefix is that of the keys of live hosts.
const Prefix = tableHosts

// SeenPrefix is that of the keys that say when a host was last there.
const SeenPrefix = tableSeen

// Shared returns the prefixes of what hosts share besides: values, and the candidates of schedules.
func Shared() []string { return []string{tableKV, tableSchedules} }

// All is the topic of every host.
const All = "all"

// HostTopic is the topic of one host.
func HostTopic(name string) string { return "host:" + name }

// GroupTopic is the topic of the hosts with a role.
func GroupTopic(role string) string { return "group:" + role }

// Topics returns the topics that a host reads.
func Topics(name string, roles []string) []string {
	list := []string{All, HostTopic(name)}
	for _, r := range roles {
		list = append(list, GroupTopic(r))
	}
	return list
}

// CheckTopic refuses a word in another form than that of a topic. The empty one stands for All.
func CheckTopic(topic string) error {
	group, okGroup := strings.CutPrefix(topic, "group:")
	host, okHost := strings.CutPrefix(topic, "host:")
	if topic == "" || topic == All || okGroup && group != "" || okHost && host != "" {
		return nil
	}
	return fmt.Errorf("topic is %q, write all, group:ROLE or host:NAME", topic)
}

// TopicOf returns the topic that a word of the metaparameter export means. The word * is for every
// host, and group:ROLE for the hosts with a role. Another word is the name of a host.
func TopicOf(word string) string {
	switch {
	case word == "*":
		return All
	case strings.HasPrefix(word, "group:"):
		return word
	}
	return HostTopic(strings.TrimPrefix(word, "host:"))
}

// KVKey is the key of a value of the kind kv.
func KVKey(topic, key string) string { return tableKV + join(topic, key) }

// join escapes the parts of a key.
func join(parts ...string) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(url.PathEscape(p))
	}
	return b.String()
}

// split is the inverse of join, for a key below a prefix. It answers nil for a key of another form.
func split(key, prefix string, n int) []string {
	rest, ok := strings.CutPrefix(key, prefix)
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != n {
		return nil
	}
	for i, p := range parts {
		plain, err := url.PathUnescape(p)
		if err != nil {
			return nil
		}
		parts[i] = plain
	}
	return parts
}
