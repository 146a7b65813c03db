package main

import (
	"fmt"
	"net/netip"
	"strings"
)

// securityGroup has the properties of a group.
type securityGroup struct {
	Name                 *string
	GroupDescription     string
	VPC                  *string
	SecurityGroupEgress  []rule
	SecurityGroupIngress []rule
	GroupID              string
}

// rule is one rule of a group.
type rule struct {
	IPProtocol string
	CIDRIP     *string
	FromPort   *float64
	ToPort     *float64
}

// vpc has the properties of a network.
type vpc struct {
	Name      *string
	CIDRBlock string
	VPCID     string
}

// readGroup reads a bag. Outputs are faults where strict.
func readGroup(props map[string]any, pending []string, strict bool) (*securityGroup, []fault) {
	r := &reader{props: props, pending: pending}
	g := &securityGroup{Name: r.optionalText("name"), GroupDescription: r.text("groupDescription"), VPC: r.optionalText("vpc")}
	if g.VPC != nil && (!strings.HasPrefix(*g.VPC, "aws:ec2:vpc[") || !strings.HasSuffix(*g.VPC, "]")) {
		r.bad("vpc", "it must be a reference to an aws:ec2:vpc")
	}
	g.SecurityGroupEgress = readRules(r, "securityGroupEgress")
	g.SecurityGroupIngress = readRules(r, "securityGroupIngress")
	if strict {
		r.output("groupID")
	} else if id := r.optionalText("groupID"); id != nil {
		g.GroupID = *id
	}
	return g, r.end()
}

// readRules reads a list of rules. Each fault has the place of its rule.
func readRules(r *reader, key string) []rule {
	v, ok := r.value(key, false)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		r.bad(key, "it must be a list")
		return nil
	}
	out := make([]rule, len(list))
	for i, e := range list {
		props, ok := e.(map[string]any)
		if !ok {
			r.bad(fmt.Sprintf("%s[%d]", key, i), "it must be a map")
			continue
		}
		inner := &reader{props: props, path: r.at(fmt.Sprintf("%s[%d]", key, i)), pending: r.pending}
		out[i] = rule{
			IPProtocol: inner.text("ipProtocol"), CIDRIP: inner.optionalText("cidrip"),
			FromPort: inner.optionalNumber("fromPort"), ToPort: inner.optionalNumber("toPort"),
		}
		r.faults = append(r.faults, inner.end()...)
	}
	return out
}

// bag returns the properties for mgmt.
func (g *securityGroup) bag() map[string]any {
	out := map[string]any{"groupDescription": g.GroupDescription, "groupID": g.GroupID}
	if g.Name != nil {
		out["name"] = *g.Name
	}
	if g.VPC != nil {
		out["vpc"] = *g.VPC
	}
	if g.SecurityGroupEgress != nil {
		out["securityGroupEgress"] = bags(g.SecurityGroupEgress)
	}
	if g.SecurityGroupIngress != nil {
		out["securityGroupIngress"] = bags(g.SecurityGroupIngress)
	}
	return out
}

// bags returns rules for mgmt. A property that is absent has no key, since mgmt compares the keys.
func bags(rules []rule) []any {
	out := make([]any, len(rules))
	for i, r := range rules {
		one := map[string]any{"ipProtocol": r.IPProtocol}
		if r.CIDRIP != nil {
			one["cidrip"] = *r.CIDRIP
		}
		if r.FromPort != nil {
			one["fromPort"] = *r.FromPort
		}
		if r.ToPort != nil {
			one["toPort"] = *r.ToPort
		}
		out[i] = one
	}
	return out
}

// readVPC reads a bag. Outputs are faults where strict.
func readVPC(props map[string]any, pending []string, strict bool) (*vpc, []fault) {
	r := &reader{props: props, pending: pending}
	v := &vpc{Name: r.optionalText("name"), CIDRBlock: r.text("cidrBlock")}
	if v.CIDRBlock != "" {
		if _, err := netip.ParsePrefix(v.CIDRBlock); err != nil {
			r.bad("cidrBlock", "it must be a network, such as 10.0.0.0/16")
		}
	}
	if strict {
		r.output("vpcID")
	} else if id := r.optionalText("vpcID"); id != nil {
		v.VPCID = *id
	}
	return v, r.end()
}

