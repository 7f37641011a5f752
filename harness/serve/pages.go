package serve

import (
	"bytes"
	"context"
	"sync"

	"heddle/harness/doc"
)

// mostKept is how many bytes of pages are kept in memory.
const mostKept = 64 << 20

// pages makes pages on demand, a few at a time, and keeps the last ones.
type pages struct {
	turns chan struct{} // has an element for each page that is being made
	mu    sync.Mutex
	kept  []keptPage // the latest last
}

type keptPage struct {
	// name says what the page is of, and state what that was like when the page was
	// made. Of each name, one page is kept.
	name, state string
	page        []byte
}

func newPages(atOnce int) *pages { return &pages{turns: make(chan struct{}, atOnce)} }

// get returns the page of a name in the given state. It makes the page if that is not
// kept. It returns an error if ctx ends before.
func (p *pages) get(ctx context.Context, name, state string, document func(context.Context) (doc.Doc, error)) ([]byte, error) {
	if page := p.find(name, state); page != nil {
		return page, nil
	}
	select {
	case p.turns <- struct{}{}:
		defer func() { <-p.turns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if page := p.find(name, state); page != nil { // another request was faster
		return page, nil
	}
	d, err := document(ctx)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := doc.WritePage(&out, d); err != nil {
		return nil, err
	}
	p.keep(keptPage{name, state, out.Bytes()})
	return out.Bytes(), nil
}

func (p *pages) find(name, state string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.kept {
		if k.name == name && k.state == state {
			return k.page
		}
	}
	return nil
}

func (p *pages) keep(k keptPage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list, bytes := []keptPage{k}, len(k.page)
	for i := len(p.kept) - 1; i >= 0; i-- {
		old := p.kept[i]
		if bytes += len(old.page); old.name == k.name || bytes > mostKept {
			bytes -= len(old.page)
			continue
		}
		list = append([]keptPage{old}, list...)
	}
	p.kept = list
}
