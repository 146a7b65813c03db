package vault

import (
	"errors"
	"fmt"
	"slices"

	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/seal"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// RecipientsKey is the key of a file of secrets that lists to whom the values are encrypted. The cipher text does not
// say it, so edit and rekey could not know it else.
const RecipientsKey = "recipients"

// RecipientsOf returns the list of a file, sorted and without doubles, so that lists can be compared. Each recipient is tried
// with an empty text: a mistyped one is found before a value is encrypted to the others alone. All faults of the file come at once.
func RecipientsOf(path string, src []byte) (list []string, err error) {
	n, ds := yaml.Document(path, src)
	if ds.Err() != nil {
		return nil, ds
	}
	at := n.Get(RecipientsKey)
	if at == nil {
		return nil, nil
	}
	if at.Kind != schema.NodeList {
		return nil, fmt.Errorf("%s: %s is a list of recipients of age, such as [age1...]", at.Pos, RecipientsKey)
	}
	for _, item := range at.Items {
		if _, err := seal.Seal([]string{item.Text}, ""); err != nil {
			ds = append(ds, schema.Diagnostic{Pos: item.Pos, Message: err.Error()})
		}
		list = append(list, item.Text)
	}
	slices.Sort(list)
	return slices.Compact(list), ds.Err()
}

// InFile puts the name of a file into findings, which MapTexts does not know. Another error stays as it is.
func InFile(path string, err error) error {
	ds, ok := errors.AsType[schema.Diagnostics](err)
	if !ok {
		return err
	}
	for i := range ds {
		ds[i].Pos.File = path
	}
	return ds
}

// IdentityOf returns a function that decrypts sealed texts, and returns other texts as they are. It reads the identity
// for its first sealed text, since a new file has none. A failed reading is tried again at the next text.
func IdentityOf(path string) func(string) (string, error) {
	load := trust.KeepGood(func() (seal.Identity, error) {
		if path == "" {
			return seal.Identity{}, errors.New("an encrypted value needs an identity: name its file with --identity")
		}
		return trust.LoadIdentity(path)
	})
	return func(text string) (string, error) {
		if !seal.Is(text) {
			return text, nil
		}
		id, err := load()
		if err != nil {
			return "", err
		}
		return id.Unseal(text)
	}
}
