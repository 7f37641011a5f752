package agent

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"heddle/collectors/node"
)

// Info is what an agent says about itself and its node.
type Info struct {
	Node    string `json:"node"`
	Version string `json:"version"`
	node.Facts
	StartedWallNs int64 `json:"startedWallNs"` // Unix ns, the node's clock
	IntervalMs    int64 `json:"intervalMs"`
	KeptSamples   int   `json:"keptSamples"` // how many the agent keeps at most
	DropCaches    bool  `json:"dropCaches"`  // whether the agent allows it
	// Clock is nil where the kernel does not say.
	Clock *node.Clock `json:"clock,omitempty"`
	// NowWallNs is the node's clock as the answer was written.
	NowWallNs int64 `json:"nowWallNs"`
}

// Handler answers the agent's paths. Serve uses it; so may a test.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /info", a.serveInfo)
	mux.HandleFunc("GET /samples", a.serveSamples)
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.registry(), promhttp.HandlerOpts{
		MaxRequestsInFlight: 4,
	}))
	mux.HandleFunc("POST /drop-caches", a.serveDropCaches)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.authorised(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="heddle agent"`)
			refuse(w, http.StatusUnauthorized, "send the agent's token as Authorization: Bearer TOKEN")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 1<<10) // no path reads one
		mux.ServeHTTP(w, r)
	})
}

// authorised compares hashes, which takes as long whatever was sent.
func (a *Agent) authorised(r *http.Request) bool {
	scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	want, got := sha256.Sum256(a.token), sha256.Sum256([]byte(sent))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

func (a *Agent) serveInfo(w http.ResponseWriter, _ *http.Request) {
	info := Info{
		Node:          a.opts.Node,
		Version:       a.opts.Version,
		Facts:         a.facts,
		StartedWallNs: a.started.UnixNano(),
		IntervalMs:    a.opts.Interval.Milliseconds(),
		KeptSamples:   a.ring.size,
		DropCaches:    a.opts.AllowDropCaches,
	}
	if clock, ok := node.ReadClock(); ok {
		info.Clock = &clock
	}
	info.NowWallNs = time.Now().UnixNano() // last: the client halves the rest
	answer(w, info)
}

func (a *Agent) serveSamples(w http.ResponseWriter, r *http.Request) {
	page, err := a.ring.since(Cursor(r.URL.Query().Get("since")), maxPage)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	answer(w, page)
}

func (a *Agent) serveDropCaches(w http.ResponseWriter, r *http.Request) {
	if !a.opts.AllowDropCaches {
		refuse(w, http.StatusForbidden, "this agent may not drop caches; start it with --allow-drop-caches")
		return
	}
	select {
	case a.drop <- struct{}{}: // one at a time
		defer func() { <-a.drop }()
	case <-r.Context().Done():
		return
	}
	// Writing out dirty pages can take long on a slow disk.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(5 * time.Minute))
	dropped, err := a.sampler.DropCaches()
	if err != nil {
		a.log.Error("drop caches", "error", err)
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	a.log.Info("dropped caches", "scope", dropped.Scope, "how", dropped.How,
		"beforeBytes", dropped.BeforeBytes, "afterBytes", dropped.AfterBytes)
	answer(w, dropped)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // fails only when the client has gone
}

// refusal is the body of every answer but 200 that a handler here gives.
type refusal struct {
	Error string `json:"error"`
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(refusal{why})
}
