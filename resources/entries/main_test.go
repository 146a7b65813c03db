package entries

import (
	"testing"

	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func TestMain(m *testing.M) { kindtest.Main(m) }
