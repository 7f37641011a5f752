package traceplan

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"heddle/traces"
)

// fill gives a job of the plan its tasks, scaled. Bytes of all tasks together
// are scaled and then divided among the tasks, so that no byte is lost by
// rounding.
func (p *planner) fill(j *Job, maps, reduces []task) error {
	input, err := p.scaled(maps, (*task).input)
	if err != nil {
		return err
	}
	fetched, err := p.shuffled(maps, reduces)
	if err != nil {
		return err
	}
	emitted, err := p.emitted(maps, fetched)
	if err != nil {
		return err
	}
	cpu, err := p.scaled(maps, func(t *task) int64 { return t.cpuMs })
	if err != nil {
		return err
	}
	j.Maps = make([]Map, len(maps))
	end := int64(0) // where the last part of the job's own file ends, for a job without paths
	for i := range j.Maps {
		m, t := &j.Maps[i], &maps[i]
		*m = Map{LengthBytes: input[i], EmitBytes: emitted[i], CPUMs: cpu[i]}
		if m.LengthBytes < LineBytes {
			j.Floors.Maps++
			j.Floors.InputBytes += LineBytes - m.LengthBytes
			m.LengthBytes = LineBytes
		}
		if m.File = p.file(t.path, j.ID); t.path == "" {
			m.OffsetBytes = end
			end += m.LengthBytes
		} else {
			m.OffsetBytes = int64(math.Min(float64(t.offset)*p.o.Scale, maxInputBytes))
		}
		f := &p.Files[m.File]
		if f.Bytes = max(f.Bytes, m.OffsetBytes+m.LengthBytes); f.Bytes > maxInputBytes {
			return fmt.Errorf("its input file ends after %d TiB; a smaller scale makes it less", int64(maxInputBytes)>>40)
		}
	}
	if err := p.fillReduces(j, reduces, fetched); err != nil {
		return err
	}
	if unknown := func(t task) bool { return t.cpuMs == 0 }; all(maps, unknown) && all(reduces, unknown) {
		p.compute(j)
	}
	if b := j.Recorded.Bytes; b.Input == 0 && b.Shuffle == 0 && b.Output == 0 {
		p.unfed++
	}
	return nil
}

func all(list []task, is func(task) bool) bool {
	return !slices.ContainsFunc(list, func(t task) bool { return !is(t) })
}

// emitted returns what each map is asked to emit, of a job whose reduces fetch
// the given bytes. The map output of a job is what its reduces fetch, since that
// is what is sent. It is divided by what each
// map put out before a combiner and compression: no more is known of a single
// map. In a job without reduces, it is what each map wrote.
func (p *planner) emitted(maps []task, fetched []int64) ([]int64, error) {
	if len(fetched) == 0 {
		return p.scaled(maps, func(t *task) int64 { return t.written })
	}
	weights := make([]int64, len(maps))
	for i := range maps {
		weights[i] = maps[i].put
	}
	if total(weights) == 0 {
		for i := range maps {
			weights[i] = maps[i].input()
		}
	}
	return apportion(total(fetched), weights), nil
}

// shuffled returns what each reduce is asked to fetch. If the trace has nothing
// of that, the reduces divide what maps put out.
func (p *planner) shuffled(maps, reduces []task) ([]int64, error) {
	if len(maps) == 0 { // nobody emits what they would fetch
		return make([]int64, len(reduces)), nil
	}
	if !all(reduces, func(t task) bool { return t.fetched == 0 }) {
		return p.scaled(reduces, func(t *task) int64 { return t.fetched })
	}
	put, err := p.scaled(maps, func(t *task) int64 { return t.put })
	return apportion(total(put), make([]int64, len(reduces))), err
}

func (p *planner) fillReduces(j *Job, reduces []task, fetched []int64) error {
	written, err := p.scaled(reduces, func(t *task) int64 { return t.written })
	if err != nil {
		return err
	}
	cpu, err := p.scaled(reduces, func(t *task) int64 { return t.cpuMs })
	if err != nil {
		return err
	}
	for i := range reduces {
		j.Reduces = append(j.Reduces, Reduce{ShuffleBytes: fetched[i], OutputBytes: written[i], CPUMs: cpu[i]})
	}
	return nil
}

// compute gives the tasks of a job CPU times by what they take in, because the
// trace has no CPU time of any of them.
func (p *planner) compute(j *Job) {
	p.without++
	for i := range j.Maps {
		j.Maps[i].CPUMs = p.cpuMs(j.Maps[i].LengthBytes)
	}
	for i := range j.Reduces {
		j.Reduces[i].CPUMs = p.cpuMs(j.Reduces[i].ShuffleBytes)
	}
}

func (p *planner) cpuMs(bytes int64) int64 {
	return int64(math.Round(p.o.CPUMsPerMiB * float64(bytes) / (1 << 20)))
}

// scaled returns a value of each task, such as its output bytes, times the
// scale.
func (p *planner) scaled(list []task, value func(*task) int64) ([]int64, error) {
	weights := make([]int64, len(list))
	sum := 0.0
	for i := range list {
		weights[i] = value(&list[i])
		sum += float64(weights[i])
	}
	if sum > maxInputBytes*1024 || sum*p.o.Scale > maxInputBytes {
		return nil, fmt.Errorf("%.3g bytes are over the limit of %d TiB; a smaller scale makes it less", sum*p.o.Scale,
			int64(maxInputBytes)>>40)
	}
	if p.o.Scale == 1 {
		return weights, nil
	}
	return apportion(int64(math.Round(float64(total(weights))*p.o.Scale)), weights), nil
}

// apportion divides amount into parts in proportion to the weights; if all
// weights are 0, into equal ones. Parts are rounded down. What is left goes, one
// by one, to the parts that rounding shortened most, the first ones among equals.
// So the sum of the parts is the amount. There must be at least one weight if
// the amount is not 0. No number may be negative, nor the sum of the weights
// above the greatest int64.
func apportion(amount int64, weights []int64) []int64 {
	parts := make([]int64, len(weights))
	if amount == 0 || len(weights) == 0 {
		return parts
	}
	whole := uint64(total(weights))
	even := whole == 0
	if even {
		whole = uint64(len(weights))
	}
	rests, left := make([]uint64, len(weights)), amount
	for i, w := range weights {
		if even {
			w = 1
		}
		high, low := bits.Mul64(uint64(amount), uint64(w))
		part, rest := bits.Div64(high, low, whole)
		parts[i], rests[i] = int64(part), rest
		left -= parts[i]
	}
	for _, i := range greatest(rests, int(left)) {
		parts[i]++
	}
	return parts
}

func total(list []int64) int64 {
	sum := int64(0)
	for _, n := range list {
		sum = traces.AddCount(sum, n)
	}
	return sum
}

// greatest returns the indexes of the n greatest numbers of a list, the first
// ones among equals.
func greatest(list []uint64, n int) []int {
	if n == 0 {
		return nil
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[b], list[a]) })
	return order[:n]
}
