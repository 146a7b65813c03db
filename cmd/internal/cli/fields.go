package cli

import (
	"errors"

	"github.com/reactivegraph/mgmt/daemon/input"
	"github.com/reactivegraph/mgmt/daemon/setting"
)

// fieldKeys are the settings that fill the fields of a daemon.Config which its errors name.
var fieldKeys = map[setting.Field]string{
	setting.GraphYAML: "graph", setting.GraphCatalog: "puppet_catalog", setting.GraphTS: "ts", setting.GraphVars: "var",
	setting.StatePrefix: "prefix", setting.StateTemporary: "tmp_prefix",
	setting.StorePlace: "world", setting.StoreAccept: "accept", setting.StorePasswordFile: "password_file", setting.TrustedKeys: "trusted_keys",
	setting.RemoteAddress: "api_listen", setting.RemoteCert: "api_cert", setting.RemoteKey: "api_key", setting.RemoteCA: "api_ca", setting.RemoteWriters: "api_writers",
	setting.MetricsAddress: "prometheus", setting.MetricsRemote: "prometheus_remote", setting.MetricsTextfile: "metrics_textfile",
	setting.WebAddress: "web", setting.WebCert: "web_cert", setting.WebKey: "web_key", setting.WebCA: "web_ca", setting.WebOperators: "web_operators",
	setting.WebProxy: "web_proxy", setting.WebHeader: "web_header",
	setting.StatusFile: "converged_status_file",
}

// FlagOf returns the flag that fills a field.
func FlagOf(f setting.Field) string { return "--" + Settings.Get(fieldKeys[f]).FlagName() }

// ErrorText returns the text of an error as the user of this program reads it: with flags in place of the fields that they fill.
func ErrorText(err error) string {
	if errors.Is(err, input.ErrNone) {
		return "no graph is given, use --yaml FILE, --puppet-catalog FILE or --ts FILE (- is standard input), or just FILE; the default, " + input.Default +
			", is not there; a daemon with --world or --trusted-keys takes its graph from its store, and needs no other"
	}
	return setting.Named(err, FlagOf)
}
