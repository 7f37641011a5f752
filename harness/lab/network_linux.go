package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"heddle/harness/internal/units"
)

// The lab's network is one Ethernet segment, 10.N.0.0/16. One bridge is the
// core, which connects the master and this machine. Each rack has a bridge
// too, as its switch. A pair of virtual devices joins each rack's bridge to
// the core: the uplink. Another pair joins each node's namespace to its
// bridge: the node's link. Rates are set at both ends of a pair, since a
// device limits only what it sends.

// buildNetwork makes the lab's bridges, network namespaces and links. None of
// them may exist yet.
func (l *Lab) buildNetwork() error {
	core, err := l.addBridge("core")
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(core, address(l.hostIP())); err != nil {
		return fmt.Errorf("give this machine %s on %s: %w", l.hostIP(), core.Name, err)
	}
	bridges := []*netlink.Bridge{core}
	for rack := 1; rack <= l.Cfg.Racks; rack++ {
		tor, err := l.addBridge(fmt.Sprintf("tor%d", rack))
		if err != nil {
			return err
		}
		bridges = append(bridges, tor)
		up, down := l.device(fmt.Sprintf("up%d", rack)), l.device(fmt.Sprintf("dn%d", rack))
		if err := l.addPair(up, down, -1, tor, core); err != nil {
			return err
		}
		if err := l.shapeUplink(rack, l.Cfg.Uplink); err != nil {
			return err
		}
	}
	for _, n := range l.nodes {
		if err := l.addNode(n, bridges[n.rack]); err != nil {
			return fmt.Errorf("make the network of %s: %w", n.name, err)
		}
		if n.rack > 0 {
			if err := l.shapeLink(n, l.Cfg.Link); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Lab) addBridge(what string) (*netlink.Bridge, error) {
	b := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: l.device(what), Alias: alias(l.Name)}}
	if err := netlink.LinkAdd(b); err != nil {
		return nil, fmt.Errorf("add bridge %s: %w", b.Name, err)
	}
	if err := errors.Join(netlink.LinkSetAlias(b, alias(l.Name)), addFence(b)); err != nil {
		return nil, err
	}
	return b, netlink.LinkSetUp(b)
}

// addPair makes a pair of virtual network devices that joins two bridges. If
// the second bridge, farBridge, is nil, the far end of the pair becomes eth0 in
// the namespace peerNS instead.
func (l *Lab) addPair(near, far string, peerNS netns.NsHandle, nearBridge, farBridge *netlink.Bridge) error {
	pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: near}, PeerName: far}
	if peerNS >= 0 {
		pair.PeerNamespace = netlink.NsFd(peerNS)
	}
	if err := netlink.LinkAdd(pair); err != nil {
		return fmt.Errorf("add link %s: %w", near, err)
	}
	if err := errors.Join(netlink.LinkSetAlias(pair, alias(l.Name)), netlink.LinkSetMaster(pair, nearBridge),
		netlink.LinkSetUp(pair)); err != nil {
		return fmt.Errorf("join link %s to %s: %w", near, nearBridge.Name, err)
	}
	if farBridge == nil {
		return nil
	}
	peer, err := netlink.LinkByName(far)
	if err != nil {
		return fmt.Errorf("find link %s: %w", far, err)
	}
	return errors.Join(netlink.LinkSetAlias(peer, alias(l.Name)), netlink.LinkSetMaster(peer, farBridge), netlink.LinkSetUp(peer))
}

// addNode makes a node's network namespace and links it to a bridge.
func (l *Lab) addNode(n node, bridge *netlink.Bridge) error {
	ns, err := newNamespace(l.namespace(n.name))
	if err != nil {
		return err
	}
	defer func() { _ = ns.Close() }()
	if err := l.addPair(l.device(n.name), "eth0", ns, bridge, nil); err != nil {
		return err
	}
	inside, err := netlink.NewHandleAt(ns)
	if err != nil {
		return err
	}
	defer inside.Close()
	for _, name := range []string{"lo", "eth0"} {
		dev, err := inside.LinkByName(name)
		if err != nil {
			return err
		}
		if name == "eth0" {
			if err := inside.AddrAdd(dev, address(n.ip)); err != nil {
				return err
			}
		}
		if err := inside.LinkSetUp(dev); err != nil {
			return err
		}
	}
	return nil
}

// newNamespace makes a named network namespace. The system call for this moves
// the calling thread into the namespace. So it runs in a new thread, which ends
// afterwards.
func newNamespace(name string) (ns netns.NsHandle, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		ns, err = netns.NewNamed(name)
	}()
	<-done
	if err != nil {
		return -1, fmt.Errorf("make network namespace %s: %w", name, err)
	}
	return ns, nil
}

