// Package http serves HTTP/1.1 with JSON: a door for programs, scripts and browsers that have
// no client of weft, on the port that a server has.
//
// Every method has the address POST /Service/Method; its body is the request, the answer the
// reply, as JSON or in any other codec of the server by Content-Type and Accept. Get, Post, Put,
// Patch and Delete give a method further addresses when it is registered:
//
//	weft.Handle(srv, "Users.Get", get, weft.Idempotent(), http.Get("/users/{id}"))
//
// # Headers
//
//	Authorization          the credential of the call
//	Weft-Timeout           the time that the call has, in milliseconds
//	Weft-Priority          the priority of the call
//	Retry-After            in answers: when to try again
//	Weft-Meta-<key>        metadata, in requests and answers
//	Weft-Bin-<key>         the same for values that are no visible ASCII, in base64
//	Accept, Content-Type   the codecs; see docs/doors/http.md
//	Content-Encoding, Accept-Encoding   gzip, or what Config.Compressors has
//
// The headers traceparent, tracestate, baggage, idempotency-key, x-request-id, last-event-id, those by which proxies say that they pass
// a request on (x-forwarded-for, forwarded, via) and those of Config.Headers are metadata under their own names.
//
// # Errors
//
// An error is an answer of the type application/problem+json (RFC 9457) with the members code,
// outcome, reason and details beside title, status and detail.
//
// # Streams
//
// A method that sends many messages answers with one JSON object a line (application/x-ndjson),
// {"result": …} for a message and {"error": …} for the end that an error makes, or with
// server-sent events if the client accepts text/event-stream. A method that receives many
// messages takes a body of one JSON value a line. A request for WebSocket opens a call with messages in both
// directions; see docs/doors/http.md.
//
// # Clients
//
// Wire and SecureWire let a weft client call servers that answer POST /Service/Method with JSON.
package http
