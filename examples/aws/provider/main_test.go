package main

import (
	"testing"

	"github.com/reactivegraph/mgmt/examples/aws/provider/ec2"
	"github.com/reactivegraph/mgmt/provider"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// TestGroup leads one group through its life, by bags as mgmt sends them.
func TestGroup(t *testing.T) {
	p := newProvider(t.TempDir())
	group := p.Resources[ec2.SecurityGroup]
	subject := protocol.Subject{Token: ec2.SecurityGroup, Name: "web", Key: "k1"}
	create := &protocol.CreateRequest{Subject: subject, Properties: provider.Bag{"groupDescription": "web", "vpc": "aws:ec2:vpc[office]"}}
	made, err := group.Create(t.Context(), create)
	if err != nil || made.ID == "" || made.Properties["groupID"] != made.ID {
		t.Fatalf("%+v %v", made, err)
	}
	if again, err := group.Create(t.Context(), create); err != nil || again.ID != made.ID {
		t.Errorf("the same key made %+v, %v", again, err)
	}
	list, err := group.(provider.BagLister).List(t.Context(), &protocol.ListRequest{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "web" {
		t.Errorf("%+v %v", list, err)
	}
	subject.ID = made.ID
	rules := []any{map[string]any{"ipProtocol": "tcp", "fromPort": 80.0}}
	wanted := provider.Bag{"groupDescription": "web", "securityGroupIngress": rules}
	if _, err := group.Update(t.Context(), &protocol.UpdateRequest{Subject: subject, Old: made.Properties, New: wanted}); err != nil {
		t.Fatal(err)
	}
	got, err := group.Get(t.Context(), &protocol.GetRequest{Subject: subject})
	if err != nil || !got.Found || got.Properties["vpc"] != nil || got.Properties["securityGroupIngress"] == nil {
		t.Errorf("%+v %v", got, err)
	}
	if err := group.Delete(t.Context(), &protocol.DeleteRequest{Subject: subject, Properties: got.Properties}); err != nil {
		t.Fatal(err)
	}
	if got, err := group.Get(t.Context(), &protocol.GetRequest{Subject: subject}); err != nil || got.Found {
		t.Errorf("%+v %v", got, err)
	}
}
