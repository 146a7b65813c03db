// Package virtual makes one of many: a virtual module, such as pkg, is what programs
// call; its backends, such as apt and dnf, are what does it. An Interface says once
// which functions can be called, with which parameters, and the least that comes
// back. Whatever backend is in use, the module has exactly these functions. A
// missing function answers with its status, a different one is adapted or refused,
// and results are checked.
//
// # Words
//
// A module is a name, such as pkg, and an Interface. A Backend is something that
// does it: a Go value (Native), or a program with a description of its functions
// (External). Binding checks a backend against the interface for the facts of one
// machine, and gives a Module, which can be called. A Catalog holds the interfaces
// and backends of a program. A function's Status says what a call of it does:
//
//	implemented         the backend does it
//	not_implemented     the backend lacks it and should have it; a call is a *NotImplementedError
//	not_supported       the backend lacks it, and on this machine it need not have it; a *NotSupportedError
//	not_applicable      it makes no sense here; a call answers the default and tells the log so, at debug level
//	deprecated          the backend has it and the interface does not, or says that it will go; it works, and each result has a warning
//	signature_mismatch  the backend has it with parameters that cannot be adapted; a *SignatureMismatchError
//
// # How an interface is written
//
// A struct for the arguments, one for the result, and a line for each function. Keys,
// types, docs and requirements are those of the struct, as everywhere (see engine/schema).
//
//	type InstallArgs struct {
//		Pkgs    map[string]string `doc:"Names and versions." mgmt:"required"`
//		Refresh bool              `doc:"Fetch the lists first."`
//	}
//	var Install = virtual.Declare[InstallArgs, map[string]Change]("install", "Install packages.")
//
//	func Interface() *virtual.Interface {
//		return &virtual.Interface{Module: "pkg", Functions: []virtual.Function{Install.Function(), ...}}
//	}
//
// A parameter that is not required is optional, and its default is what Default() of
// the struct returns, if the struct has such a method, else the zero value. The tag
// arg:"varargs" makes a list take all further arguments by position, arg:"kwargs" a
// map[string]any all further ones by name, arg:"kwonly" a parameter that has no
// position. In a result a pointer is an optional key.
//
// # How a backend is written
//
// A Go type with a method for each function that it has, and a list of them. The
// methods need not be exported; the names are those of the interface. Use the argument
// and result structs of the interface, unless this backend differs: then declare your
// own, and the checker tells how they differ.
//
//	type apt struct{ env virtual.Env }
//
//	func (a *apt) install(ctx context.Context, args pkg.InstallArgs) (map[string]pkg.Change, error)
//
//	var Apt = sync.OnceValue(func() *virtual.Backend {
//		b := virtual.Native("apt", newApt, // func(context.Context, virtual.Env) (*apt, error)
//			virtual.Func("install", (*apt).install),
//			virtual.Func("remove", (*apt).remove))
//		b.Watch, b.Doc = virtual.WatchFiles, "apt and dpkg."
//		b.When, b.Needs = virtual.Match{"os_family": {"Debian"}}, []string{"apt-get", "dpkg-query"}
//		return b
//	})
//
// Next to the interface stands the registration, which is done at the first question
// about the module:
//
//	func init() {
//		virtual.Register("pkg", func() (*virtual.Interface, []*virtual.Backend) {
//			return Interface(), []*virtual.Backend{Apt(), Dnf()}
//		})
//	}
//
// A backend in another package sets its Module and calls RegisterBackend. make docs
// brings the page of the modules up to date.
//
// Whatever a backend gives besides the declared keys of a record comes apart as
// extra: embed the declared struct with yaml:",inline" and add fields, or return a
// map. A missing thing is ErrNotFound, where the function declares a result for
// that. All that a backend does on the machine it does through Env.Host, so that
// recorded answers of its tools can test it; it keeps no state that a second process
// would miss. A type that has Close() error is closed with its Module. The test of
// this package named TestToy is a whole one.
//
// # How a kind is written
//
// A kind whose resources need a module is registered with RegisterKind, which
// refuses one without an interface. Its resource says which backend the user asked
// for (the metaparameter backend) and which functions it needs (Resource); its CheckMachine
// calls Kind.Check, so a backend that cannot work is an error when the graph is loaded;
// its Watch and CheckApply open the Module (Kind.Open), and its Watch asks Kind.Stale when
// Host.WatchFacts wakes. It calls the declared functions with their own types:
//
//	changes, result, err := pkg.Install.Call(ctx, module, pkg.InstallArgs{Pkgs: want})
//
// # Laws
//
//   - Every declared function, and every function of the backend whose name does not
//     begin with an underscore, can be called, and has one Status. It depends on the
//     interface, the backend's description and the facts alone.
//   - not_applicable is asked first, then the functions of the backend, then
//     supported. A backend with a function that is not applicable is a
//     contradiction: warned about when it is bound, and not called.
//   - A rule on facts matches if any of its facts has any of the listed values,
//     exactly: neither case nor type is converted. Rules that match for no known
//     fact, or only but for case, are warned about by Lint.
//   - A backend is called by name, with every parameter of the interface that it
//     knows. Absent arguments have the interface's default, so that no default of a
//     backend leaks.
//   - An argument that a backend does not know is refused if the caller gave it, and left out otherwise, or if it is the default.
//     If each call must give it each is refused, and who Needs the function. An argument that the backend knows and the interface
//     does not reaches it with a warning in each result, and in the log; through Args.Extra without one.
//   - An argument that reaches a backend only because it takes any name is in the warnings of each
//     result, and in the log. A Told has it there only once.
//   - The arguments of a function that is not applicable are checked as those of any other.
//   - A result is checked against the declared shape before a caller sees it:
//     strictly, or (Lax) with a warning. Keys that are not declared are Extra,
//     wherever in the result they are, and are never read by the engine.
//   - A secret argument is in no error and no warning of the call, however the backend
//     quotes it. Text that the interface declares as a secret is one, whatever a program gives.
//   - The stated results of a backend are compared when it is bound. A function whose results could
//     never pass can be called, but a resource that Needs it is not loaded.
//   - A function that is Alone gives the value of the one thing that a call is about, and a map for several; whatever of the two its
//     backend gives.
//   - A value that the module makes up (a default, an answer for not found) is a
//     fresh one at each call.
//   - A mismatch disables one function and no other. Binding twice is binding once.
//   - A warning about a deprecated function cannot be switched off: it is in the result of
//     each call, and in the log, where a Told has it there only once.
//   - The same input gives the same choice, the same interface (Generate) and the
//     same text, always.
//
// An Interface and a Backend are data; they are not altered once they are in a
// Catalog. A Module is safe for concurrent use if its backend is. Nothing here
// starts a goroutine but Kind.Aside, which waits for its end.
package virtual
