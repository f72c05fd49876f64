package debug_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/debug"
)

func Example() {
	srv := weft.NewServer(nil)
	defer srv.Close()
	h := debug.New(nil) // for requests from this machine
	h.Server("", srv)
	mux := http.NewServeMux()
	mux.Handle("/debug/weft/", http.StripPrefix("/debug/weft", h))
	web := httptest.NewServer(mux)
	defer web.Close()

	resp, err := http.Get(web.URL + "/debug/weft/calls")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	calls, _ := io.ReadAll(resp.Body)
	fmt.Printf("%s", calls)
	// Output: []
}
