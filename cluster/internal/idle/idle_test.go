package idle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// fake is a service.
type fake struct {
	name   string
	use    Use
	needed bool
}

func (f *fake) Used() *Use   { return &f.use }
func (f *fake) Needed() bool { return f.needed }

// add opens a service, which must be possible, and returns the names of those that were closed for it.
func add(t *testing.T, table *Table[*fake], name string, now time.Duration, instances bool) (s *fake, closed []string) {
	t.Helper()
	s = &fake{name: name}
	old, ok := table.Add(name, s, now)
	if !ok {
		t.Fatalf("%s is not opened", name)
	}
	if instances {
		table.Tell(name, true)
	}
	return s, names(old)
}

func names(all []*fake) []string {
	var out []string
	for _, s := range all {
		out = append(out, s.name)
	}
	slices.Sort(out)
	return out
}

func wantNames(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestSweep(t *testing.T) {
	table := New[*fake](10 * time.Minute)
	known, _ := add(t, table, "known", 0, true)
	add(t, table, "unknown", 0, false)
	held, _ := add(t, table, "held", 0, false)
	held.use.Hold()
	needed, _ := add(t, table, "needed", 0, true)
	needed.needed = true
	add(t, table, "emptied", 0, true)
	table.Tell("emptied", false)

	closed, _ := table.Sweep(VacantTimeout - 1)
	wantNames(t, "closed early", names(closed))
	closed, ended := table.Sweep(VacantTimeout)
	wantNames(t, "closed without instances", names(closed), "emptied", "unknown")
	wantNames(t, "they linger", names(table.Lingering()))
	if len(ended) > 0 || table.Due(VacantTimeout+lookEvery-1) || !table.Due(VacantTimeout+lookEvery) {
		t.Error("the next look is not due in a second")
	}
	known.use.Note(5 * time.Minute)
	closed, _ = table.Sweep(15*time.Minute - 1)
	wantNames(t, "closed before its time", names(closed))
	closed, _ = table.Sweep(15 * time.Minute)
	wantNames(t, "closed", names(closed), "known")
	wantNames(t, "lingering", names(table.Lingering()), "known")
	if table.Has("known", known) || !table.Has("needed", needed) || table.Has("needed", known) {
		t.Error("Has is wrong")
	}
	held.use.Release()
	closed, ended = table.Sweep(15*time.Minute + linger)
	wantNames(t, "closed once released", names(closed), "held")
	wantNames(t, "ended", names(ended), "known")
	wantNames(t, "lingering", names(table.Lingering()))

	forever := New[*fake](-1)
	add(t, forever, "known", 0, true)
	add(t, forever, "unknown", 0, false)
	closed, _ = forever.Sweep(1000 * time.Hour)
	wantNames(t, "closed of those that stay", names(closed), "unknown")

	short := New[*fake](time.Second)
	add(t, short, "unknown", 0, false)
	closed, _ = short.Sweep(time.Second)
	wantNames(t, "closed after a short time", names(closed), "unknown")
}

// A service that is closed for another while calls wait at it is found again under its name, as long as they wait.
func TestLeft(t *testing.T) {
	table := New[*fake](-1)
	waited, _ := add(t, table, "waited", 0, false)
	waited.use.Wait()
	gone, _ := add(t, table, "gone", 0, false)
	gone.use.Wait()
	add(t, table, "other", 0, false)
	known, _ := add(t, table, "known", 0, true)
	known.use.Wait()
	for i := range MostVacant {
		add(t, table, fmt.Sprint("n", i), time.Second, false)
	}
	if len(table.Open) != MostVacant+1 || !table.Has("known", known) {
		t.Fatalf("%d services are open", len(table.Open))
	}
	gone.use.Waited()
	table.Sweep(time.Second)
	for _, name := range []string{"gone", "other", "known", "n0", "nothing"} {
		if s, ok := table.TakeLeft(name); ok {
			t.Errorf("%s is found: %+v", name, s)
		}
	}
	if s, ok := table.TakeLeft("waited"); !ok || s != waited {
		t.Errorf("the service with a call that waits is not found: %v", s)
	}
	if _, ok := table.TakeLeft("waited"); ok || len(table.left) > 0 {
		t.Errorf("it is found twice, and %d are kept", len(table.left))
	}
}

// Services without instances are bounded: of more the one goes whose last call was longest ago and for which no call waits.
func TestMostVacant(t *testing.T) {
	table := New[*fake](-1)
	add(t, table, "known", 0, true)
	all := make([]*fake, MostVacant)
	for i := range all {
		var closed []string
		all[i], closed = add(t, table, fmt.Sprint("n", i), time.Duration(i)*time.Second, false)
		wantNames(t, "closed while there is room", closed)
	}
	now := MostVacant * time.Second
	all[0].use.Note(now)
	all[1].use.Hold()
	_, closed := add(t, table, "more", now, false)
	wantNames(t, "closed for one more", closed, "n2")
	if len(table.Lingering()) > 0 {
		t.Error("a service without instances lingers")
	}
	for _, s := range table.Open {
		s.use.Hold()
	}
	if _, ok := table.Add("another", &fake{}, now); ok {
		t.Error("with calls that wait for as many as are allowed one more was opened")
	}
	table.Tell("n5", true)
	_, closed = add(t, table, "another", now, false)
	wantNames(t, "closed once one has instances", closed)
	if table.Tell("n5", false); len(table.vacant) != MostVacant+1 {
		t.Fatalf("%d services have no instances", len(table.vacant))
	}
	for i := 7; i < 9; i++ {
		all[i].use.Note(now - time.Duration(10-i)*time.Second)
		all[i].use.Release()
	}
	gone, _ := table.Sweep(now)
	wantNames(t, "closed since there are too many", names(gone), "n7")
}
