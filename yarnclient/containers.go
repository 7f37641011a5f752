package yarnclient

import (
	"context"
	"fmt"
	"net/url"
	"strings"
)

// AppAttempt is one attempt of an application, with the attempt's
// ApplicationMaster.
type AppAttempt struct {
	ID          string `wire:"appAttemptId" form:"appAttempt"`
	ContainerID string `wire:"containerId" form:"container"`
	NodeID      string `wire:"nodeId" form:"node"`
}

// Attempts lists an application's attempts, the latest one last.
func (rm *RM) Attempts(ctx context.Context, appID string) ([]AppAttempt, error) {
	return get[[]AppAttempt](ctx, rm.c, request{path: appPath(appID) + "/appattempts"}, "appAttempts", "appAttempt")
}

// Container is a running container of an application, as the ResourceManager
// describes it.
type Container struct {
	ID       string `wire:"containerId" form:"container"`
	NodeID   string `wire:"assignedNodeId" form:"node"`
	Priority int    `wire:"priority"` // priority of the request for this container; see PriorityMap
}

// Containers lists the running containers of an application attempt in no
// particular order, including the ApplicationMaster's.
func (rm *RM) Containers(ctx context.Context, attemptID string) ([]Container, error) {
	appID, err := appOfAttempt(attemptID)
	if err != nil {
		return nil, err
	}
	path := appPath(appID) + "/appattempts/" + url.PathEscape(attemptID) + "/containers"
	return get[[]Container](ctx, rm.c, request{path: path}, "containers", "container")
}

// appOfAttempt returns the id of an attempt's application: application_1_0002
// for appattempt_1_0002_000003.
func appOfAttempt(attemptID string) (string, error) {
	parts := strings.Split(attemptID, "_")
	if len(parts) != 4 || parts[0] != "appattempt" {
		return "", fmt.Errorf("yarn: %q: want an application attempt, appattempt_<cluster>_<number>_<attempt>", attemptID)
	}
	return "application_" + parts[1] + "_" + parts[2], nil
}
