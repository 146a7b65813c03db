package render

import (
	"strings"
)

// Product is what the program is called if nothing else is known.
// It is also the word in all texts of the source, which cli.Rename replaces.
const Product = "mgmt"

// Called returns a text that calls the program by its name.
// The word is replaced only where blanks or a new line surround it: /etc/mgmt and mgmt.yaml stay.
func Called(name, text string) string {
	if name == Product {
		return text
	}
	// The new line in front lets the first word of a text count, too.
	return strings.NewReplacer(" mgmt ", " "+name+" ", "\nmgmt ", "\n"+name+" ").Replace("\n" + text)[1:]
}
