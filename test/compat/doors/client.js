// Calls a weft server by jayson, over HTTP and TCP, and by fetch. The argument is the address.
"use strict";
const assert = require("node:assert");
const jayson = require("jayson/promise");

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
}

main().catch((e) => {
	console.error(e);
	process.exit(1);
});
