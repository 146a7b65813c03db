package machines

import "fmt"

// manyPackages are those that are one transaction.
func manyPackages() (names []string) {
	for i := range 20 {
		names = append(names, fmt.Sprintf("p%02d", i+1))
	}
	return names
}
