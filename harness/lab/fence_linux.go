package lab

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The lab's daemons trust every caller, so of this machine only root may reach
// them. A filter on each bridge drops the packets of other users, and packets
// that this machine forwards for others. It sits behind the choice of a route,
// since a user can choose a bridge without a route by binding a socket to it.
// Packets from node to node do not pass it. It goes with its bridge.

// addFence puts the filter on what this machine sends through a bridge.
func addFence(bridge netlink.Link) error {
	index, name := bridge.Attrs().Index, bridge.Attrs().Name
	program, err := loadFilter(onlyRoot())
	if err != nil {
		return fmt.Errorf("let only root reach bridge %s: load the filter: %w; the kernel must have the system call bpf", name, err)
	}
	defer func() { _ = unix.Close(program) }()
	hook := &netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: index,
		Handle:    netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT,
	}}
	if err := netlink.QdiscAdd(hook); err != nil {
		return fmt.Errorf("let only root reach bridge %s: %w; the kernel must have CONFIG_NET_SCH_INGRESS", name, err)
	}
	filter := &netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{LinkIndex: index, Parent: netlink.HANDLE_MIN_EGRESS, Handle: 1, Protocol: unix.ETH_P_ALL, Priority: 1},
		Fd:          program, Name: "heddle-only-root", DirectAction: true,
	}
	if err := netlink.FilterAdd(filter); err != nil {
		return fmt.Errorf("let only root reach bridge %s: %w; the kernel must have CONFIG_NET_CLS_BPF", name, err)
	}
	return nil
}

// instruction is one instruction of a BPF program, as the kernel reads it.
type instruction struct {
	code      uint8
	registers uint8 // the register to change, and above it, from bit 4, the register to read
	offset    int16
	value     int32
}

// onlyRoot returns the filter's program. It passes ARP, packets of root's
// sockets, and those of connections that are just beginning or ending, whose
// sockets have no user. It drops all others.
func onlyRoot() []instruction {
	const (
		load32       = unix.BPF_LDX | unix.BPF_MEM | unix.BPF_W
		load64       = unix.BPF_LDX | unix.BPF_MEM | unix.BPF_DW
		set          = unix.BPF_ALU64 | unix.BPF_MOV | unix.BPF_K
		move         = unix.BPF_ALU64 | unix.BPF_MOV | unix.BPF_X
		jumpIf       = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		call         = unix.BPF_JMP | unix.BPF_CALL
		exit         = unix.BPF_JMP | unix.BPF_EXIT
		protocol     = 16  // offset in struct __sk_buff, in the network's byte order
		socket       = 168 // likewise
		getSocketUID = 47  // number of the kernel's function bpf_get_socket_uid
		fullSocket   = 95  // of bpf_sk_fullsock
		drop         = 2   // TC_ACT_SHOT
	)
	arp := int32(binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ARP)))
	return []instruction{
		{move, 1<<4 | 6, 0, 0},          // r6 = the packet
		{load32, 6<<4 | 2, protocol, 0}, // r2 = its protocol
		{jumpIf, 2, 9, arp},             // ARP: pass
		{load64, 6<<4 | 1, socket, 0},   // r1 = its socket
		{jumpIf, 1, 5, 0},               // none, so it is forwarded: drop
		{call, 0, 0, fullSocket},        // r0 = the socket, or 0 if it has no user
		{jumpIf, 0, 5, 0},               // 0: pass
		{move, 6<<4 | 1, 0, 0},          // r1 = the packet
		{call, 0, 0, getSocketUID},      // r0 = the user
		{jumpIf, 0, 2, 0},               // root: pass
		{set, 0, 0, drop},
		{exit, 0, 0, 0},
		{set, 0, 0, 0}, // pass
		{exit, 0, 0, 0},
	}
}

// loadFilter has the kernel check a program for packets, and returns a file
// descriptor of it.
func loadFilter(program []instruction) (int, error) {
	license := []byte("GPL\x00")
	attr := struct { // the beginning of the kernel's union bpf_attr; the rest is zero
		kind, count      uint32
		program, license uint64
	}{
		kind: unix.BPF_PROG_TYPE_SCHED_CLS, count: uint32(len(program)),
		program: uint64(uintptr(unsafe.Pointer(&program[0]))), license: uint64(uintptr(unsafe.Pointer(&license[0]))),
	}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_LOAD, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	runtime.KeepAlive(program)
	runtime.KeepAlive(license)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}
