package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"google.golang.org/protobuf/proto"

	"heddle/collectors/hdfs/internal/hdfspb"
)

// Mkdir makes a folder and those above it that are missing. It leaves one that exists as it is.
func (c *Client) Mkdir(ctx context.Context, folder string, mode fs.FileMode) error {
	resp := &hdfspb.MkdirsResponse{}
	err := c.call(ctx, "mkdirs", &hdfspb.MkdirsRequest{
		Src: new(folder), Masked: permission(mode), CreateParent: new(true),
	}, resp)
	if err == nil && !resp.Result {
		err = errors.New("the NameNode did not make it")
	}
	if err != nil {
		return fmt.Errorf("make folder hdfs %s: %w", folder, err)
	}
	return nil
}

// Chmod changes the permission bits of a file or folder.
func (c *Client) Chmod(ctx context.Context, name string, mode fs.FileMode) error {
	return c.do(ctx, "setPermission", &hdfspb.SetPermissionRequest{Src: new(name), Permission: permission(mode)},
		"set permission of hdfs "+name)
}

// RemoveAll removes a file, or a folder with all in it; one that does not exist is no error.
func (c *Client) RemoveAll(ctx context.Context, name string) error {
	return c.do(ctx, "delete", &hdfspb.DeleteRequest{Src: new(name), Recursive: new(true)}, "remove hdfs "+name)
}

func permission(mode fs.FileMode) *hdfspb.FileStatus_Permission {
	return &hdfspb.FileStatus_Permission{Perm: uint32(mode.Perm())}
}

// A note is a small file whose content is an extended attribute of it. The NameNode
// keeps attributes itself, so notes can be written and read while all DataNodes are
// down, and each step is a call that a NameNode carries out once, however often it
// is sent: a failover in the middle loses nothing.

// noteAttr is the attribute with a note's content, in the namespace "user".
const noteAttr = "heddle"

// NoteMost is how many bytes a note has at most. A NameNode takes 16 KiB unless set
// otherwise.
const NoteMost = 8 << 10

// ErrNoNote means that the NameNode takes no attributes, or none as long.
var ErrNoNote = errors.New("the NameNode does not take the note")

// CreateNote makes a file with a short content. It fails with fs.ErrExist if the
// file exists, and with fs.ErrNotExist if its folder does not. A crash may leave the
// note empty.
func (c *Client) CreateNote(ctx context.Context, name string, content []byte, mode fs.FileMode) error {
	if err := c.createNote(ctx, name, content, mode); err != nil {
		return fmt.Errorf("write hdfs %s: %w", name, err)
	}
	return nil
}

func (c *Client) createNote(ctx context.Context, name string, content []byte, mode fs.FileMode) error {
	if len(content) > NoteMost {
		return ErrNoNote
	}
	writer := fmt.Sprintf("heddle-%x", c.clientID)
	made := &hdfspb.CreateResponse{}
	err := c.call(ctx, "create", &hdfspb.CreateRequest{
		Src: new(name), Masked: permission(mode), ClientName: new(writer),
		CreateFlag: proto.Uint32(1), CreateParent: new(false),
		Replication: proto.Uint32(3), BlockSize: proto.Uint64(128 << 20), // of blocks that it never has
	}, made)
	if err != nil {
		return err
	}
	if len(content) > 0 {
		err := c.call(ctx, "setXAttr", &hdfspb.SetXAttrRequest{
			Src: new(name), Flag: proto.Uint32(1),
			XAttr: &hdfspb.XAttr{Namespace: hdfspb.XAttr_USER.Enum(), Name: new(noteAttr), Value: content},
		}, &hdfspb.Empty{})
		if remote := (*RemoteError)(nil); errors.As(err, &remote) && !errors.Is(err, ErrUnavailable) {
			return errors.Join(fmt.Errorf("%w: %w", ErrNoNote, err), c.RemoveAll(ctx, name))
		}
		if err != nil {
			return err
		}
	}
	// A file without blocks is complete at once.
	return c.call(ctx, "complete", &hdfspb.CompleteRequest{
		Src: new(name), ClientName: new(writer), FileId: new(made.GetFs().GetFileId()),
	}, &hdfspb.CompleteResponse{})
}

// Note returns the content of a note. It is empty for a file without that attribute.
func (c *Client) Note(ctx context.Context, name string) ([]byte, error) {
	resp := &hdfspb.GetXAttrsResponse{}
	err := c.call(ctx, "getXAttrs", &hdfspb.GetXAttrsRequest{Src: new(name)}, resp)
	if remote := (*RemoteError)(nil); errors.As(err, &remote) && strings.Contains(remote.Message, "dfs.namenode.xattrs.enabled") {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read hdfs %s: %w", name, err)
	}
	for _, a := range resp.XAttrs {
		if a.GetNamespace() == hdfspb.XAttr_USER && a.GetName() == noteAttr {
			return a.Value, nil
		}
	}
	return nil, nil
}
