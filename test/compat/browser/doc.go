// Package browser tries weft's doors with pages in Chromium: the page /docs of package door/http, and pages of another
// origin that call by Connect, gRPC-Web and WebSocket. It has only tests.
package browser
