// Package typescript is the frontend that has a program in TypeScript make the graph:
//
//	import { File, Svc } from "mgmt";
//
//	const conf = new File("/etc/app.conf", { content: "hello\n" });
//	new Svc("app", { state: "running", listen: conf });
//
// The module mgmt is made for each reading: its classes are the kinds of that moment. The helper program mgmt-ts bundles and runs
// the program, since a bundler and an interpreter would double the size of this one.
//
// # Laws
//
//   - A program gets its files and its inputs, and nothing else: no network, clock, random number or environment. So equal
//     files and inputs make equal graphs.
//   - Every finding, and every resource, has the place in the .ts file where the program made it.
//   - A graph from a program is not trusted: Build checks it as it checks a graph from YAML.
//   - All files that a program imports are watched. The helper does not run again where none of them has changed.
//   - Where Options.Source guards files, each file is read once more under that guard, and has to be what the helper has read.
//   - A program may take 30 s and 512 MiB; then it is ended, and that is its finding.
package typescript
