package resources

import "github.com/reactivegraph/mgmt/resources/internal/atomicfile"

const (
	// fileManyMade is from how many new files a folder is read once for what killed
	// processes have left, instead of a look for each file.
	fileManyMade = 32
	// fileManyNames is from how many names in it a folder is not read for that.
	fileManyNames = 8192
)

// fileMade is what is known of a folder in which files are made.
type fileMade struct {
	files int // made since Begin
	known bool
	left  atomicfile.Temps
}

// noneLeft reports whether it is known that no killed process has left a temporary file
// for a file that is about to be made. It may be called on nil.
func (s *fileShared) noneLeft(dir atomicfile.Dir, name string) bool {
	if s == nil {
		return false
	}
	at := dir.Path("")
	s.mu.Lock()
	m := s.made[at]
	if m == nil {
		if s.made == nil {
			s.made = map[string]*fileMade{}
		}
		m = &fileMade{}
		s.made[at] = m
	}
	m.files++
	first, known := m.files == fileManyMade, m.known
	s.mu.Unlock()
	if first {
		return s.readLeft(m, dir) && !m.left.Of(name)
	}
	return known && !m.left.Of(name)
}

// readLeft reads the folder; meanwhile, and where that fails, each file is looked for.
func (s *fileShared) readLeft(m *fileMade, dir atomicfile.Dir) bool {
	left, err := dir.Temps(fileManyNames)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m.left, m.known = left, true
	return true
}
