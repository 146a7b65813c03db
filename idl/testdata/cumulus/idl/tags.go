package cumulus

// MaxTags is how many tags one thing may have.
const MaxTags = 50

// A Tag is a pair of words on a thing.
type Tag struct {
	Key   string `lumi:"minLen=1,maxLen=128"`
	Value string `lumi:"maxLen=256"`
}

// Labels are what every thing of an account has.
type Labels struct {
	// The tags of the thing.
	Tags *[]Tag `lumi:"optional,maxItems=50"`
	// Who answers for it.
	Owner *string `lumi:"optional,format=email"`
}
