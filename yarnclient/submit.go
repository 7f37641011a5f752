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
	var app NewApp
	r := request{method: http.MethodPost, path: "/ws/v1/cluster/apps/new-application", limit: smallBytes}
	err := rm.c.get(ctx, r, &app, "NewApplication")
	return app, err
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
	_, err = rm.c.do(ctx, request{method: http.MethodPost, path: "/ws/v1/cluster/apps", bodyType: asJSON, body: string(body), secrets: s.secrets()})
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

// mapWire is how Hadoop's JSON writes a map.
type mapWire[V any] struct {
	Entry []pairWire[V] `json:"entry,omitempty"`
}

type pairWire[V any] struct {
	Key   string `json:"key"`
	Value V      `json:"value"`
}

// sorted returns a map's entries in the order of its keys.
func sorted[V, W any](m map[string]V, convert func(V) W) *mapWire[W] {
	if len(m) == 0 {
		return nil
	}
	list := &mapWire[W]{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		list.Entry = append(list.Entry, pairWire[W]{key, convert(m[key])})
	}
	return list
}

func same[V any](v V) V { return v }

// submissionWire is a Submission with the names and nesting of Hadoop's JSON.
type submissionWire struct {
	ID          string        `json:"application-id"`
	Name        string        `json:"application-name"`
	Queue       string        `json:"queue,omitempty"`
	Priority    int           `json:"priority"`
	AM          containerWire `json:"am-container-spec"`
	MaxAttempts int           `json:"max-app-attempts,omitempty"`
	Resource    resourceWire  `json:"resource"`
	Type        string        `json:"application-type,omitempty"`
	Tags        *tagsWire     `json:"application-tags,omitempty"`
	Label       string        `json:"app-node-label-expression,omitempty"`
	AMLabel     string        `json:"am-container-node-label-expression,omitempty"`
}

type containerWire struct {
	Files       *mapWire[fileWire] `json:"local-resources,omitempty"`
	Env         *mapWire[string]   `json:"environment,omitempty"`
	Commands    commandsWire       `json:"commands"`
	Credentials *credentialsWire   `json:"credentials,omitempty"`
	ACLs        *mapWire[string]   `json:"application-acls,omitempty"`
}

type commandsWire struct {
	Command string `json:"command"`
}

type credentialsWire struct {
	Tokens  *mapWire[string] `json:"tokens,omitempty"`
	Secrets *mapWire[string] `json:"secrets,omitempty"`
}

type resourceWire struct {
	MemoryMB int64 `json:"memory"`
	VCores   int   `json:"vCores"`
}

type tagsWire struct {
	Tag []string `json:"tag"`
}

type fileWire struct {
	URL         string `json:"resource"`
	Type        string `json:"type"`
	Visibility  string `json:"visibility"`
	Size        int64  `json:"size"`
	TimestampMs int64  `json:"timestamp"`
}

func (s *Submission) wire() submissionWire {
	acls := map[string]string{}
	if s.ViewACL != "" {
		acls["VIEW_APP"] = s.ViewACL
	}
	if s.ModifyACL != "" {
		acls["MODIFY_APP"] = s.ModifyACL
	}
	w := submissionWire{
		ID: s.ID, Name: s.Name, Queue: s.Queue, Priority: s.Priority, MaxAttempts: s.MaxAttempts,
		Resource: resourceWire(s.AM), Type: s.Type, Label: s.Label, AMLabel: s.AMLabel,
		AM: containerWire{
			Files:    sorted(s.Files, func(f LocalFile) fileWire { return fileWire(f) }),
			Env:      sorted(s.Env, same),
			Commands: commandsWire{s.Command},
			ACLs:     sorted(acls, same),
		},
	}
	if len(s.Secrets)+len(s.Tokens) > 0 {
		w.AM.Credentials = &credentialsWire{sorted(s.Tokens, same), sorted(s.Secrets, base64.RawURLEncoding.EncodeToString)}
	}
	if len(s.Tags) > 0 {
		w.Tags = &tagsWire{s.Tags}
	}
	return w
}
