// Package git has the types of a machine's repositories.
package git

import "github.com/reactivegraph/mgmt/idl"

// A Checkout is a folder with the files of one commit of a repository.
type Checkout struct {
	idl.Resource `lumi:"watch,list,refresh"`
	// The folder. It is made, and must not be there before.
	Path string `lumi:"replaces,minLen=1"`
	// The address of the repository, as git clone takes it.
	Repository string `lumi:"minLen=1"`
	// The branch, the tag or the commit. Changed files of it are put back.
	Revision string `lumi:"minLen=1"`
	// The commit whose files are there.
	Commit *string `lumi:"out"`
}