// bag returns the properties for mgmt.
func (v *vpc) bag() map[string]any {
	out := map[string]any{"cidrBlock": v.CIDRBlock, "vpcID": v.VPCID}
	if v.Name != nil {
		out["name"] = *v.Name
	}
	return out
}

// groups serves security groups.
type groups struct{ file *file[securityGroup] }

// check finds the faults of inputs. It looks at nothing outside.
func (k *groups) check(props map[string]any, pending []string) []fault {
	_, faults := readGroup(props, pending, true)
	return faults
}

// create makes a group. The same key gives the same ID, so a group is never there twice.
func (k *groups) create(r *request) (*made, error) {
	g, faults := readGroup(r.Properties, nil, true)
	if len(faults) > 0 {
		return nil, fail("invalid", "%s: %s", faults[0].Path, faults[0].Message)
	}
	g.GroupID = k.file.id(r)
	if err := k.file.put(g.GroupID, r, g); err != nil {
		return nil, err
	}
	return &made{g.GroupID, g.bag()}, nil
}

// get finds a group by its ID, by its key, or by its name.
func (k *groups) get(r *request) (*found, error) {
	id, g, err := k.file.find(r)
	if err != nil || g == nil {
		return &found{}, err
	}
	return &found{true, id, g.bag()}, nil
}

// update gives a group other properties. Its ID stays.
func (k *groups) update(r *request) (*made, error) {
	g, faults := readGroup(r.New, nil, true)
	if len(faults) > 0 {
		return nil, fail("invalid", "%s: %s", faults[0].Path, faults[0].Message)
	}
	g.GroupID = r.ID
	return &made{Properties: g.bag()}, k.file.put(r.ID, r, g)
}

// delete removes a group, if it is there.
func (k *groups) delete(r *request) error { return k.file.drop(r.ID) }

// list returns all groups, in the order of their IDs.
func (k *groups) list() ([]item, error) {
	return k.file.list(func(g *securityGroup) map[string]any { return g.bag() })
}

// networks serves networks.
type networks struct{ file *file[vpc] }

// check finds the faults of inputs. It looks at nothing outside.
func (k *networks) check(props map[string]any, pending []string) []fault {
	_, faults := readVPC(props, pending, true)
	return faults
}

// create makes a network. The same key gives the same ID.
func (k *networks) create(r *request) (*made, error) {
	v, faults := readVPC(r.Properties, nil, true)
	if len(faults) > 0 {
		return nil, fail("invalid", "%s: %s", faults[0].Path, faults[0].Message)
	}
	v.VPCID = k.file.id(r)
	if err := k.file.put(v.VPCID, r, v); err != nil {
		return nil, err
	}
	return &made{v.VPCID, v.bag()}, nil
}

// get finds a network by its ID, by its key, or by its name.
func (k *networks) get(r *request) (*found, error) {
	id, v, err := k.file.find(r)
	if err != nil || v == nil {
		return &found{}, err
	}
	return &found{true, id, v.bag()}, nil
}

// update gives a network other properties. Its ID stays.
func (k *networks) update(r *request) (*made, error) {
	v, faults := readVPC(r.New, nil, true)
	if len(faults) > 0 {
		return nil, fail("invalid", "%s: %s", faults[0].Path, faults[0].Message)
	}
	v.VPCID = r.ID
	return &made{Properties: v.bag()}, k.file.put(r.ID, r, v)
}

// delete removes a network, if it is there.
func (k *networks) delete(r *request) error { return k.file.drop(r.ID) }

// list returns all networks, in the order of their IDs.
func (k *networks) list() ([]item, error) {
	return k.file.list(func(v *vpc) map[string]any { return v.bag() })
}
