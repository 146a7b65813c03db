package provider

type Dispatch struct {
	Attribute string
	To        map[string]string
	Options   string
}
