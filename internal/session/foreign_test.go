package session

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestSharedOwner has contexts share what they know of their connection: what one of them gets, the others do not have.
func TestSharedOwner(t *testing.T) {
	o := OwnedBy("a peer")
	var a, b Context
	m := &Method{Name: "Test.Any"}
	o.Init(&a, m, Nanos(), Nanos()+int64(time.Hour))
	o.Init(&b, m, Nanos(), 0)
	if a.Owner() != "a peer" || a.Meta() != "" || a.ReplyMeta() != "" || a.Principal() != nil || a.Stream() != nil || a.Err() != nil {
		t.Errorf("a context that was just made: owner %v, metadata %q and %q, principal %v, %v", a.Owner(), a.Meta(), a.ReplyMeta(), a.Principal(), a.Err())
	}
	a.SetReplyMeta("")
	if n := testing.AllocsPerRun(100, func() { a.SetReplyMeta(""); _ = a.Err() }); n != 0 {
		t.Errorf("%v allocations where nothing is needed", n)
	}
	a.SetReplyMeta("its own")
	a.SetPrincipal("its principal")
	done := a.Done()
	if b.ReplyMeta() != "" || b.Principal() != nil || b.Owner() != "a peer" {
		t.Errorf("the other one has the metadata %q and the principal %v of the first", b.ReplyMeta(), b.Principal())
	}
	b.Cancel()
	if !errors.Is(b.Err(), context.Canceled) || a.Err() != nil {
		t.Errorf("the contexts end with %v and %v", b.Err(), a.Err())
	}
	<-b.Done() // also where it is asked for behind the end
	select {
	case <-done:
		t.Error("the end of one has ended the other")
	default:
	}
	a.Finish()
	<-done
	if a.Owner() != "a peer" || a.ReplyMeta() != "its own" || a.Principal() != "its principal" {
		t.Errorf("the owner is %v, the metadata %q, the principal %v", a.Owner(), a.ReplyMeta(), a.Principal())
	}
}
