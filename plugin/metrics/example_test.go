package metrics_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/metrics"
)

func Example() {
	srv := weft.NewServer(nil)
	defer srv.Close()
	if err := weft.Handle(srv, "Greeter.Hello", func(_ context.Context, name *string) (*string, error) { return name, nil }); err != nil {
		fmt.Println(err)
		return
	}
	m := metrics.New(nil)
	m.Server("", srv)
	mux := http.NewServeMux()
	mux.Handle("/metrics", m)
	web := httptest.NewServer(mux)
	defer web.Close()

	resp, err := http.Get(web.URL + "/metrics")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "weft_server_connections ") {
			fmt.Print(line)
		}
	}
	// Output: weft_server_connections 0
}
