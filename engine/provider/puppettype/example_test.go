package puppettype_test

import (
	"fmt"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
)

func Example() {
	t, err := puppettype.Parse(`Variant[Pattern[/\A(0x)?\h{8}\Z/], Pattern[/\A(0x)?\h{16}\Z/]]`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.Check("apt_key.id", "0xdeadbeef"))
	fmt.Println(t.Check("apt_key.id", "beef"))
	fmt.Println(t.Lower())
	// Output:
	// <nil>
	// apt_key.id expects a match for Pattern[/\A(0x)?\h{8}\Z/, /\A(0x)?\h{16}\Z/], got 'beef'
	// text
}

func ExampleParse() {
	_, err := puppettype.Parse("Optional[Strin]")
	fmt.Println(err)
	// Output:
	// the type `Optional[Strin]` is not recognised: there is no type Strin (line: 1, column: 10; did you mean "String"?)
}

func ExampleType_CleanText() {
	fmt.Println(puppettype.MustParse("Integer[0, 100]").CleanText("k.a", "0x1f"))
	fmt.Println(puppettype.MustParse("Integer[0, 100]").CleanText("k.a", "101"))
	// Output:
	// 31 <nil>
	// 101 k.a expects an Integer[0, 100] value, got Integer[101, 101]
}
