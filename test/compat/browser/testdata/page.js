// Calls a server of another origin with the clients of @connectrpc/connect-web and grpc-web, and by WebSocket.
import { create, createFileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import { DurationSchema, FileDescriptorProtoSchema, Int64ValueSchema, StringValueSchema, file_google_protobuf_wrappers } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { GrpcWebClientBase, MethodDescriptor, MethodType, StatusCode } from "grpc-web";

const text = ".google.protobuf.StringValue", number = ".google.protobuf.Int64Value";
const file = create(FileDescriptorProtoSchema, {
	name: "test.proto", package: "test", syntax: "proto3", dependency: ["google/protobuf/wrappers.proto"],
	service: [{ name: "Test", method: [
		{ name: "Echo", inputType: text, outputType: text, options: { idempotencyLevel: 1 } },
		{ name: "Fail", inputType: text, outputType: text },
		{ name: "Count", inputType: number, outputType: number, serverStreaming: true },
	] }],
});
const service = createFileRegistry(file, () => file_google_protobuf_wrappers.proto).getService("test.Test");

function want(got, wanted, about) {
	if (JSON.stringify(got) !== JSON.stringify(wanted)) throw new Error(`${about}: ${JSON.stringify(got)}, want ${JSON.stringify(wanted)}`);
}

// connect calls by a transport of connect-web.
async function connect(name, transport) {
	const client = createClient(service, transport);
	let got;
	const reply = await client.echo({ value: "héllo" }, { headers: { sent: "a value" }, onHeader: (h) => { got = h.get("got"); } });
	want([reply.value, got], ["héllo", "a value"], name);
	const failed = (e) => {
		const err = ConnectError.from(e);
		want([err.code, err.rawMessage, err.findDetails(DurationSchema)[0]?.nanos], [Code.NotFound, "nothing here", 1500], name);
	};
	await client.fail({ value: "" }).then(() => { throw new Error(name + ": no error"); }, failed);
	const all = [];
	try {
		for await (const m of client.count({ value: 3n })) all.push(Number(m.value));
	} catch (e) {
		failed(e);
	}
	want(all, [0, 1, 2], name);
}

// grpcWeb calls by grpc-web, in one of its formats.
async function grpcWeb(base, format) {
	const client = new GrpcWebClientBase({ format });
	const method = (name, type, schema) => new MethodDescriptor("/test.Test/" + name, type, Object, Object,
		(m) => toBinary(schema, create(schema, m)), (b) => fromBinary(schema, b));
	const call = (name, request) => new Promise((resolve) => client.rpcCall(base + "/test.Test/" + name, request, { sent: "a value" },
		method(name, MethodType.UNARY, StringValueSchema), (err, reply) => resolve([err?.code ?? 0, err?.message ?? "", reply?.value])));
	want(await call("Echo", { value: "héllo" }), [0, "", "héllo"], "grpc-web, " + format);
	want((await call("Fail", { value: "" })).slice(0, 2), [StatusCode.NOT_FOUND, "nothing here"], "grpc-web, " + format);
	if (format === "binary") return; // grpc-web has streams as text alone
	const all = [];
	const end = await new Promise((resolve) => {
		const stream = client.serverStreaming(base + "/test.Test/Count", { value: 3n }, {}, method("Count", MethodType.SERVER_STREAMING, Int64ValueSchema));
		stream.on("data", (m) => all.push(Number(m.value)));
		stream.on("error", (err) => resolve(err.code));
		stream.on("end", () => resolve(0));
	});
	want([all, end], [[0, 1, 2], StatusCode.NOT_FOUND], "grpc-web, stream");
}

// talk opens a stream by WebSocket.
window.talk = (url) => new Promise((resolve) => {
	const socket = new WebSocket(url, ["weft"]);
	const came = [];
	socket.onopen = () => [1, 2].forEach((a) => socket.send(JSON.stringify({ a, b: 7 }))) || socket.send("");
	socket.onmessage = (m) => came.push(JSON.parse(m.data).result.a);
	socket.onclose = (e) => resolve([came, e.code]);
});

window.callAll = async (address) => {
	const base = "http://" + address;
	await connect("Connect, JSON", createConnectTransport({ baseUrl: base }));
	await connect("Connect, binary", createConnectTransport({ baseUrl: base, useBinaryFormat: true }));
	await connect("Connect, GET", createConnectTransport({ baseUrl: base, useHttpGet: true }));
	await connect("gRPC-Web, binary", createGrpcWebTransport({ baseUrl: base }));
	await connect("gRPC-Web, JSON", createGrpcWebTransport({ baseUrl: base, useBinaryFormat: false }));
	await grpcWeb(base, "binary");
	await grpcWeb(base, "text");
	want(await talk("ws://" + address + "/Chat/Talk"), [[2, 3], 1000], "WebSocket");
};
window.ready = true;
