// Calls a server with the clients of @connectrpc/connect-web, which are those of browsers.
import { create, createFileRegistry } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FieldDescriptorProto_Type, DurationSchema, file_google_protobuf_wrappers } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import assert from "node:assert";

const text = ".google.protobuf.StringValue", number = ".google.protobuf.Int64Value";
const file = create(FileDescriptorProtoSchema, {
  name: "test.proto", package: "test", syntax: "proto3", dependency: ["google/protobuf/wrappers.proto"],
  service: [{ name: "Test", method: [
    { name: "Echo", inputType: text, outputType: text, options: { idempotencyLevel: 1 } },
    { name: "Fail", inputType: text, outputType: text },
    { name: "Missing", inputType: text, outputType: text },
    { name: "Count", inputType: number, outputType: number, serverStreaming: true },
  ] }],
});
const service = createFileRegistry(file, () => file_google_protobuf_wrappers.proto).getService("test.Test");
const baseUrl = process.argv[2];

function notFound(err) {
  const e = ConnectError.from(err);
  assert.equal(e.code, Code.NotFound);
  assert.equal(e.rawMessage, "nothing here");
  assert.equal(e.findDetails(DurationSchema)[0].nanos, 1500);
  return true;
}

for (const [name, transport] of Object.entries({
  connect: createConnectTransport({ baseUrl }),
  "connect, protobuf": createConnectTransport({ baseUrl, useBinaryFormat: true }),
  "connect, GET": createConnectTransport({ baseUrl, useHttpGet: true }),
  "gRPC-Web": createGrpcWebTransport({ baseUrl }),
  "gRPC-Web, JSON": createGrpcWebTransport({ baseUrl, useBinaryFormat: false }),
})) {
  const client = createClient(service, transport);
  let got;
  const reply = await client.echo({ value: "héllo" }, { headers: { sent: "a value" }, onHeader: (h) => { got = h.get("got"); } });
  assert.equal(reply.value, "héllo");
  assert.equal(got, "a value");
  await assert.rejects(client.fail({ value: "" }), notFound);
  await assert.rejects(client.missing({ value: "" }), (err) => ConnectError.from(err).code === Code.Unimplemented);
  const all = [];
  await assert.rejects((async () => {
    for await (const m of client.count({ value: 3n })) all.push(Number(m.value));
  })(), notFound);
  assert.deepEqual(all, [0, 1, 2]);
  console.log(name, "ok");
}
