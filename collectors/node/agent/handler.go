package agent

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"heddle/collectors/node"
)

// Info is the agent's answer to GET /info: what it says about itself and its
// node.
type Info struct {
	Node    string `json:"node"`
	Version string `json:"version"`
	node.Facts
	StartedWallNs int64 `json:"startedWallNs"` // time at which the agent started, in Unix ns, by the node's clock
	IntervalMs    int64 `json:"intervalMs"`
	KeptSamples   int   `json:"keptSamples"` // maximum number of samples that the agent keeps
	DropCaches    bool  `json:"dropCaches"`  // whether the agent accepts requests to drop the page cache
	// NoDropCaches says why the agent does not accept such requests, and what to
	// do about it.
	NoDropCaches string `json:"noDropCaches,omitempty"`
	// Clock is the state of the node's clock. It is nil if the kernel does not
	// report that.
	Clock *node.Clock `json:"clock,omitempty"`
	// NowWallNs is the time on the node's clock when the answer was written, in
	// Unix ns. NowMonoNs is that time on the clock of the samples' MonoNs.
	NowWallNs int64 `json:"nowWallNs"`
	NowMonoNs int64 `json:"nowMonoNs"`
}

// Handler returns the HTTP handler for all URL paths of the agent.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /info", a.serveInfo)
	mux.HandleFunc("GET /samples", a.serveSamples)
	mux.Handle("GET /metrics", a.metrics())
	mux.HandleFunc("POST /drop-caches", a.serveDropCaches)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.authorised(r) {
			a.refusals.warn("requests without a valid token refused", "from", r.RemoteAddr)
			w.Header().Set("WWW-Authenticate", `Bearer realm="heddle agent"`)
			w.Header().Set("Connection", "close") // so that clients without the token do not use up the agent's maxConnections
			refuse(w, http.StatusUnauthorized, "send the agent's token as Authorization: Bearer TOKEN")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 1<<10) // requests to the agent need no body, so a limit of 1 KiB is enough
		mux.ServeHTTP(w, r)
	})
}

// tokenHashes are the hashes of the tokens that an agent accepts.
type tokenHashes [][sha256.Size]byte

func hashTokens(path string) (hashes tokenHashes, err error) {
	tokens, err := ReadTokens(path)
	for _, token := range tokens {
		hashes = append(hashes, sha256.Sum256([]byte(token)))
	}
	return hashes, err
}

// authorised reports whether a request has a valid token. It compares hashes in
// a time that does not depend on the tokens, so that no token can be guessed
// from the time.
func (a *Agent) authorised(r *http.Request) bool {
	scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if len(sent) > maxTokenBytes || !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	got, same := sha256.Sum256([]byte(sent)), 0
	for _, want := range a.tokens.get() {
		same |= subtle.ConstantTimeCompare(want[:], got[:])
	}
	return same == 1
}

func (a *Agent) serveInfo(w http.ResponseWriter, _ *http.Request) {
	info := Info{
		Node:          a.opts.Node,
		Version:       a.opts.Version,
		Facts:         a.facts,
		StartedWallNs: a.started.UnixNano(),
		IntervalMs:    a.opts.Interval.Milliseconds(),
		KeptSamples:   a.ring.size,
		DropCaches:    a.noDrops == "",
		NoDropCaches:  a.noDrops,
	}
	if clock, ok := node.ReadClock(); ok {
		info.Clock = &clock
	}
	info.NowWallNs, info.NowMonoNs = a.sampler.Now() // the last thing read: clients assume that request and answer take equally long
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

func (a *Agent) serveDropCaches(w http.ResponseWriter, _ *http.Request) {
	if a.noDrops != "" {
		refuse(w, http.StatusForbidden, "this agent may not drop caches: "+a.noDrops)
		return
	}
	if wait := a.drops.enter(); wait > 0 {
		seconds := int((wait + time.Second - 1) / time.Second)
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		refuse(w, http.StatusTooManyRequests, fmt.Sprintf("another request has just dropped caches; ask again in %d s", seconds))
		return
	}
	defer a.drops.leave()
	// Dropping the page cache may take minutes, since the kernel first writes
	// changed pages to a slow disk. So the answer may come late.
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

// dropLimiter lets one request at a time drop the page cache, and the next one
// only minDropInterval after its end. Dropping the cache burdens the whole
// node: it writes changed pages to disk and must read pages again later.
type dropLimiter struct {
	mu    sync.Mutex
	busy  bool
	ended time.Time // time at which the page cache was last dropped
}

const minDropInterval = 5 * time.Second

// enter asks for permission to drop the page cache. It returns 0 if the caller
// may do so now; the caller must then call leave at the end. Otherwise it
// returns how long the caller must wait before it asks again.
func (g *dropLimiter) enter() (wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy {
		return minDropInterval
	}
	if !g.ended.IsZero() {
		wait = minDropInterval - time.Since(g.ended)
	}
	g.busy = wait <= 0
	return max(wait, 0)
}

func (g *dropLimiter) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy, g.ended = false, time.Now()
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the error is ignored, since writing the answer fails only if the client has left
}

// refusal is the body of every answer of the agent with a status other than
// 200.
type refusal struct {
	Error string `json:"error"`
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(refusal{why})
}
