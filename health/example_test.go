package health_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/health"
)

func Example() {
	srv := weft.NewServer(nil)
	defer srv.Close()
	h, err := health.New(srv, &health.Config{Checks: []health.Check{
		{Name: "database", Func: func(ctx context.Context) error { return nil }},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	web := httptest.NewServer(h)
	defer web.Close()
	for _, path := range []string{"/livez", "/readyz"} {
		resp, err := http.Get(web.URL + path)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Println(path, resp.StatusCode) // the server does not serve yet
	}
	// Output:
	// /livez 200
	// /readyz 503
}
