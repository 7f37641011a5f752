package yarnclient

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// NewApp is an application id that the ResourceManager has reserved for a
// submission.
type NewApp struct {
	ID  string   `wire:"application-id" form:"application"`
	Max Resource `wire:"maximum-resource-capability"` // the largest container that the scheduler allocates
}

// Submission describes an application to start: its name and place among
// others, and the container of its ApplicationMaster.
type Submission struct {
	ID       string // id from NewApplication
	Name     string
	Type     string // such as MAPREDUCE; YARN uses YARN for an empty one
	Queue    string // leaf queue; empty means the queue called default
	Priority int
	// Tags are ASCII, at most 50 of at most 100 bytes each. YARN changes them to
	// lower case.
	Tags        []string
	MaxAttempts int // how often the ApplicationMaster is started at most; 0 means the cluster's limit
	// Label is the node label expression of the application's containers, AMLabel
	// that of its ApplicationMaster's container. Empty means the queue's default.
	Label, AMLabel string
	AM             Resource // size of the ApplicationMaster's container
	// Command starts the ApplicationMaster, Env is its environment, and Files are
	// the files that it finds in its working folder, by their names there.
	Command string
	Env     map[string]string
	Files   map[string]LocalFile
	// Secrets are the secret keys that the ApplicationMaster gets, by name.
	Secrets map[string][]byte
	// Tokens are the delegation tokens that the ApplicationMaster gets, by the
	// service that each is for, in the form of Hadoop's Token.encodeToUrlString.
	Tokens map[string]string
	// ViewACL and ModifyACL say who may view and change the application, as
	// Hadoop writes lists of users and groups; " " means only its owner.
	ViewACL, ModifyACL string
}

// LocalFile is a file in HDFS that NodeManagers copy to their node for an
// application.
type LocalFile struct {
	URL        string // such as hdfs://namenode:8020/path
	Type       string // FILE, ARCHIVE, or PATTERN for a jar of which a part is unpacked
	Visibility string // who shares a node's copy: PUBLIC (all users), PRIVATE (one user) or APPLICATION
	// Size in bytes and TimestampMs, the modification time, must be exactly
	// those of the file in HDFS: a NodeManager refuses a file that has changed.
	Size, TimestampMs int64
}

// NewApplication reserves an application id. An id that is never used costs
// nothing.
func (rm *RM) NewApplication(ctx context.Context) (NewApp, error) {
	r := request{method: http.MethodPost, path: "/ws/v1/cluster/apps/new-application", limit: smallBytes}
	return get[NewApp](ctx, rm.c, r, "NewApplication")
}

// Submit submits an application. It returns when the ResourceManager has the
// submission; the scheduler may refuse it a moment later, so watch its state
// with AppState. The ResourceManager refuses at once, with a *RemoteError of
// status 400, a container that is too large, a node label that the queue may
// not use, and tags that are too many or too long. It refuses an unknown queue
// and a user without access to the queue at once or later, by its scheduler
// and version: then the application's state is FAILED, and its diagnostics say
// why.
//
// A call that got no answer may be repeated: a ResourceManager that has an
// application of the same id starts no second one.
func (rm *RM) Submit(ctx context.Context, s Submission) error {
	body, err := json.Marshal(s.wire())
	if err != nil {
		return fmt.Errorf("yarn: submit %s: %w", s.ID, err)
	}
	_, err = rm.c.do(ctx, request{
		method: http.MethodPost, path: "/ws/v1/cluster/apps",
		bodyType: asJSON, body: string(body), secrets: s.secrets(),
	})
	return err
}

// secrets returns the tokens and keys as they are sent.
func (s Submission) secrets() []string {
	texts := slices.Collect(maps.Values(s.Tokens))
	for _, key := range s.Secrets {
		texts = append(texts, base64.RawURLEncoding.EncodeToString(key))
	}
	return texts
}

// wire returns the submission with the names and nesting of Hadoop's JSON. What is
// empty is left out.
func (s *Submission) wire() map[string]any {
	acls := map[string]string{"VIEW_APP": s.ViewACL, "MODIFY_APP": s.ModifyACL}
	maps.DeleteFunc(acls, func(_, list string) bool { return list == "" })
	am := map[string]any{"commands": map[string]any{"command": s.Command}}
	putMap(am, "local-resources", s.Files, func(f LocalFile) any {
		return map[string]any{"resource": f.URL, "type": f.Type, "visibility": f.Visibility, "size": f.Size, "timestamp": f.TimestampMs}
	})
	text := func(s string) any { return s }
	putMap(am, "environment", s.Env, text)
	putMap(am, "application-acls", acls, text)
	credentials := map[string]any{}
	putMap(credentials, "tokens", s.Tokens, text)
	putMap(credentials, "secrets", s.Secrets, func(key []byte) any { return base64.RawURLEncoding.EncodeToString(key) })
	if len(credentials) > 0 {
		am["credentials"] = credentials
	}
	w := map[string]any{
		"application-id": s.ID, "application-name": s.Name, "priority": s.Priority, "am-container-spec": am,
		"resource": map[string]any{"memory": s.AM.MemoryMB, "vCores": s.AM.VCores},
	}
	if len(s.Tags) > 0 {
		w["application-tags"] = map[string]any{"tag": s.Tags}
	}
	for key, value := range map[string]string{
		"queue": s.Queue, "application-type": s.Type, "app-node-label-expression": s.Label, "am-container-node-label-expression": s.AMLabel,
	} {
		if value != "" {
			w[key] = value
		}
	}
	if s.MaxAttempts > 0 {
		w["max-app-attempts"] = s.MaxAttempts
	}
	return w
}

// putMap sets a key to a map in the form in which Hadoop's JSON has them, with its
// entries in the order of their keys, unless it is empty.
func putMap[V any](to map[string]any, key string, m map[string]V, convert func(V) any) {
	var list []any
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, map[string]any{"key": name, "value": convert(m[name])})
	}
	if list != nil {
		to[key] = map[string]any{"entry": list}
	}
}
