// Calls the server by a client that was made from its OpenAPI document: openapi-typescript has written paths.d.ts from
// /openapi.json, and openapi-fetch calls what it names. What the server says of its methods is so checked by the compiler,
// and what it answers by the comparisons below.
import { strict as assert } from "assert";
import createClient from "openapi-fetch";
import type { components, paths } from "./paths";

const api = createClient<paths>({ baseUrl: `http://${process.argv[2]}` });

const posted = await api.POST("/Arith/Mul", { body: { a: 7, b: 8 } });
assert.equal(posted.data, 56);

const queried = await api.GET("/Arith/Mul", { params: { query: { a: 7, b: -8 } } });
assert.equal(queried.data, -56);

const addressed = await api.GET("/mul/{a}/{b}", { params: { path: { a: 6, b: 7 } } });
assert.equal(addressed.data, 42);

const divided = await api.POST("/div", { params: { query: { a: 9 } }, body: 2 });
assert.equal(divided.data, 4.5);

const tree: components["schemas"]["main.Node"] = { next: [{ name: "leaf", data: "AP8=", meta: { "leaves are": ["green", 1] } }] };
const put = await api.PUT("/trees/{name}", { params: { path: { name: "an oak/1" } }, body: tree });
assert.deepEqual(put.data, { ...tree, name: "an oak/1" });

const failed = await api.POST("/Arith/Div", { body: { a: 1 } });
assert.equal(failed.data, undefined);
assert.deepEqual([failed.response.status, failed.error?.code, failed.error?.reason, failed.error?.outcome], [400, "InvalidArgument", "ZERO", "Executed"]);

const counted = await api.POST("/Tree/Count", { body: { a: 3 }, headers: { Accept: "application/x-ndjson" }, parseAs: "text" });
assert.deepEqual(counted.data?.trim().split("\n").map((line) => JSON.parse(line).result.name), ["0", "1", "2"]);

// @ts-expect-error: there is no such method
await api.POST("/Arith/None", { body: {} });
// @ts-expect-error: an operand is a number
const refused = await api.POST("/Arith/Mul", { body: { a: "7" } });
assert.equal(refused.error?.code, "InvalidArgument");
// @ts-expect-error: a reply is a number
const text: string | undefined = posted.data;
assert.equal(text, 56);
