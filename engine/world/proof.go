package world

// Proof is a lease of this host, and what it proves. The engine begins no run of a resource while the lease does not surely hold.
type Proof struct {
	Lease string `yaml:"lease"` // its ID; see World.Held
	Of    string `yaml:"of"`    // in words that fit behind "waits for a lease that proves"
}

// Proved is a struct that a resource sends, some of whose values are so only as long as a lease of this host holds. The engine begins no run without
// that lease of a resource that has received such a value, or one that was made of it.
type Proved interface {
	// SentProof returns the lease that proves the value of a key, and whether there has to be one.
	SentProof(key string) (Proof, bool)
}
