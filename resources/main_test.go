package resources

import (
	"testing"

	_ "github.com/reactivegraph/mgmt/resources/account"
	_ "github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	_ "github.com/reactivegraph/mgmt/resources/pkg"
	_ "github.com/reactivegraph/mgmt/resources/svc"
)

func TestMain(m *testing.M) { kindtest.Main(m) }
