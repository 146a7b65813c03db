// Command mgmt-docker is mgmt with the kinds docker_container and docker_image.
package main

import (
	"github.com/reactivegraph/mgmt/cmd"

	_ "github.com/reactivegraph/mgmt/docker" // registers its kinds
)

func main() { cmd.Main() }
