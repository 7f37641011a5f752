package synthetic

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawSpec draws a Spec with few tasks of few bytes.
func drawSpec(t *rapid.T, mostBytes int64) *Spec {
	column := func(name string, tasks int, least, most int64) Column {
		switch one := rapid.Int64Range(least, most); rapid.IntRange(0, 2).Draw(t, name+" form") {
		case 0:
			return Same(one.Draw(t, name))
		case 1:
			return Each(rapid.SliceOfN(one, tasks, tasks).Draw(t, name))
		}
		return nil
	}
	s := &Spec{Format: specFormat, Seed: rapid.Uint64().Draw(t, "seed")}
	m, r := &s.Maps, &s.Reduces
	m.Count, r.Count = rapid.IntRange(1, 5).Draw(t, "maps"), rapid.IntRange(0, 5).Draw(t, "reduces")
	m.ReadBytes, m.EmitBytes = column("read", m.Count, 0, mostBytes), column("emit", m.Count, 0, mostBytes)
	if r.Count > 0 {
		r.WriteBytes, r.Shares = column("write", r.Count, 0, mostBytes), column("shares", r.Count, 1, 1000)
	}
	return s
}

func TestSpecAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawSpec(t, maxValue)
		text, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadSpec(bytes.NewReader(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read as %+v (%v), want %+v", text, got, err, want)
		}
	})
}

// TestSpecForm has the JSON forms, which stay small for large jobs.
func TestSpecForm(t *testing.T) {
	alike := &Spec{
		Seed: 7, Maps: MapTasks{Count: 10_000, ReadBytes: Same(128 << 20), EmitBytes: Same(1 << 20), CPUMs: Same(900)},
		Reduces: ReduceTasks{Count: 20, WriteBytes: Same(5)},
	}
	skewed := &Spec{
		Maps:    MapTasks{Count: 4, EmitBytes: Each([]int64{5, 5, 5, 6})},
		Reduces: ReduceTasks{Count: 2, Shares: Each([]int64{3, 1})},
	}
	for _, c := range []struct {
		spec *Spec
		want string
	}{
		{alike, `{"format":1,"seed":7,"maps":{"count":10000,"readBytes":134217728,"emitBytes":1048576,"cpuMs":900},"reduces":{"count":20,"writeBytes":5}}`},
		{skewed, `{"format":1,"seed":0,"maps":{"count":4,"emitBytes":[[3,5],6]},"reduces":{"count":2,"shares":[3,1]}}`},
	} {
		if got, err := c.spec.Encode(); string(got) != c.want || err != nil {
			t.Errorf("%s (%v), want\n%s", got, err, c.want)
		}
	}
	values := make([]int64, 10_000)
	for i := range values {
		values[i] = 100_000_000 + int64(i)*int64(i)
	}
	text, err := (&Spec{Maps: MapTasks{Count: len(values), EmitBytes: Each(values), CPUMs: Each(values)}}).Encode()
	if err != nil || len(text) > 250_000 {
		t.Errorf("10,000 different maps take %d bytes (%v)", len(text), err)
	}
}

func TestSpecErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, "EOF"},
		{`{"format":2,"maps":{"count":1}}`, "format 2, want 1"},
		{`{"format":1,"maps":{"count":0}}`, "0 maps: want 1"},
		{`{"format":1,"maps":{"count":1000000}}`, "1000000 maps"},
		{`{"format":1,"maps":{"count":1},"reduces":{"count":-1}}`, "-1 reduces"},
		{`{"format":1,"maps":{"count":1,"colour":1}}`, "colour"},
		{`{"format":1,"maps":{"count":1,"count":1}}`, "duplicate"},
		{`{"format":1,"maps":{"count":2,"emitBytes":[1]}}`, "maps.emitBytes: it has values for 1 tasks, and there are 2"},
		{`{"format":1,"maps":{"count":2,"emitBytes":[1,2,3]}}`, "3 tasks, and there are 2"},
		{`{"format":1,"maps":{"count":2,"emitBytes":[[3,1]]}}`, "stands for 3 of 2 tasks"},
		{`{"format":1,"maps":{"count":2,"emitBytes":[[0,1]]}}`, "stands for 0 tasks"},
		{`{"format":1,"maps":{"count":2,"cpuMs":-1}}`, "maps.cpuMs: a task has -1"},
		{`{"format":1,"maps":{"count":2,"cpuMs":1e99}}`, "whole number"},
		{`{"format":1,"maps":{"count":2,"cpuMs":1.5}}`, "whole number"},
		{`{"format":1,"maps":{"count":1,"memoryBytes":99999999999999999}}`, "maps.memoryBytes: a task has 99999999999999999"},
		{`{"format":1,"maps":{"count":1},"reduces":{"count":2,"shares":0}}`, "reduces.shares: all are 0"},
		{`{"format":1,"maps":{"count":1}} {}`, "after top-level value"},
	} {
		if s, err := ReadSpec(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "read job spec: ") {
			t.Errorf("%s: %v (%v), want an error with %q", c.text, s, err, c.want)
		}
	}
}

func FuzzReadSpec(f *testing.F) {
	f.Add([]byte(`{"format":1,"seed":7,"maps":{"count":4,"readBytes":1,"emitBytes":[[3,5],6]},"reduces":{"count":2,"shares":[3,1]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ReadSpec(bytes.NewReader(text))
		if err != nil {
			return
		}
		if s.Reduces.Count > 0 && s.shuffled(s.division(), 0) < segmentEnd {
			t.Errorf("the first reduce gets %d bytes", s.shuffled(s.division(), 0))
		}
		again, err := s.Encode()
		if err != nil {
			t.Fatalf("%s: read, and cannot be written: %v", text, err)
		}
		if _, err := ReadSpec(bytes.NewReader(again)); err != nil {
			t.Errorf("%s: written as %s, which cannot be read: %v", text, again, err)
		}
	})
}

// TestDivision has no byte lost among the reduces, and each within one of its
// share.
func TestDivision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := rapid.SliceOfN(rapid.Int64Range(0, maxValue), 1, 20).Draw(t, "shares")
		shares[0]++
		bytes := rapid.Int64Range(0, maxValue).Draw(t, "bytes")
		s := &Spec{Reduces: ReduceTasks{Count: len(shares), Shares: Each(shares)}}
		d, sum, all := s.division(), int64(0), 0.0
		for _, share := range shares {
			all += float64(share)
		}
		for r, share := range shares {
			part := d.part(bytes, r)
			sum += part
			if want := float64(bytes) * float64(share) / all; math.Abs(float64(part)-want) > 1+want*1e-9 {
				t.Errorf("reduce %d gets %d of %d bytes, want %f", r, part, bytes, want)
			}
		}
		if sum != bytes {
			t.Errorf("all reduces get %d of %d bytes", sum, bytes)
		}
	})
}
