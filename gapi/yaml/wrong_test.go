package yaml_test

import "github.com/reactivegraph/mgmt/gapi/expand"

// wrongCases are graphs whose expressions are wrong, with all that is said.
var wrongCases = []computedCase{
	{name: "plain style", graph: "resources:\n  file:\n  - name: /a\n    content: a ${{ facts.hostnam }}\n", want: `g.yaml:4:26: facts has no "hostnam" (did you mean "hostname"?)`},
}

var _ = expand.Setting{}