// shapeLink sets the rate of a node's network link in both directions.
func (l *Lab) shapeLink(n node, rate units.Rate) error {
	near, err := netlink.LinkByName(l.device(n.name))
	if err != nil {
		return fmt.Errorf("find the link of %s: %w", n.name, err)
	}
	if err := shape(&netlink.Handle{}, near, rate); err != nil {
		return err
	}
	ns, err := netns.GetFromName(l.namespace(n.name))
	if err != nil {
		return fmt.Errorf("enter network namespace of %s: %w", n.name, err)
	}
	defer func() { _ = ns.Close() }()
	inside, err := netlink.NewHandleAt(ns)
	if err != nil {
		return err
	}
	defer inside.Close()
	far, err := inside.LinkByName("eth0")
	if err != nil {
		return fmt.Errorf("find the link of %s: %w", n.name, err)
	}
	return shape(inside, far, rate)
}

// shapeUplink sets the rate of a rack's link to the core in both directions.
func (l *Lab) shapeUplink(rack int, rate units.Rate) error {
	for _, end := range []string{"up", "dn"} {
		dev, err := netlink.LinkByName(l.device(fmt.Sprintf("%s%d", end, rack)))
		if err != nil {
			return fmt.Errorf("find the uplink of rack %d: %w", rack, err)
		}
		if err := shape(&netlink.Handle{}, dev, rate); err != nil {
			return err
		}
	}
	return nil
}

// shape limits the rate at which a network device sends, with a token bucket. A
// rate of 0 removes the limit. Fair queueing inside the bucket keeps heartbeats
// from waiting behind bulk data.
func shape(h *netlink.Handle, dev netlink.Link, rate units.Rate) error {
	root := netlink.QdiscAttrs{LinkIndex: dev.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}
	if rate == 0 {
		err := h.QdiscDel(&netlink.GenericQdisc{QdiscAttrs: root, QdiscType: "tbf"})
		if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("lift the rate of %s: %w", dev.Attrs().Name, err)
		}
		return nil
	}
	const burst = 128 << 10 // burst size in bytes, larger than the largest segment that a virtual Ethernet device sends
	bucket := &netlink.Tbf{
		QdiscAttrs: root,
		Rate:       uint64(rate),
		Limit:      uint32(int64(rate)/25 + burst), // the queue of waiting packets holds as many bytes as are sent in 40 ms, and one burst
		Buffer:     netlink.Xmittime(uint64(rate), burst),
	}
	inner := netlink.NewFqCodel(netlink.QdiscAttrs{
		LinkIndex: dev.Attrs().Index,
		Handle:    netlink.MakeHandle(10, 0), Parent: netlink.MakeHandle(1, 1),
	})
	if err := h.QdiscReplace(bucket); err != nil {
		return fmt.Errorf("set the rate of %s to %v: %w", dev.Attrs().Name, rate, err)
	}
	// Ignore the error ENOENT: then the kernel lacks fair queueing, and the lab
	// works without it too.
	if err := h.QdiscReplace(inner); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("set the queue of %s: %w", dev.Attrs().Name, err)
	}
	return nil
}

// removeNetwork deletes all network devices and namespaces of a lab. It finds
// the devices by alias and the namespaces by name, so the lab's configuration
// is not needed.
func removeNetwork(lab string) error {
	links, err := netlink.LinkList()
	if err != nil {
		return fmt.Errorf("list network devices: %w", err)
	}
	var errs []error
	for _, dev := range links {
		if dev.Attrs().Alias != alias(lab) {
			continue
		}
		// The device may be gone already: if one end of a device pair is
		// deleted, the kernel deletes the other end too.
		if err := netlink.LinkDel(dev); err != nil && !errors.Is(err, unix.ENODEV) {
			errs = append(errs, fmt.Errorf("delete %s: %w", dev.Attrs().Name, err))
		}
	}
	for _, name := range namespaces(lab) {
		// Remove the file of the namespace even if it is only a plain file,
		// with no namespace mounted on it: a killed Up may have left it.
		path := filepath.Join(namespaceFolder, name)
		for detach(path) == nil {
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("delete network namespace: %w", err))
		}
	}
	return errors.Join(errs...)
}

// namespaces returns the names of a lab's network namespaces.
func namespaces(lab string) []string {
	entries, _ := os.ReadDir(namespaceFolder)
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), namespacePrefix(lab)) {
			names = append(names, e.Name())
		}
	}
	return names
}

// freeNetwork picks an N for the network 10.N.0.0/16: one that no other lab has
// and that no route of this machine covers. The number given as the argument
// had is tried first, unless it is 0.
func freeNetwork(had int, taken []int) (int, error) {
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
	free := func(n int) bool {
		ours := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n), 0, 0}), 16)
		return !slices.Contains(taken, n) && !slices.ContainsFunc(used, ours.Overlaps)
	}
	if had >= firstNet && had <= lastNet && free(had) {
		return had, nil
	}
	for n := firstNet; n <= lastNet; n++ {
		if free(n) {
			return n, nil
		}
	}
	return 0, fmt.Errorf("no free network from 10.%d.0.0/16 to 10.%d.0.0/16: take another lab down with --purge", firstNet, lastNet)
}

func address(ip netip.Addr) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: ip.AsSlice(), Mask: net.CIDRMask(16, 32)}}
}
