package provider

// ParseTitle is what a resource with this title and these values is called.
func (k *Kind) ParseTitle(title string, given Record) (Name, Record, error) {
	want := given.Clone()
	if want == nil {
		want = Record{}
	}
	if err := k.namevars(title, want); err != nil {
		return Name{}, want, err
	}
	return k.nameOf(want), want, nil
}
