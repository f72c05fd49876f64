// Calls a weft server by jayson, over HTTP and TCP, by fetch, and by ws. The argument is the address.
"use strict";
const assert = require("node:assert");
const jayson = require("jayson/promise");
const WebSocket = require("ws");

// talk opens a WebSocket, sends messages, and returns what came until the end, with its code.
function talk(url, send, enough) {
	return new Promise((resolve, reject) => {
		const socket = new WebSocket(url);
		const came = [];
		socket.on("error", reject);
		socket.on("open", () => send.forEach((m) => socket.send(m)));
		socket.on("message", (m) => {
			came.push(JSON.parse(m.toString()));
			if (came.length === enough) socket.close(1000);
		});
		socket.on("close", (code) => resolve([came, code]));
	});
}

async function main() {
	const [host, port] = process.argv[2].split(":");
	for (const client of [jayson.Client.http({ host, port, path: "/rpc" }), jayson.Client.tcp({ host, port: Number(port) })]) {
		assert.strictEqual((await client.request("Arith.Mul", [7, 8])).result, 56);
		assert.strictEqual((await client.request("Arith.Mul", { a: 7, b: 8 })).result, 56);
		const failed = await client.request("Arith.Div", { a: 1, b: 0 });
		assert.strictEqual(failed.error.code, -32003);
		assert.strictEqual(failed.error.data.reason, "ZERO");
		assert.strictEqual((await client.request("Arith.None", [])).error.code, -32601);
		const batch = await client.request([client.request("Arith.Mul", [2, 3], undefined, false), client.request("Arith.Mul", [4, 5], undefined, false)]);
		assert.deepStrictEqual(batch.map((a) => a.result).sort((a, b) => a - b), [6, 20]);
	}
	const url = "http://" + process.argv[2];
	const answer = await fetch(url + "/Arith/Mul", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ a: 7, b: 8 }) });
	assert.strictEqual(await answer.json(), 56);
	const stream = await (await fetch(url + "/Tree/Count?a=3")).text();
	assert.deepStrictEqual(stream.trim().split("\n").map((line) => JSON.parse(line).result.name), ["0", "1", "2"]);

	const ws = "ws://" + process.argv[2];
	const calls = [1, 2, 3].map((n) => JSON.stringify({ jsonrpc: "2.0", method: "Arith.Mul", params: [n, 7], id: n }));
	const [answers, closed] = await talk(ws + "/rpc", [calls[0], "[" + calls[1] + "," + calls[2] + "]"], 2);
	assert.deepStrictEqual(answers.flat().sort((a, b) => a.id - b.id), [1, 2, 3].map((n) => ({ jsonrpc: "2.0", id: n, result: 7 * n })));
	assert.strictEqual(closed, 1000);
	assert.deepStrictEqual(await talk(ws + "/Tree/Sum", ['{"a":1}', '{"a":2}', ""]), [[{ result: 3 }], 1000]);
	const [failed, code] = await talk(ws + "/Tree/Talk", ['{"name":"oak"}', "{}"]);
	assert.deepStrictEqual([failed[0], failed[1].error.reason, code], [{ result: { name: "oak" } }, "NAMELESS", 4003]);
}

main().catch((e) => {
	console.error(e);
	process.exit(1);
});
