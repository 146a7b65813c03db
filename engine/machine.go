package engine

// Machine is what is known of a machine that a graph is to run on. It is a value: a graph can be judged for a machine
// that is not there.
type Machine struct {
	Facts map[string]any // by name, as Facts.Map gives them
	// Has reports whether a program is there; nil if none is. Callable by many goroutines.
	Has func(program string) bool
	// Unknown says that nothing is known of the machine: then no resource is asked.
	Unknown bool
}

// HasProgram reports whether a program is there.
func (m Machine) HasProgram(name string) bool { return m.Has != nil && m.Has(name) }

// MachineCheckedRes can tell whether a machine meets the needs of the resource, such as a backend that works there.
type MachineCheckedRes interface {
	Res
	// CheckMachine says everything that is wrong (errors.Join). It goes by the machine that it is given, and looks at no
	// other. It is called after a graph was built and before Init, on a valid resource that is not hidden.
	CheckMachine(Machine) error
}
