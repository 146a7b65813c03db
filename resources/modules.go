package resources

// The modules and the kinds of other packages. They register themselves in virtual.DefaultCatalog and engine.DefaultRegistry.
import (
	_ "github.com/reactivegraph/mgmt/resources/account"
	_ "github.com/reactivegraph/mgmt/resources/basic"
	_ "github.com/reactivegraph/mgmt/resources/pkg"
	_ "github.com/reactivegraph/mgmt/resources/svc"
)
