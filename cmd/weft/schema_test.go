package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	grpcgo "google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/weftrpc/weft"
)

// orders is a package of Go with a service.
const orders = `// Package orders has a service.
package orders

import "context"

// Line is a line.
type Line struct {
	// Article is the number in the catalog.
	Article string ` + "`json:\"article\"`" + `
	Pieces  int32  ` + "`json:\"pieces\"`" + `
}

// Orders keeps orders.
//
//weft:service
type Orders interface {
	// Put stores a line.
	Put(ctx context.Context, req *Line) (*Line, error)
}
`

// pkg writes the package into the folder of the test, which is the current one then.
func pkg(t *testing.T, change ...string) {
	t.Helper()
	folder := t.TempDir()
	t.Chdir(folder)
	writeFile(t, filepath.Join(folder, "go.mod"), "module example.org/m\n\ngo 1.26\n")
	if err := os.Mkdir("orders", 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(folder, "orders", "orders.go"), strings.NewReplacer(change...).Replace(orders))
}

// TestSchema writes the schema of a server in all formats.
func TestSchema(t *testing.T) {
	s := begin(t)
	for _, scheme := range []string{"tcp", "grpc", "jsonrpc"} {
		address := scheme + "://" + s.at
		expect(t, 0, "service Shop {\n  rpc Add(stream Sum) returns (Sum);", "", "", "schema", address, "Shop")
		expect(t, 0, "export interface Sum {\n  /**\n   * what has been added up\n", "", "", "schema", address, "Shop", "-o", "typescript")
	}
	expect(t, 0, `"weft.Sum"`, "", "", "schema", s.address, "Shop.Add", "-o", "jsonschema")
	expect(t, 0, `"title": "Arith, Shop"`, "", "", "schema", s.address, "-o", "openapi")
	expect(t, 0, `"title": "T"`, "", "", "schema", s.address, "-o", "openapi", "--title", "T", "--api-version", "2")
	expect(t, 0, "class Sum(typing.TypedDict):", "", "", "schema", s.address, "-o", "python")
	expect(t, 0, `"weft_schema": 1`, "", "", "schema", "--server", s.address, "-o", "json")
	expect(t, 0, "message ServiceInfo", "", "", "schema", s.address, "weft.Admin")
	expect(t, 1, "", "Arith.Mul: its reply is of the kind int64", "", "schema", s.address, "Arith", "-o", "proto")
	expect(t, 1, "", "no service or method", "", "schema", s.address, "Nothing")
	expect(t, 1, "", `no service or method "Nothing"`, "", "schema", s.address, "Shop", "Nothing")
	expect(t, 2, "", "want proto, jsonschema", "", "schema", s.address, "-o", "table")
	expect(t, 2, "", "want the address of a server", "", "schema")

	path := write(t, "registry.json", `{"services": {"Arith": [{"address": "`+s.address+`"}]}}`)
	t.Setenv("WEFT_REGISTRY", "file://"+path)
	expect(t, 0, "export interface Arith", "", "", "schema", "Arith", "-o", "typescript")
	expect(t, 1, "", "no server of Shop", "", "schema", "Shop")
	const taken = "Shop was taken for a service in the registry: a package of Go is given as ./Shop or by its full path, and a .proto file with its ending"
	expect(t, 1, "", taken, "", "schema", "Shop")
	expect(t, 4, "", taken, "", "schema", "Shop", "--registry", "etcd://127.0.0.1:1")
	expect(t, 4, "", taken, "", "schema", "check", "--against", "Shop", "./orders", "--registry", "etcd://127.0.0.1:1")

	plain := weft.NewServer(nil)
	l, err := plain.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go plain.Serve(l) // it ends with the server
	defer plain.Close()
	expect(t, 1, "", "admin.Register", "", "schema", "tcp://"+l.Addr().String())
}

