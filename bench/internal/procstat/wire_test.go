package procstat

import (
	"net"
	"os"
	"testing"
)

func TestParseDev(t *testing.T) {
	const headings = "Inter-|   Receive                                                |  Transmit\n" +
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
	const loopback = "    lo: 1000      10    0    0    0     0          0         0     1000      10    0    0    0     0       0          0\n"
	const veth = "  vc42: 300        3    0    0    0     0          0         0      500       4    0    0    0     0       0          0\n"
	tests := []struct {
		name, text string
		want       Wire
		fails      bool
	}{
		{name: "the loopback interface once", text: headings + loopback, want: Wire{1000, 10}},
		{name: "both directions of others", text: headings + veth, want: Wire{800, 7}},
		{name: "both interfaces", text: headings + loopback + veth, want: Wire{1800, 17}},
		{name: "a name beside its number", text: headings + "vc42:300 3 0 0 0 0 0 0 500 4 0 0 0 0 0 0\n", want: Wire{800, 7}},
		{name: "no interface", text: headings},
		{name: "too short", text: headings + "lo: 1 2 3\n", fails: true},
		{name: "not a number", text: headings + "lo: x 10 0 0 0 0 0 0 1000 10\n", fails: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseDev(test.text)
			if (err != nil) != test.fails || !test.fails && got != test.want {
				t.Errorf("got %+v, %v; want %+v", got, err, test.want)
			}
		})
	}
}

func TestWireSeesTraffic(t *testing.T) {
	before, err := WireOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	const packets, size = 20, 500
	for range packets {
		if _, err := listener.WriteTo(make([]byte, size), listener.LocalAddr()); err != nil {
			t.Fatal(err)
		}
	}
	after, err := WireOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if used := after.Since(before); used.Packets < packets || used.Bytes < packets*size {
		t.Errorf("saw %+v of %d packets of %d bytes", used, packets, size)
	}
}
