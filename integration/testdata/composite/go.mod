module example.com/composite

go 1.26.0

require github.com/reactivegraph/mgmt v0.0.0

replace github.com/reactivegraph/mgmt => ../../..
