package bindings

import (
	"fmt"
	"testing"
)

func key(i int) Key { return Key{"raw", fmt.Sprint("Method", i)} }

// Keys keep their numbers, however many there are, until the numbers are used up; then the oldest key loses its own.
func TestNumbers(t *testing.T) {
	for _, most := range []int{1, few, few + 1, 100} {
		var table Table
		for i := range 3*most + 1 {
			if _, ok := table.Find(key(i)); ok {
				t.Fatalf("%d numbers: key %d has one before it was bound", most, i)
			}
			if n := table.Bind(key(i), most); n != uint16(i%most) {
				t.Fatalf("%d numbers: key %d got %d", most, i, n)
			}
			for j := range i + 1 {
				n, ok := table.Find(key(j))
				if kept := j > i-most; ok != kept || ok && n != uint16(j%most) {
					t.Fatalf("%d numbers: key %d has number %d, %v after key %d was bound", most, j, n, ok, i)
				}
			}
		}
	}
}

// The key used last is known without a search, and an empty table has none.
func TestLast(t *testing.T) {
	var table Table
	if _, ok := table.Last("", ""); ok {
		t.Error("an empty table has a key that was used last")
	}
	table.Bind(key(1), 10)
	table.Bind(key(2), 10)
	if n, ok := table.Last("raw", "Method2"); !ok || n != 1 || table.LastKey() != key(2) {
		t.Errorf("the last key is %v with %d, %v", table.LastKey(), n, ok)
	}
	if _, ok := table.Last("gob", "Method2"); ok {
		t.Error("a key with another codec is the last one")
	}
	table.Find(key(1))
	if n, ok := table.Last("raw", "Method1"); !ok || n != 0 {
		t.Errorf("a key that was found is not the last one: %d, %v", n, ok)
	}
	table.Find(key(3))
	if _, ok := table.Last("raw", "Method3"); ok {
		t.Error("a key that was not found is the last one")
	}
}
