package simulation

import "time"

// wreak lets every fault happen at its time.
func (w *world) wreak() {
	for _, f := range w.plan.Faults {
		time.Sleep(f.At - w.ledger.now())
		w.happen(f)
	}
}

func (w *world) happen(f fault) {
	h := w.hosts[f.Host]
	switch f.Kind {
	case restart:
		w.wg.Go(func() { h.restart(f.For) })
	case kill:
		w.wg.Go(func() { h.kill(f.For, f.Flag) })
	case cutAll:
		for _, k := range w.net.live("") {
			k.cut(f.Flag)
		}
	case slowHost:
		h.worker.slow.Store(int64(f.For / 4))
		w.after(f.For, func() { h.worker.slow.Store(0) })
	case refuse:
		w.net.refuse(h.name, true)
		w.after(f.For, func() { w.net.refuse(h.name, false) })
	case silence:
		w.net.silence(h.name, true)
		w.after(f.For, func() { w.net.silence(h.name, false) })
	case noRegistry:
		w.authority.set(func() { w.authority.away = true })
		w.after(f.For, func() { w.authority.set(func() { w.authority.away = false }) })
	case emptyList:
		w.authority.set(func() { w.authority.empty = true })
		w.after(f.For, func() { w.authority.set(func() { w.authority.empty = false }) })
	case overtake:
		w.overtake(h.name, f.For)
	case wipe:
		w.authority.set(func() { w.authority.store = newAuthority().store })
	default:
		if live := w.net.live(h.name); len(live) > 0 {
			w.spoil(live[f.Pick%len(live)], f)
		}
	}
}

// spoil is a fault of one connection.
func (w *world) spoil(k *link, f fault) {
	l := k.up
	if f.Flag {
		l = k.down
	}
	switch f.Kind {
	case cutOne:
		k.cut(f.Flag)
	case stall:
		l.change(func() { l.stalled = true })
		w.after(f.For, func() { l.change(func() { l.stalled = false }) })
	case vanish:
		k.up.change(func() { k.up.stalled = true })
		k.down.change(func() { k.down.stalled = true })
	case halfClose:
		l.end()
	case slowLine:
		l.change(func() { l.rate = 2000 })
		w.after(f.For, func() { l.change(func() { l.rate = 0 }) })
	}
}

// overtake delays the oldest connection of each client to a host: what is sent on a newer one arrives before what was sent earlier. A
// connection that is the only one of its client is cut at the client alone while bytes of the client are on their way,
// so that the client connects anew and these bytes still arrive.
func (w *world) overtake(host string, by time.Duration) {
	seen := make(map[string]bool)
	for _, k := range w.net.live(host) {
		if seen[k.pair] {
			continue
		}
		seen[k.pair] = true
		delay := func(by time.Duration) {
			k.up.change(func() { k.up.extra = by })
			k.down.change(func() { k.down.extra = by })
		}
		delay(by)
		w.wg.Go(func() {
			for began := time.Now(); time.Since(began) < by; time.Sleep(by / 100) {
				if k.up.underWay() > by*9/10 && w.net.only(k) {
					k.down.sever(false)
					return
				}
			}
			delay(0)
		})
	}
}

// after runs f later, while the world goes on.
func (w *world) after(d time.Duration, f func()) {
	w.wg.Go(func() {
		time.Sleep(d)
		f()
	})
}
