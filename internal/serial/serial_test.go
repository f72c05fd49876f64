package serial

import (
	"slices"
	"testing"
)

// drain runs what a worker that has the queue would run.
func drain(k *Keys[int], q *Queue[int]) (ran []int) {
	if q == nil {
		return nil
	}
	for p := k.Next(q, nil); p != nil; p = k.Next(q, p) {
		ran = append(ran, *p.Value())
	}
	return ran
}

// Values run in the order of their places, whenever they come.
func TestOrder(t *testing.T) {
	var k Keys[int]
	a, b, c, d := k.Reserve([]byte("k"), 4), k.Reserve([]byte("k"), 4), k.Reserve([]byte("k"), 4), k.Reserve([]byte("k"), 4)
	if k.Reserve([]byte("k"), 4) != nil {
		t.Error("a fifth place was given of four")
	}
	if q, ok := k.Fill(k.Reserve([]byte("other"), 1), 9); !ok || !slices.Equal(drain(&k, q), []int{9}) {
		t.Error("another key has waited")
	}
	if q, ok := k.Fill(b, 2); q != nil || !ok {
		t.Error("the second value has run before the first")
	}
	if q := k.Leave(d); q != nil {
		t.Error("a place that was left has started a worker")
	}
	q, _ := k.Fill(a, 1)
	if ran := drain(&k, q); !slices.Equal(ran, []int{1, 2}) {
		t.Errorf("%v ran, want 1 and 2", ran)
	}
	if q, _ = k.Fill(c, 3); !slices.Equal(drain(&k, q), []int{3}) {
		t.Error("the third value has not run alone")
	}
	if n := k.Len(); n != 0 {
		t.Errorf("%d keys are held that have no places", n)
	}
}

// The value that runs takes no place of those that wait: its worker may be about to ask for the next.
func TestRunningHasNoPlace(t *testing.T) {
	var k Keys[int]
	q, _ := k.Fill(k.Reserve(nil, 1), 1)
	p := k.Next(q, nil)
	b := k.Reserve(nil, 1)
	if b == nil {
		t.Fatal("the value that runs takes the place of one that waits")
	}
	if k.Reserve(nil, 1) != nil {
		t.Error("two wait where one may")
	}
	if k.Next(q, p) != nil {
		t.Error("a value ran that has not come")
	}
	if k.Reserve(nil, 1) != nil {
		t.Error("two wait where one may, while none runs")
	}
	if q, _ := k.Fill(b, 2); !slices.Equal(drain(&k, q), []int{2}) {
		t.Error("the second value has not run")
	}
}

// A place that is left lets the values behind it run.
func TestLeave(t *testing.T) {
	var k Keys[int]
	a, b := k.Reserve(nil, 9), k.Reserve(nil, 9)
	if q, _ := k.Fill(b, 2); q != nil {
		t.Error("the second value has run before the first")
	}
	if q := k.Leave(a); !slices.Equal(drain(&k, q), []int{2}) {
		t.Error("the second value has not run")
	}
	if k.Leave(nil) != nil {
		t.Error("no place has started a worker")
	}
}

// A queue has one worker at a time.
func TestOneWorker(t *testing.T) {
	var k Keys[int]
	q, _ := k.Fill(k.Reserve(nil, 9), 1)
	first := k.Next(q, nil)
	if q, _ := k.Fill(k.Reserve(nil, 9), 2); q != nil {
		t.Error("a second worker was started")
	}
	if p := k.Next(q, first); *p.Value() != 2 || k.Next(q, p) != nil {
		t.Error("the worker has not gone on with the second value")
	}
}

// After the end values run that have come, and those that have not are not waited for.
func TestEnd(t *testing.T) {
	var k Keys[int]
	a := k.Reserve(nil, 9)
	k.Fill(k.Reserve(nil, 9), 2)
	started := k.End()
	if len(started) != 1 || !slices.Equal(drain(&k, started[0]), []int{2}) {
		t.Error("the value behind one that never came has not run")
	}
	if q, ok := k.Fill(a, 1); q != nil || ok {
		t.Error("a value that came after the end was taken")
	}
}
