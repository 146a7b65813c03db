package cumulus

// A Region is a place where the cloud has machines.
type Region string

// The regions.
const (
	North Region = "eu-north"
	South Region = "eu-south" // With the best weather.
	West  Region = "us-west"
)

// DefaultRegion is the one of an account without a choice.
const DefaultRegion = "eu-north"
