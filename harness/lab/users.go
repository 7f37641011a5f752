package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// A shared lab goes down when the last process that uses it has ended. Who
// uses it is a file for each process in the lab's folder of users, beside the
// state folder, which a purge removes.

// Use notes that process pid uses the lab called name, so that DownWhenGone
// for another process leaves it up.
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

// DownWhenGone waits until process pid has ended and takes the lab down, unless
// another process uses it.
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
