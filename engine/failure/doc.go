// Package failure has the errors of Watch and CheckApply that tell the engine what to do next. All other errors
// are tried again as the metaparameters of the resource say.
package failure
