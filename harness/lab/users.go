package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Several processes may share a lab. The lab goes down when the last of them
// has ended. Each process has a file named after its process id in the lab's
// users folder. The users folder is beside the state folder, so that a purge
// does not remove it.

// Use records that process pid uses the lab, so that DownWhenGone for another
// process leaves the lab up.
func Use(name string, pid int) error {
	users, err := usersFolder(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(users, 0o755); err != nil {
		return fmt.Errorf("note a user of lab %s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(users, strconv.Itoa(pid)), nil, 0o644)
}

// DownWhenGone waits until process pid has ended. Then it takes the lab down,
// unless another process still uses the lab.
func DownWhenGone(ctx context.Context, name string, pid int, purge bool) error {
	if err := waitGone(ctx, pid); err != nil {
		return fmt.Errorf("wait for process %d: %w", pid, err)
	}
	users, err := usersFolder(name)
	if err != nil {
		return err
	}
	os.Remove(filepath.Join(users, strconv.Itoa(pid)))
	others, _ := os.ReadDir(users)
	for _, other := range others {
		id, err := strconv.Atoi(other.Name())
		if err == nil && unix.Kill(id, 0) == nil {
			return nil
		}
		os.Remove(filepath.Join(users, other.Name()))
	}
	os.Remove(users)
	return Down(ctx, name, purge)
}

func usersFolder(name string) (string, error) {
	root, err := stateFolder(name)
	return filepath.Join(filepath.Dir(root), "."+name+".users"), err
}
