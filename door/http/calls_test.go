package http_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/http"

	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TestAddresses sends requests to every kind of address.
func TestAddresses(t *testing.T) {
	r := start(t, nil, nil)
	for _, c := range []struct {
		verb, path, body string
		status           int
		want             string // the body, or a part of an error
	}{
		{"POST", "/Users/Get", `{"id":7,"unknown":1}`, 200, `{"id":7}`},
		{"POST", "/Users/Get", ``, 200, `{}`},
		{"POST", "/Old/Get", `{"id":7}`, 200, `{"id":7}`},
		{"GET", "/Users/Get?id=7&tags=a&tags=b&admin=true&score=1.5&wait=2s&address.zip=9", ``, 200,
			`{"id":7,"tags":["a","b"],"admin":true,"score":1.5,"wait":2000000000,"address":{"zip":9}}`},
		{"GET", "/Users/Get?born=2026-01-02T03:04:05Z&key=_-8&wait=5", ``, 200, `{"wait":5,"born":"2026-01-02T03:04:05Z","key":"/+8="}`},
		{"GET", "/users/7?name=a%26b", ``, 200, `{"id":7,"name":"a&b"}`},
		{"GET", "/users/me", ``, 200, `{}`},
		{"GET", "/keys/a/b%2Fc", ``, 200, `{"name":"a/b/c"}`},
		{"GET", "/cities/K%C3%B6ln/users/3", ``, 200, `{"id":3,"address":{"city":"Köln"}}`},
		{"PUT", "/users/7", `{"id":8,"name":"x"}`, 200, `{"id":7,"name":"x"}`},
		{"POST", "/users/7:rename", `{"name":"y"}`, 200, `{"id":7,"name":"y"}`},
		{"DELETE", "/users/7", ``, 200, `{"id":7}`},
		{"PATCH", "/users/7/address?name=n", `{"city":"Rom"}`, 200, `{"id":7,"name":"n","address":{"city":"Rom"}}`},
		{"POST", "/Proto/Half", `"84"`, 200, `"42"`},

		{"PATCH", "/users/7/address", `{"city":"Rom"},"admin":true`, 400, `the body is not one JSON value`},
		{"GET", "/users/x", ``, 400, `path: id is \"x\", want a value of type integer`},
		{"GET", "/users/7?id=8", ``, 400, `in the path and in the query`},
		{"GET", "/users/7?nme=8", ``, 400, `the query has the parameter \"nme\"`},
		{"GET", "/users/7?admin=1&admin=2", ``, 400, `has 2 values, want one`},
		{"GET", "/Users/Get?address.zip=70000", ``, 400, `address.zip`},
		{"GET", "/Users/Get?id=%zz", ``, 400, `cannot be read`},
		{"GET", "/Users/Put", ``, 405, `is called by POST`},
		{"POST", "/users/7", `{}`, 405, `DELETE, GET, PUT`},
		{"POST", "/Users/None", `{}`, 404, `there is no method Users.None`},
		{"POST", "/Nothing/Here", ``, 404, `there is no method`},
		{"POST", "/single", `{}`, 404, `there is nothing at /single`},
		{"GET", "/users", ``, 404, `there is nothing at /users`},
		{"GET", "/a/../Users/Get", ``, 404, `there is nothing`},
		{"POST", "/Users/Get", `{"id":`, 400, `decode the request with codec json`},
		{"POST", "/Users/Get", `[1]`, 400, `decode the request with codec json`},
		{"POST", "/Users/Get", `{"id":99999999999999999999}`, 400, `decode the request`},
		{"POST", "/Raw/Echo", `"YQ=="`, 400, `call it with codec raw`},
	} {
		answer, body := r.do(c.verb, c.path, c.body)
		if answer.StatusCode != c.status || c.status == 200 && body != c.want || !strings.Contains(body, c.want) {
			t.Errorf("%s %s %s: %s %s, want %d and %s", c.verb, c.path, c.body, answer.Status, body, c.status, c.want)
		}
		if kind := answer.Header.Get("Content-Type"); c.status >= 400 && kind != "application/problem+json" || c.status == 200 && kind != "application/json" {
			t.Errorf("%s %s: type %s", c.verb, c.path, kind)
		}
	}
	answer, body := r.do("HEAD", "/users/7", "")
	if answer.StatusCode != 200 || body != "" || answer.ContentLength != int64(len(`{"id":7}`)) {
		t.Errorf("HEAD: %s, %d bytes announced, %q", answer.Status, answer.ContentLength, body)
	}
	answer, _ = r.do("OPTIONS", "/users/7", "")
	if got := answer.Header.Get("Allow"); answer.StatusCode != 204 || got != "DELETE, GET, PUT" {
		t.Errorf("OPTIONS: %s, Allow %q", answer.Status, got)
	}
}

