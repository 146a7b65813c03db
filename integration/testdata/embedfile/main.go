// Command embedfile is the smallest program that embeds the engine with one kind, file. A test measures it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/file"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "embedfile PATH TEXT makes a file with the text")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(path, text string) error {
	graph := &gapi.Declared{Name: "embedded", Resources: []gapi.Declaration{
		static.Declare("file", path, &file.Res{Content: &text}),
	}}
	_, err := mgmt.Run(context.Background(), mgmt.Options{ConvergedExit: true}, static.New(graph))
	return err
}