// TestSchemaFiles writes files, also of sources.
func TestSchemaFiles(t *testing.T) {
	pkg(t)
	expect(t, 0, "// Article is the number in the catalog.\n  string article = ", "", "", "schema", "./orders")
	expect(t, 0, "", "", "", "schema", "./orders", "-o", "json", "--out", "schema.json")
	expect(t, 0, "Put(request: Line): Promise<Line>;", "", "", "schema", "schema.json", "-o", "typescript")
	expect(t, 0, "", "", "", "schema", "schema.json", "-o", "proto", "--out", "proto/")
	if err := os.Rename(filepath.Join("proto", "schema.proto"), "orders.proto"); err != nil {
		t.Fatal(err)
	}
	expect(t, 0, "class Line(typing.TypedDict):", "", "", "schema", "orders.proto", "-o", "python")
	t.Chdir("proto")
	expect(t, 1, "", `"../orders.proto", which is not below a folder: name its folder with -I, as in -I .. orders.proto`, "", "schema", "../orders.proto", "--out", "out/")
	expect(t, 0, "", "", "", "schema", "-I", "..", "orders.proto", "--out", "out/")
	t.Chdir("..")
	saved, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	two := strings.Replace(string(saved), `"services": [`, `"services": [{"name":"a.B","methods":[{"name":"X","kind":"unary","request":{"kind":"message","name":"orders.Line"},"reply":{"kind":"any"}},
		{"name":"Y","kind":"unary","request":{"kind":"message","name":"orders.Line"},"reply":{"kind":"message","name":"orders.Line"}}]},`, 1)
	expect(t, 2, "", "these are 3 files, a.proto, orders.proto, schema.proto: name a folder", two, "schema", "-")
	expect(t, 0, "", "left out: a.B.X: its reply is of the kind any", two, "schema", "-", "--out", ".")
	for _, name := range []string{"a.proto", "orders.proto", "schema.proto"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	outside := `{"weft_schema":1,"services":[{"name":"A","file":"../../evil.proto","methods":[{"name":"X","kind":"unary","request":{"kind":"message","name":"google.protobuf.Empty"},"reply":{"kind":"message","name":"google.protobuf.Empty"}}]}]}`
	expect(t, 1, "", "not below a folder", outside, "schema", "-", "--out", "proto")
	expect(t, 2, "", "no saved schema", "{}", "schema", "-")
	expect(t, 2, "", "'weft schema ... -o json' writes one", "", "schema", write(t, "x.json", "{}"))
	expect(t, 2, "", "no Go files", "", "schema", ".")
	expect(t, 2, "", "none.proto", "", "schema", "none.proto")
	for _, name := range []string{"shop.proto", "shop.thrift"} { // beside what weft generate has written
		folder := filepath.Join("generated", strings.TrimPrefix(filepath.Ext(name), "."))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(folder, name), "")
		writeFile(t, filepath.Join(folder, "shop_weft.go"), "package shop\n")
		expect(t, 2, "", filepath.Join(folder, name), "", "schema", "./"+folder)
	}
}

// TestSchemaDiff compares a saved schema with a package that has changed.
func TestSchemaDiff(t *testing.T) {
	pkg(t)
	expect(t, 0, "", "", "", "schema", "./orders", "-o", "json", "--out", "schema.json")
	expect(t, 0, "nothing has changed", "", "", "schema", "diff", "schema.json", "./orders")
	expect(t, 0, "nothing breaks", "", "", "schema", "check", "--against", "schema.json", "./orders")
	text := strings.NewReplacer(`json:"pieces"`, `json:"count"`, "type Line struct {", "type Line struct {\n\tMore bool").Replace(orders)
	writeFile(t, filepath.Join("orders", "orders.go"), text)
	expect(t, 1, "FIELD_RENAMED orders.Line.pieces (the request of Orders.Put)\n    the field pieces of orders.Line is count in json now\n    breaks json, protobuf\n", "", "",
		"schema", "diff", "schema.json", "./orders")
	expect(t, 1, "FIELD_ADDED orders.Line.More", "", "", "schema", "diff", "schema.json", "./orders")
	expect(t, 1, "1 change, 1 breaking", "", "", "schema", "check", "--against", "schema.json", "./orders")
	expect(t, 1, `"breaking": 1`, "", "", "schema", "diff", "schema.json", "./orders", "-o", "json")
	expect(t, 1, "FIELD_RENAMED:orders.Line.pieces\n", "", "", "schema", "check", "--against", "schema.json", "./orders", "-o", "name")
	expect(t, 1, "breaks protobuf\n", "", "", "schema", "check", "--against", "schema.json", "./orders", "--wire", "protobuf")
	for _, flags := range [][]string{{"--wire", "messagepack"}, {"--category", "source"}, {"--ignore", "FIELD_RENAMED"}, {"--ignore", "FIELD_RENAMED:orders.Line.*"}} {
		expect(t, 0, "nothing breaks", "", "", append([]string{"schema", "check", "--against", "schema.json", "./orders"}, flags...)...)
	}
	expect(t, 1, "FIELD_RENAMED", "", "", "schema", "check", "--against", "schema.json", "./orders", "--ignore", "FIELD_RENAMED:orders.Other.*")
	for flag, want := range map[string]string{"--wire=gob": "json, messagepack or protobuf", "--category=api": "wire or source", "--ignore=NOTHING": "no rule", "--ignore=FIELD_ADDED:[": "no pattern"} {
		expect(t, 2, "", want, "", "schema", "check", "--against", "schema.json", "./orders", flag)
	}
	expect(t, 2, "", "--against is missing", "", "schema", "check", "./orders")
	for _, none := range []string{"nowhere.json", "nowhere.proto", "./nowhere"} { // 1 would say that something breaks
		expect(t, 2, "", "nowhere", "", "schema", "diff", none, "./orders")
		expect(t, 2, "", "nowhere", "", "schema", "check", "--against", "schema.json", none)
	}
	s := begin(t)
	expect(t, 1, "SERVICE_REMOVED Orders", "", "", "schema", "diff", "schema.json", s.address)
	expect(t, 0, "nothing has changed", "", "", "schema", "diff", s.address, "grpc://"+s.at)
}

// TestSchemaReflection reads the schema of a server of grpc-go.
func TestSchemaReflection(t *testing.T) {
	srv := grpcgo.NewServer()
	grpc_health_v1.RegisterHealthServer(srv, grpchealth.NewServer())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "grpc://" + l.Addr().String()
	reflection.Register(srv)
	go srv.Serve(l) // it ends with the server
	defer srv.Stop()
	expect(t, 0, "package grpc.health.v1;", "", "", "schema", address, "grpc.health.v1.Health")
	expect(t, 1, "", "have to be named: grpc.health.v1.Health", "", "schema", address)
}
