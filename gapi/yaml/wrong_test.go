package yaml_test

import "github.com/reactivegraph/mgmt/gapi/expand"

// wrongCases are graphs whose expressions are wrong, with all that is said about them.
var wrongCases = []computedCase{
	{
		name: "plain style", graph: "resources:\n  file:\n  - name: /a\n    content: a ${{ facts.hostnam }}\n",
		want: "g.yaml:4:26: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "double quotes", graph: "resources:\n  file:\n  - name: /a\n    content: \"\\t\\\"ä${{ facts.hostnam }}\"\n",
		want: "g.yaml:4:30: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "double quotes folded", graph: "resources:\n  file:\n  - name: /a\n    content: \"a\n      b ${{ 1 +\n      facts.hostnam }}\"\n",
		want: "g.yaml:6:13: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "an escape inside of an expression", graph: "resources:\n  file:\n  - name: /a\n    content: \"${{ \\\"a\\\" + facts.hostnam }}\"\n",
		want: "g.yaml:4:33: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "single quotes", graph: "resources:\n  file:\n  - name: /a\n    content: 'it''s ${{ ''a'' + facts.hostnam }}'\n",
		want: "g.yaml:4:39: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "a literal block", graph: "resources:\n  file:\n  - name: /a\n    content: |\n      one ${{ facts.cpus }}\n        two ${{ facts.hostnam }}\n",
		want: "g.yaml:6:23: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "a folded block", graph: "resources:\n  file:\n  - name: /a\n    content: >-\n      one\n      two ${{ facts.hostnam }}\n",
		want: "g.yaml:6:21: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "an expression over lines of a block", graph: "resources:\n  file:\n  - name: /a\n    content: |-\n      ${{ facts.cpus +\n          facts.hostnam }}\n",
		want: "g.yaml:6:17: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "flow style", graph: "resources: {file: [{name: /a, content: \"${{ facts.hostnam }}\"}]}\n",
		want: "g.yaml:1:51: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "JSON", graph: "{\"resources\": {\"file\": [{\"name\": \"/a\", \"content\": \"x ${{ facts.hostnam }}\"}]}}\n",
		want: "g.yaml:1:64: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "the second of two in a text", graph: "resources:\n  file:\n  - name: /a\n    content: \"${{ facts.cpus }} ${{ facts.hostnam }}\"\n",
		want: "g.yaml:4:43: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "both of two in a text", graph: "resources:\n  file:\n  - name: /a\n    content: \"${{ facts.hostnam }} ${{ vars.x }}\"\n",
		want: "g.yaml:4:25: facts has no \"hostnam\" (did you mean \"hostname\"?)\ng.yaml:4:45: vars has no \"x\"",
	},
	{
		name: "behind an escape", graph: "resources:\n  file:\n  - name: /a\n    content: \"$${{ a }} ${{ facts.hostnam }}\"\n",
		want: "g.yaml:4:35: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "an anchor before the text", graph: "resources:\n  file:\n  - name: /a\n    content: &x \"${{ facts.hostnam }}\"\n",
		want: "g.yaml:4:28: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "without an end", graph: "resources:\n  file:\n  - name: /a\n    content: \"a ${{ facts.hostname }\"\n",
		want: "g.yaml:4:17: an expression begins here with ${{ and has no end }}; for the characters ${{ write $${{",
	},
	{
		name: "empty", graph: "resources:\n  file:\n  - name: /a\n    content: \"${{ }}\"\n",
		want: "g.yaml:4:18: the expression between ${{ and }} is empty; for the characters ${{ write $${{",
	},
	{
		name: "an action of a forge", graph: "resources:\n  file:\n  - name: /a\n    content: \"${{ github.ref }}\"\n",
		want: "g.yaml:4:19: there is no \"github\" here; for the characters ${{ write $${{",
	},
	{
		name: "no expression", graph: "resources:\n  file:\n  - name: /a\n    content: \"${{ if x }}\"\n",
		want: "g.yaml:4:19: this is no expression: if is not of this language: write CONDITION ? VALUE : OTHER; for the characters ${{ write $${{",
	},
	{
		name: "an unknown function", graph: "resources:\n  file:\n  - name: /a\n    content: \"${{ lenght(facts.roles) }}\"\n",
		want: "g.yaml:4:19: there is no function \"lenght\" (did you mean \"size\"?)",
	},
	{
		name: "wrong types", graph: "resources:\n  file:\n  - name: /a\n    content: \"${{ facts.cpus + facts.hostname }}\"\n",
		want: "g.yaml:4:30: + can't be applied to (int, text)",
	},
	{
		name: "a field of a number", graph: "resources:\n  file:\n  - name: /a\n    content: \"${{ facts.cpus.x }}\"\n",
		want: "g.yaml:4:29: int has no fields",
	},
	{
		name: "a list in a text", graph: "resources:\n  file:\n  - name: /a\n    content: \"a ${{ facts.roles }}\"\n",
		want: "g.yaml:4:21: inside a text an expression must be text, a number or true or false, not a list: write .join(\", \") behind it",
	},
	{
		name: "a map in a text", graph: "resources:\n  file:\n  - name: /a\n    content: \"a ${{ {} }}\"\n",
		want: "g.yaml:4:21: inside a text an expression must be text, a number or true or false, not a map",
	},
	{
		name: "null in a text", graph: "resources:\n  file:\n  - name: /a\n    content: \"a ${{ null }}\"\n",
		want: "g.yaml:4:21: inside a text an expression must be text, a number or true or false, not null",
	},
	{
		name: "an optional in a text", graph: "vars: {m: {a: 1}}\nresources:\n  file:\n  - name: /a\n    content: \"a ${{ vars.m.?b }}\"\n",
		want: "g.yaml:5:21: inside a text an expression must be text, a number or true or false, and there is no value: write .orValue(...) behind it",
	},
	{
		name: "a missing key", graph: "vars: {m: {a: {b: 1}}}\nresources:\n  file:\n  - name: /a\n    content: \"${{ vars.m.a.c }}\"\n",
		want: "g.yaml:5:27: there is no key \"c\"; has(...) asks for one, and .?key.orValue(...) takes another value",
	},
	{
		name: "an index outside", graph: "resources:\n  file:\n  - name: /a\n    content: \"${{ facts.roles[3] }}\"\n",
		want: "g.yaml:4:30: index out of bounds: 3",
	},
	{
		name: "division by zero", graph: "vars: {n: 0}\nresources:\n  file:\n  - name: /a\n    content: \"${{ 1 / vars.n }}\"\n",
		want: "g.yaml:5:21: division by zero",
	},
	{
		name: "too much", graph: "resources:\n  file:\n  - name: /a\n    content: \"${{ lists.range(100000).map(x, lists.range(1000)).size() }}\"\n",
		want: "g.yaml:4:19: the expression does too much: it is stopped at its limit",
	},
	{
		name: "in a name", graph: "resources:\n  file:\n  - name: \"/${{ facts.hostnam }}\"\n",
		want: "g.yaml:3:23: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "in meta", graph: "resources:\n  file:\n  - {name: /a, meta: {retry: \"${{ facts.cpu }}\"}}\n",
		want: "g.yaml:3:41: facts has no \"cpu\" (did you mean \"cpus\"?)",
	},
	{
		name: "in a reference", graph: "resources:\n  file:\n  - {name: /a, depend: [\"file[${{ facts.hostnam }}]\"]}\n",
		want: "g.yaml:3:41: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "in recv", graph: "resources:\n  file:\n  - {name: /a, recv: {content: \"value[${{ vars.x }}].text\"}}\n",
		want: "g.yaml:3:48: vars has no \"x\"",
	},
	{
		name: "in a list", graph: "resources:\n  exec:\n  - {name: e, args: [a, \"${{ facts.hostnam }}\"]}\n",
		want: "g.yaml:3:36: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "in a map", graph: "resources:\n  exec:\n  - {name: e, env: {A: \"${{ facts.hostnam }}\"}}\n",
		want: "g.yaml:3:35: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "in a key", graph: "resources:\n  exec:\n  - {name: e, env: {\"${{ facts.hostname }}\": x}}\n",
		want: "g.yaml:3:21: an expression can't stand in a key: a map as a whole may be one",
	},
	{
		name: "in an edge", graph: "edges: [{from: \"file[${{ facts.hostnam }}]\", to: \"file[b]\"}]\nresources: {}\n",
		want: "g.yaml:1:32: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "in an include", graph: "include: [\"${{ facts.hostnam }}.yaml\"]\nresources: {}\n",
		want: "g.yaml:1:22: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "a reference with an expression that is none", graph: "resources:\n  file:\n  - {name: /a, depend: [\"${{ facts.hostname }}\"]}\n",
		want: "g.yaml:3:30: \"w1\" is not a reference, write kind[name]",
	},
	{
		name: "when is text", graph: "resources:\n  file:\n  - {name: /a, when: \"${{ facts.hostname }}\"}\n",
		want: "g.yaml:3:27: when must be true or false, and this expression is text",
	},
	{
		name: "when has a fault", graph: "resources:\n  file:\n  - {name: /a, when: \"${{ facts.hostnam }}\"}\n",
		want: "g.yaml:3:33: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "a loop over text", graph: "resources:\n  file:\n  - {name: /a, for_each: \"${{ facts.hostname }}\"}\n",
		want: "g.yaml:3:26: for_each takes a list or a map, not the text \"w1\"",
	},
	{
		name: "a loop with a fault", graph: "resources:\n  file:\n  - {name: /a, for_each: \"${{ facts.role }}\"}\n",
		want: "g.yaml:3:37: facts has no \"role\" (did you mean \"roles\"?)",
	},
	{
		name: "a wrong word of a loop", graph: "resources:\n  file:\n  - {name: \"/${{ each.kee }}\", for_each: [a, b]}\n",
		want: "g.yaml:3:23: each has no \"kee\" (did you mean \"key\"?)",
	},
	{
		name: "each without a loop", graph: "resources:\n  file:\n  - {name: \"/${{ each.key }}\"}\n",
		want: "g.yaml:3:18: each is there in a resource with for_each only",
	},
	{
		name: "two turns of one name", graph: "resources:\n  file:\n  - {name: /a, for_each: [x, y]}\n",
		want: "g.yaml:3:12: file[/a] is there twice: the turn of item 1 has this name\n    g.yaml:3:12: first made here: the turn of item 0 has this name",
	},
	{
		name: "a loop and a resource of one name", graph: "resources:\n  file:\n  - {name: /a}\n  - {name: \"/${{ each.value }}\", for_each: [b, a]}\n",
		want: "g.yaml:4:12: file[/a] is there twice: the turn of item 1 has this name\n    g.yaml:3:12: first made here: it is in no loop",
	},
	{
		name: "two loops of one name", graph: "resources:\n  file:\n  - {name: \"/${{ each.value }}\", for_each: [a]}\n  - {name: \"/${{ each.key }}\", for_each: {a: 1}}\n",
		want: "g.yaml:4:12: file[/a] is there twice: the turn of \"a\" has this name\n    g.yaml:3:12: first made here: the turn of item 0 has this name",
	},
	{
		name: "a fault in each turn is told once", graph: "resources:\n  file:\n  - {name: \"/${{ each.key }}\", for_each: [a, b], content: \"${{ facts.hostnam }}\"}\n",
		want: "g.yaml:3:70: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "a value that one turn lacks", graph: "resources:\n  file:\n  - {name: \"/${{ each.key }}\", for_each: {a: {p: 1}, b: {q: 1}}, content: \"${{ each.value.p }}\"}\n",
		want: "g.yaml:3:90: there is no key \"p\"; has(...) asks for one, and .?key.orValue(...) takes another value",
	},
	{
		name: "a variable declared twice", graph: "vars: {a: 1}\ninclude: [i.yaml]\n",
		files: map[string]string{"i.yaml": "vars: {a: 2}\n"},
		want:  "i.yaml:1:8: the variable a is declared twice\n    g.yaml:1:8: first declared here",
	},
	{
		name: "a variable with an expression", graph: "vars: {a: \"${{ facts.hostname }}\"}\n",
		want: "g.yaml:1:11: a variable takes no expression: expressions stand in resources, include, defaults and data.files; for the characters ${{ write $${{",
	},
	{
		name: "a variable of no type", graph: "vars: {a: {type: string, default: x}}\n",
		want: "g.yaml:1:18: \"string\" is no type of a variable: write any, bool, float, int, list, map, text",
	},
	{
		name: "a default of another type", graph: "vars: {a: {type: int, default: x}}\n",
		want: "g.yaml:1:32: the default of a must be int, not text",
	},
	{
		name: "a variable without a value", graph: "vars: {a: {type: int}}\n",
		want: "g.yaml:1:8: the variable a has no value: it has no default, so write --var a=VALUE",
	},
	{
		name: "a variable that can't be named", graph: "vars: {a-b: 1}\n",
		want: "g.yaml:1:8: \"a-b\" can't be the name of a variable: write letters, digits and _",
	},
	{
		name: "vars is a list", graph: "vars: [a]\n",
		want: "g.yaml:1:7: vars must be a map from names to values",
	},
	{
		name: "an unknown variable", graph: "vars: {domain: a}\nresources:\n  file:\n  - name: /a\n    content: \"${{ vars.domian }}\"\n",
		want: "g.yaml:5:24: vars has no \"domian\" (did you mean \"domain\"?)",
	},
	{
		name: "defaults of all kinds", graph: "defaults: {\"*\": {owner: root}}\n",
		want: "g.yaml:1:18: the defaults of all kinds may have meta alone: write owner below each kind that has it",
	},
	{
		name: "a default of a name", graph: "defaults: {file: {name: x}}\n",
		want: "g.yaml:1:19: name can't have a default",
	},
	{
		name: "a default with a fault", graph: "defaults:\n  file: {owner: \"${{ facts.hostnam }}\"}\nresources:\n  file:\n  - name: /a\n  - name: /b\n",
		want: "g.yaml:2:28: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "an unknown key of data", graph: "data: {file: [x.yaml]}\n",
		want: "g.yaml:1:8: unknown key \"file\" in data (did you mean \"files\"?)",
	},
	{
		name: "an unknown merge", graph: "data: {files: [], merge: {a: depe}}\n",
		want: "g.yaml:1:30: a key is merged as first, deep or append (did you mean \"deep\"?)",
	},
	{
		name: "a broken layer of data", graph: "data: {files: [d.yaml]}\nresources: {}\n",
		files: map[string]string{"d.yaml": "a: [\n"},
		want:  "d.yaml:2:1: expected a value",
	},
	{
		name: "an expression in a layer of data", graph: "data: {files: [d.yaml]}\nresources: {}\n",
		files: map[string]string{"d.yaml": "a: \"${{ facts.hostname }}\"\n"},
		want:  "d.yaml:1:4: a file of data takes no expression: expressions stand in resources, include, defaults and data.files; for the characters ${{ write $${{",
	},
	{
		name: "a path of data with a fault", graph: "data: {files: [\"${{ facts.hostnam }}.yaml\"]}\nresources: {}\n",
		want: "g.yaml:1:27: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "a missing key of data", graph: "data: {files: []}\nresources:\n  file:\n  - name: /a\n    content: \"${{ data.nope }}\"\n",
		want: "g.yaml:5:23: there is no key \"nope\"; has(...) asks for one, and .?key.orValue(...) takes another value",
	},
	{
		name: "a file that is not there", graph: "resources:\n  file:\n  - name: /a\n    content: \"${{ read('nope') }}\"\n",
		want: "g.yaml:4:23: can't read nope: no such file or directory",
	},
	{
		name: "no JSON", graph: "resources:\n  file:\n  - name: /a\n    content: \"${{ fromJSON('{') }}\"\n",
		want: "g.yaml:4:27: this is no JSON: unexpected EOF",
	},
	{
		name: "no Base64", graph: "resources:\n  file:\n  - name: /a\n    content: \"${{ fromBase64('a') }}\"\n",
		want: "g.yaml:4:29: this is no Base64: illegal base64 data at input byte 0",
	},
	{
		name: "no text in Base64", graph: "resources:\n  file:\n  - name: /a\n    content: \"${{ fromBase64('/w==') }}\"\n",
		want: "g.yaml:4:29: the decoded bytes are no text in UTF-8",
	},
	{
		name: "a condition without a value", graph: "vars: {m: {a: true}}\nresources:\n  file:\n  - {name: /a, when: \"${{ vars.m.?b }}\"}\n  - {name: /b, depend: [\"file[/c]\"]}\n",
		want: "g.yaml:4:27: when has no value here: write .orValue(...) behind it",
	},
	{
		name: "a name without a value", graph: "vars: {m: {a: x}}\nresources:\n  file:\n  - {name: \"${{ vars.m.?b }}\"}\n",
		want: "g.yaml:4:17: name has no value here: write .orValue(...) behind it",
	},
	{
		name: "a loop without a value", graph: "vars: {m: {a: [x]}}\nresources:\n  file:\n  - {name: \"/${{ each.value }}\", for_each: \"${{ vars.m.?b }}\"}\n",
		want: "g.yaml:4:49: for_each has no value here: write .orValue(...) behind it",
	},
	{
		name: "a path of data without a value", graph: "vars: {m: {a: x}}\ndata: {files: [\"${{ vars.m.?b }}\"]}\nresources: {}\n",
		want: "g.yaml:2:21: a path of data.files has no value here: write .orValue(...) behind it",
	},
	{
		name: "a branch that is not taken", graph: "resources:\n  file:\n  - {name: /a, when: \"${{ facts.cpus > 100 }}\", content: \"${{ facts.hostnam }}\"}\n",
		want: "g.yaml:3:69: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "a loop without a turn", graph: "vars: {l: []}\nresources:\n  file:\n  - {name: \"/${{ each.kee }}\", for_each: \"${{ vars.l }}\", meta: {retry: \"${{ facts.cpu }}\"}}\n",
		want: "g.yaml:4:23: each has no \"kee\" (did you mean \"key\"?)\ng.yaml:4:84: facts has no \"cpu\" (did you mean \"cpus\"?)",
	},
	{
		name: "a loop with a fault and its resource", graph: "resources:\n  file:\n  - {name: \"/${{ each.kee }}\", for_each: \"${{ facts.role }}\"}\n",
		want: "g.yaml:3:23: each has no \"kee\" (did you mean \"key\"?)\ng.yaml:3:53: facts has no \"role\" (did you mean \"roles\"?)",
	},
	{
		name: "a default of a branch that is not taken", graph: "defaults:\n  file: {owner: \"${{ facts.hostnam }}\"}\nresources:\n  file:\n  - {name: /a, when: false}\n",
		want: "g.yaml:2:28: facts has no \"hostnam\" (did you mean \"hostname\"?)",
	},
	{
		name: "a variable with an expression without an end", graph: "vars: {a: \"x ${{ y\"}\n",
		want: "g.yaml:1:11: a variable takes no expression: expressions stand in resources, include, defaults and data.files; for the characters ${{ write $${{",
	},
	{
		name: "a setting that is no YAML keeps its text to itself", graph: "vars: {n: 1}\nresources: {}\n",
		vars: []expand.Setting{{Name: "n", Text: "{s3cret", From: "MGMT_VAR_n"}},
		want: "MGMT_VAR_n: the value is no YAML of the type int",
	},
	{
		name: "a setting of the environment for other graphs", graph: "resources: {}\n",
		vars: []expand.Setting{{Name: "x", Text: "1", From: "MGMT_VAR_x", Shared: true}},
	},
	{
		name: "a setting of the environment with a wrong name", graph: "vars: {a: 1}\nresources: {}\n",
		vars: []expand.Setting{{Name: "x", Text: "1", From: "MGMT_VAR_x", Shared: true}},
		want: "MGMT_VAR_x: the graph has no variable \"x\", it has a (int)",
	},
	{
		name: "an expression that is no YAML", graph: "resources:\n  file:\n  - name: /a\n    content: ${{ {\"a\": 1}.a }}\n",
		want: "g.yaml:4:22: a \": \" is not allowed here; is the line before indented right, or does a text need quotes?; an expression in ${{ }} needs quotes where it has \": \" or \" #\", and inside of [ ] and { }",
	},
	{
		name: "recv from a resource that is left out", graph: "resources:\n  file:\n  - {name: /a, when: false}\n  - {name: /b, recv: {content: \"file[/a].content\"}}\n",
		want: "g.yaml:4:23: recv: file[/a] is left out by its condition, so it sends nothing",
	},
	{
		name: "an escape alone", graph: "resources:\n  file:\n  - name: /a\n    content: x $${{ y }}\n  - name: /b\n    content: x $${{ y }}\n",
		want: "g.yaml:4:14: warning: $${{ stands for the characters ${{ here; for the characters $${{ write $$${{",
	},
	{
		name: "an escape beside an expression", graph: "resources:\n  file:\n  - name: /a\n    content: x $${{ y }} ${{ facts.cpus }}\n",
	},
}
