//go:build linux

package hosts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// The hosts of a set and this machine share one bridge, with the network
// 10.N.0.0/24. This machine has the last address there.
const (
	firstNetwork = 200 // labs have 10.100.0.0/16 to 10.199.0.0/16
	lastNetwork  = 249
	firstAddress = 11
	ownAddress   = 254
	maxHosts     = 100
)

// id returns a short name for the hosts of a folder. Links and control groups
// have it in their names.
func id(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:3])
}

func linkPrefix(id string) string { return "hh" + id + "-" }

// bridge returns the name of the set's bridge.
func (h *Hosts) bridge() string { return linkPrefix(id(h.Dir)) + "br" }

// link returns the name of the link between the bridge and a host.
func (h *Hosts) link(name string) string {
	return fmt.Sprintf("%s%d", linkPrefix(id(h.Dir)), slices.Index(h.Names, name))
}

// addBridge gives the set a network and makes its bridge.
func (h *Hosts) addBridge(ctx context.Context) error {
	// Only one process at a time picks a network, so that no two pick the same.
	// This name of a socket is a lock that leaves nothing behind.
	var lock net.Listener
	err := poll(ctx, func() bool {
		var err error
		lock, err = net.Listen("unix", "@heddle-hosts")
		return err == nil
	})
	if err != nil {
		return fmt.Errorf("wait until no other hosts are brought up: %w", err)
	}
	defer lock.Close()
	if h.Network, err = freeNetwork(); err != nil {
		return err
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: h.bridge()}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("add bridge %s: %w", bridge.Name, err)
	}
	own := netip.AddrFrom4([4]byte{10, byte(h.Network), 0, ownAddress})
	if err := errors.Join(netlink.AddrAdd(bridge, address(own)), netlink.LinkSetUp(bridge)); err != nil {
		return fmt.Errorf("set up bridge %s: %w", bridge.Name, err)
	}
	return nil
}

// connect joins the network namespace of a process, which is a host's first, to
// the bridge.
func (h *Hosts) connect(name string, pid int) error {
	bridge, err := netlink.LinkByName(h.bridge())
	if err != nil {
		return fmt.Errorf("find bridge %s: %w", h.bridge(), err)
	}
	ns, err := netns.GetFromPid(pid)
	if err != nil {
		return err
	}
	defer func() { _ = ns.Close() }()
	pair := &netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: h.link(name), MasterIndex: bridge.Attrs().Index},
		PeerName:      "eth0",
		PeerNamespace: netlink.NsFd(ns),
	}
	if err := netlink.LinkAdd(pair); err != nil {
		return fmt.Errorf("add link %s: %w", pair.Name, err)
	}
	if err := netlink.LinkSetUp(pair); err != nil {
		return fmt.Errorf("set link %s up: %w", pair.Name, err)
	}
	inside, err := netlink.NewHandleAt(ns)
	if err != nil {
		return err
	}
	defer inside.Close()
	lo, err := inside.LinkByName("lo")
	if err != nil {
		return err
	}
	eth0, err := inside.LinkByName("eth0")
	if err != nil {
		return err
	}
	// The default route has no gateway, so nothing leaves the bridge. Programs
	// such as ansible take the route's device for the machine's main one.
	everywhere := &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}
	return errors.Join(
		inside.LinkSetUp(lo),
		inside.AddrAdd(eth0, address(h.Address(name))),
		inside.LinkSetUp(eth0),
		inside.RouteAdd(&netlink.Route{LinkIndex: eth0.Attrs().Index, Dst: everywhere, Scope: netlink.SCOPE_LINK}),
	)
}

// removeLinks deletes links. Their name is a pattern as for filepath.Match.
func removeLinks(name string) error {
	links, err := netlink.LinkList()
	if err != nil {
		return fmt.Errorf("list network devices: %w", err)
	}
	for _, link := range links {
		if ours, err := filepath.Match(name, link.Attrs().Name); err != nil || !ours {
			continue
		}
		// A link may be gone already, together with its other end.
		if err := netlink.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("delete %s: %w", link.Attrs().Name, err)
		}
	}
	return nil
}

// freeNetwork picks an N for the network 10.N.0.0/24 that no route of this
// machine covers.
func freeNetwork() (int, error) {
	routes, err := netlink.RouteList(nil, unix.AF_INET)
	if err != nil {
		return 0, fmt.Errorf("list routes: %w", err)
	}
	var used []netip.Prefix
	for _, r := range routes {
		if r.Dst == nil {
			continue
		}
		ones, _ := r.Dst.Mask.Size()
		if ip, ok := netip.AddrFromSlice(r.Dst.IP.To4()); ok && ones > 0 {
			used = append(used, netip.PrefixFrom(ip, ones))
		}
	}
	for n := firstNetwork; n <= lastNetwork; n++ {
		if ours := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n), 0, 0}), 24); !slices.ContainsFunc(used, ours.Overlaps) {
			return n, nil
		}
	}
	return 0, fmt.Errorf("no network from 10.%d.0.0/24 to 10.%d.0.0/24 is free: take other hosts down", firstNetwork, lastNetwork)
}

func address(ip netip.Addr) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: ip.AsSlice(), Mask: net.CIDRMask(24, 32)}}
}
