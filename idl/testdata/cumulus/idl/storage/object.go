package storage

import (
	"github.com/reactivegraph/mgmt/idl"
)

// An Object is one text or file of a bucket.
type Object struct {
	idl.Resource
	// The Key by which it is found.
	Key    string  `lumi:"key,replaces"`
	Bucket *Bucket `lumi:"bucket,replaces"`
	// What it has in it.
	Source *idl.Asset `lumi:"source,in"`
	// The type of the content, as MIME has it.
	ContentType *string `lumi:"contentType,optional,regex=^[a-z]+/[a-z0-9.+-]+$"`
	// Other things that come along.
	Attachments *map[string]*idl.Asset `lumi:"attachments,optional"`
	ETag        *string                `lumi:"etag,out"`
}