// TestErrors compares what a problem says.
func TestErrors(t *testing.T) {
	r := start(t, nil, nil)
	for code, want := range map[weft.Code]int{
		weft.Canceled: 499, weft.Unknown: 500, weft.InvalidArgument: 400, weft.DeadlineExceeded: 504, weft.NotFound: 404,
		weft.AlreadyExists: 409, weft.PermissionDenied: 403, weft.ResourceExhausted: 429, weft.FailedPrecondition: 400,
		weft.Aborted: 409, weft.OutOfRange: 400, weft.Unimplemented: 501, weft.Internal: 500, weft.Unavailable: 503,
		weft.DataLoss: 500, weft.Unauthenticated: 401,
	} {
		answer, body := r.do("POST", "/Users/Fail", fmt.Sprintf(`{"id":%d}`, code))
		var p struct {
			Type, Title, Detail, Code, Outcome, Reason string
			Status                                     int
			Details                                    []struct {
				Type  string
				Value []byte
			}
		}
		must(t, json.Unmarshal([]byte(body), &p))
		if answer.StatusCode != want || p.Status != want || p.Code != code.String() || p.Title != p.Code || p.Type != "about:blank" ||
			p.Detail != "as you wish" || p.Outcome != "Executed" || p.Reason != "ON_REQUEST" || len(p.Details) != 2 || string(p.Details[0].Value) != "value" {
			t.Errorf("%v: %s %s", code, answer.Status, body)
		}
		if got := answer.Header.Get("Retry-After"); got != "2" {
			t.Errorf("Retry-After %q", got)
		}
		if (answer.Header.Get("WWW-Authenticate") != "") != (want == 401) {
			t.Errorf("%v: WWW-Authenticate %q", code, answer.Header.Get("WWW-Authenticate"))
		}
	}
}

// TestMedia calls with other codecs than JSON, and with none that is known.
func TestMedia(t *testing.T) {
	r := start(t, nil, nil)
	packed, err := msgpack.New().Append(nil, &User{ID: 7})
	must(t, err)
	answer, body := r.do("PUT", "/users/9", string(packed), "Content-Type", "application/x-msgpack")
	var u User
	must(t, msgpack.New().Decode([]byte(body), &u))
	if u.ID != 9 || answer.Header.Get("Content-Type") != "application/msgpack" {
		t.Errorf("MessagePack: %v %q", answer.Header, body)
	}
	proto, err := protobuf.New().Append(nil, wrapperspb.Int64(10))
	must(t, err)
	answer, body = r.do("POST", "/Proto/Half", string(proto), "Content-Type", "application/protobuf", "Accept", "text/html;q=0.9, application/json")
	if body != `"5"` || answer.StatusCode != 200 {
		t.Errorf("protobuf in, JSON out: %s %s", answer.Status, body)
	}
	answer, body = r.do("POST", "/Raw/Echo", "\x00\xff", "Content-Type", "application/octet-stream")
	if body != "\x00\xff" || answer.Header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("raw: %s %q", answer.Status, body)
	}
	for _, c := range []struct {
		kind, accept string
		status       int
	}{
		{"", "*/*", 415}, {"text/plain", "*/*", 415}, {"application/x-www-form-urlencoded", "*/*", 415}, {"multipart/form-data; boundary=x", "*/*", 415},
		{"bad;;", "*/*", 415}, {"application/json; charset=utf-8", "*/*", 200}, {"application/vnd.api+json", "*/*", 200},
		{"application/json", "text/html", 406}, {"application/json", "application/json;q=0", 406}, {"application/json", "text/html, */*;q=0.1", 200},
	} {
		answer, body := r.do("POST", "/Users/Get", `{"id":1}`, "Content-Type", c.kind, "Accept", c.accept)
		if answer.StatusCode != c.status {
			t.Errorf("Content-Type %q, Accept %q: %s %s, want %d", c.kind, c.accept, answer.Status, body, c.status)
		}
	}
}

func TestStrictFields(t *testing.T) {
	r := start(t, &http.Config{StrictFields: true}, nil)
	if answer, body := r.do("POST", "/Users/Get", `{"id":1,"idd":2}`); answer.StatusCode != 400 || !strings.Contains(body, "idd") {
		t.Errorf("%s %s", answer.Status, body)
	}
	if answer, body := r.do("POST", "/Users/Get", `{"id":1}`); answer.StatusCode != 200 {
		t.Errorf("%s %s", answer.Status, body)
	}
}

