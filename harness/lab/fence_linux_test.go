package lab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// TestFence connects to a node's port as root and as another user, who may
// leave the choice of the way to the kernel, or take a bridge of the lab.
func TestFence(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("makes network devices as root")
	}
	const name = "fencetest"
	network := must(freeNetwork(0, nil))
	c := Default()
	c.Name, c.Nodes, c.Racks, c.Link, c.Uplink = name, 1, 1, 0, 0
	l := &Lab{plan: newPlan(t.TempDir(), savedPlan{Cfg: c, Network: network})}
	mustDo(t, removeNetwork(name))
	t.Cleanup(func() {
		if err := removeNetwork(name); err != nil {
			t.Error(err)
		}
	})
	mustDo(t, l.buildNetwork())
	const port = 8088
	listenOn(t, l.namespace("r1n1"), port)
	const nobody = 65534
	for _, test := range []struct {
		what, device string
		user         int
		reaches      bool
	}{
		{"root", "", 0, true},
		{"root at the core's bridge", "core", 0, true},
		{"another user", "", nobody, false},
		{"another user at the core's bridge", "core", nobody, false},
		{"another user at the rack's bridge", "tor1", nobody, false},
		{"another user at the node's link", "r1n1", nobody, false},
		{"root after the others", "", 0, true},
	} {
		device := test.device
		if device != "" {
			device = l.device(device)
		}
		err := connect(test.user, device, netip.AddrPortFrom(l.workers()[0].ip, port))
		if reached := err == nil; reached != test.reaches {
			t.Errorf("%s reaches r1n1: %v (%v), want %v", test.what, reached, err, test.reaches)
		}
	}

	heard, send := forwarded(t, l)
	send()
	if heard() {
		t.Error("what this machine forwards reaches r1n1")
	}

	// Without the filter the same connections succeed, so it is the filter that
	// keeps them out.
	for _, what := range []string{"core", "tor1"} {
		dev := must(netlink.LinkByName(l.device(what)))
		hook := &netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{
			LinkIndex: dev.Attrs().Index, Handle: netlink.MakeHandle(0xffff, 0),
			Parent: netlink.HANDLE_CLSACT,
		}}
		mustDo(t, netlink.QdiscDel(hook))
	}
	for _, device := range []string{"", "core"} {
		if device != "" {
			device = l.device(device)
		}
		if err := connect(nobody, device, netip.AddrPortFrom(l.workers()[0].ip, port)); err != nil {
			t.Errorf("another user reaches r1n1 by device %q without the fence: %v", device, err)
		}
	}
	send()
	if !heard() {
		t.Error("what this machine forwards does not reach r1n1 without the fence")
	}
}

// forwarded makes a network beside the lab's, from which this machine forwards
// what is sent to the lab. The function send sends a datagram from there to r1n1,
// and heard waits a second for one.
func forwarded(t *testing.T, l *Lab) (heard func() bool, send func()) {
	t.Helper()
	const port = 9999
	to := netip.AddrPortFrom(l.workers()[0].ip, port).String()
	ns := must(newNamespace(l.namespace("outside")))
	defer ns.Close()
	pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: l.device("out")}, PeerName: "eth0", PeerNamespace: netlink.NsFd(ns)}
	address := func(text string) *netlink.Addr {
		a := must(netlink.ParseAddr(text))
		return a
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(netlink.LinkAdd(pair))
	must(netlink.LinkSetAlias(pair, alias(l.Name)))
	must(netlink.AddrAdd(pair, address("192.0.2.254/24")))
	must(netlink.LinkSetUp(pair))
	must(os.WriteFile("/proc/sys/net/ipv4/conf/"+pair.Name+"/forwarding", []byte("1"), 0))
	inside, err := netlink.NewHandleAt(ns)
	must(err)
	defer inside.Close()
	eth0, err := inside.LinkByName("eth0")
	must(err)
	must(inside.AddrAdd(eth0, address("192.0.2.1/24")))
	must(inside.LinkSetUp(eth0))
	must(inside.RouteAdd(&netlink.Route{LinkIndex: eth0.Attrs().Index, Gw: net.IPv4(192, 0, 2, 254)}))

	var listener net.PacketConn
	must(within(l.namespace("r1n1"), func() (err error) {
		for _, dev := range []string{"all", "eth0"} { // r1n1 has no route back
			if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+dev+"/rp_filter", []byte("0"), 0); err != nil {
				return err
			}
		}
		listener, err = net.ListenPacket("udp4", fmt.Sprintf(":%d", port))
		return err
	}))
	t.Cleanup(func() { listener.Close() })
	heard = func() bool {
		must(listener.SetReadDeadline(time.Now().Add(time.Second)))
		_, _, err := listener.ReadFrom(make([]byte, 1))
		return err == nil
	}
	send = func() {
		must(within(l.namespace("outside"), func() error {
			c, err := net.Dial("udp4", to)
			if err != nil {
				return err
			}
			defer c.Close()
			_, err = c.Write([]byte{1})
			return err
		}))
	}
	return heard, send
}

// within calls a function in a network namespace.
func within(namespace string, call func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never back: the thread stays in the namespace
		ns, err := netns.GetFromName(namespace)
		if err == nil {
			err = netns.Set(ns)
			ns.Close()
		}
		if err == nil {
			err = call()
		}
		done <- err
	}()
	return <-done
}

// connect opens a TCP connection as a user of this machine, on a device if one
// is given. It waits a second at most.
func connect(user int, device string, to netip.AddrPort) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never back: the thread has the user's rights
		done <- func() error {
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(user), uintptr(user), uintptr(user)); errno != 0 {
				return fmt.Errorf("become user %d: %w", user, errno)
			}
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			if device != "" {
				if err := unix.BindToDevice(fd, device); err != nil {
					return err
				}
			}
			err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
			if err != nil && !errors.Is(err, unix.EINPROGRESS) {
				return err
			}
			waits := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
			for until := time.Now().Add(time.Second); ; {
				n, err := unix.Poll(waits, int(max(0, time.Until(until)/time.Millisecond)))
				switch {
				case errors.Is(err, unix.EINTR):
					continue
				case err != nil:
					return err
				case n == 0:
					return unix.ETIMEDOUT
				}
				code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
				if err == nil && code != 0 {
					err = unix.Errno(code)
				}
				return err
			}
		}()
	}()
	return <-done
}

// listenOn accepts connections on a port of a network namespace.
func listenOn(t *testing.T, namespace string, port int) {
	t.Helper()
	var listener net.Listener
	mustDo(t, within(namespace, func() (err error) {
		listener, err = net.Listen("tcp4", fmt.Sprintf(":%d", port))
		return err
	}))
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				if !strings.Contains(err.Error(), "closed") {
					t.Error(err)
				}
				return
			}
			c.Close()
		}
	}()
}
