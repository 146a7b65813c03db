package expr

// Member is a name that an expression may use at a place, with its type.
type Member struct {
	Name string
	Type Type
}

// Members returns the names that may follow a path of names, in order. An empty path has the names that an expression may begin with. The
// result is empty where the path is unknown, and where its type does not say what it has. It is called by an editor.
func (s *Scope) Members(path []string) []Member {
	at := s.names
	for _, name := range path {
		// A type that is no Object has no fields, and a missing name has none either.
		at = at[name].fields
	}
	all := make([]Member, 0, len(at))
	for _, name := range sortedKeys(at) {
		all = append(all, Member{name, at[name]})
	}
	return all
}