// TestHeaders sends metadata and a deadline.
func TestHeaders(t *testing.T) {
	r := start(t, &http.Config{Headers: []string{"x-tenant"}}, nil)
	for name, key := range map[string]string{"Weft-Meta-Color": "color", "Traceparent": "traceparent", "X-Tenant": "x-tenant", "Authorization": "authorization",
		"X-Forwarded-For": "x-forwarded-for", "Forwarded": "forwarded", "Via": "via", "X-Other": ""} {
		want := `"tags":["red"]`
		if key == "" {
			key, want = "x-other", `"wait"`
		}
		answer, body := r.do("POST", "/Users/Meta", `{"name":"`+key+`"}`, name, "red", "Weft-Timeout", "60000")
		if !strings.Contains(body, want) || key != "x-other" && answer.Header.Get("Weft-Meta-Seen") != "red" || answer.Header.Get("Weft-Bin-Binary") != "AAE=" {
			t.Errorf("%s: %s %s %v", name, answer.Status, body, answer.Header)
		}
		var u User
		must(t, json.Unmarshal([]byte(body), &u))
		if u.Wait <= 10*time.Second || u.Wait > time.Minute {
			t.Errorf("%v were left of a minute", u.Wait)
		}
	}
	if _, body := r.do("POST", "/Users/Meta", `{"name":"b"}`, "Weft-Bin-B", "aGk"); !strings.Contains(body, `["hi"]`) {
		t.Error(body)
	}
	for _, c := range [][3]string{{"Weft-Timeout", "-1", "400"}, {"Weft-Timeout", "1s", "400"}, {"Weft-Timeout", "0", "400"}, {"Weft-Bin-X", "***", "400"},
		{"Weft-Meta-X", strings.Repeat("x", 17<<10), "431"}} {
		if answer, body := r.do("POST", "/Users/Meta", `{}`, c[0], c[1]); !strings.HasPrefix(answer.Status, c[2]) {
			t.Errorf("%s %.20q: %s %s", c[0], c[1], answer.Status, body)
		}
	}
}

// TestDeadline has the client's deadline pass.
func TestDeadline(t *testing.T) {
	r := start(t, nil, nil)
	must(t, weft.Handle(r.srv, "Slow.Call", waitForEnd))
	answer, body := r.do("POST", "/Slow/Call", `{}`, "Weft-Timeout", "20")
	if answer.StatusCode != 504 || !strings.Contains(body, `"code":"DeadlineExceeded"`) {
		t.Errorf("%s %s", answer.Status, body)
	}
}

// TestCompression sends and gets compressed bodies, and some that are not what they claim.
func TestCompression(t *testing.T) {
	r := start(t, nil, func(c *weft.ServerConfig) { c.Limits.MaxMessage = 1 << 20 })
	text := `{"name":"` + strings.Repeat("abc", 1000) + `"}`
	packed, err := gzip.New().Compress(nil, []byte(text))
	must(t, err)
	answer, body := r.do("POST", "/Users/Get", string(packed), "Content-Encoding", "gzip", "Accept-Encoding", "br, gzip")
	plain, err := gzip.New().Decompress(nil, []byte(body), 1<<20)
	if err != nil || string(plain) != text || answer.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%s %v: %v", answer.Status, answer.Header, err)
	}
	for _, accept := range []string{"br", "gzip;q=0", "identity"} {
		if answer, body := r.do("POST", "/Users/Get", text, "Accept-Encoding", accept); body != text || answer.Header.Get("Content-Encoding") != "" {
			t.Errorf("Accept-Encoding %q: %v", accept, answer.Header)
		}
	}
	bomb, err := gzip.New().Compress(nil, bytes.Repeat([]byte(" "), 8<<20))
	must(t, err)
	for _, c := range []struct {
		body, encoding string
		status         int
	}{
		{string(bomb), "gzip", 413}, {"no gzip", "gzip", 400}, {string(packed[:40]), "gzip", 400}, {text, "br", 415}, {text, "identity", 200},
		{`{"name":"` + strings.Repeat("x", 2<<20) + `"}`, "", 413},
	} {
		if answer, body := r.do("POST", "/Users/Get", c.body, "Content-Encoding", c.encoding); answer.StatusCode != c.status {
			t.Errorf("%.20q with %q: %s %.200s, want %d", c.body, c.encoding, answer.Status, body, c.status)
		}
	}
}

// TestConditional asks for what the client has already.
func TestConditional(t *testing.T) {
	r := start(t, nil, nil)
	answer, _ := r.do("GET", "/users/7", "")
	tag := answer.Header.Get("ETag")
	if answer, body := r.do("GET", "/users/7", "", "If-None-Match", tag); tag == "" || answer.StatusCode != nethttp.StatusNotModified || body != "" {
		t.Errorf("ETag %q: %s %q", tag, answer.Status, body)
	}
	if answer, _ := r.do("GET", "/users/8", "", "If-None-Match", tag); answer.StatusCode != 200 {
		t.Errorf("another reply: %s", answer.Status)
	}
	if answer, _ := r.do("POST", "/Users/Get", "{}", "If-None-Match", tag); answer.StatusCode != 200 || answer.Header.Get("ETag") != "" {
		t.Errorf("POST: %s %v", answer.Status, answer.Header)
	}
}
