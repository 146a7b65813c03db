package resources

// The virtual modules, which register themselves in virtual.DefaultCatalog.
import (
	_ "github.com/reactivegraph/mgmt/resources/account"
	_ "github.com/reactivegraph/mgmt/resources/pkg"
	_ "github.com/reactivegraph/mgmt/resources/svc"
)
