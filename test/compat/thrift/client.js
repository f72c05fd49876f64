// Apache Thrift's library for Node.js against a weft server: node client.js GENERATED HOST:PORT
// FRAMING PROTOCOL. Many calls are open at the same time, and the client knows their replies by
// their sequence numbers.
"use strict";

const assert = require("assert");
const path = require("path");
const thrift = require("thrift");

const [generated, address, framing, protocol] = process.argv.slice(2);
const Shop = require(path.join(generated, "Shop.js"));
const types = require(path.join(generated, "shop_types.js"));

const port = Number(address.split(":").pop());
const connection = thrift.createConnection("127.0.0.1", port, {
  transport: framing === "framed" ? thrift.TFramedTransport : thrift.TBufferedTransport,
  protocol: { binary: thrift.TBinaryProtocol, compact: thrift.TCompactProtocol, json: thrift.TJSONProtocol }[protocol],
});
connection.on("error", (err) => {
  console.error(err);
  process.exit(1);
});

async function exercise(client) {
  const sums = await Promise.all(Array.from({ length: 100 }, (_, n) => client.add(n, 1)));
  assert.deepStrictEqual(sums, Array.from({ length: 100 }, (_, n) => n + 1));
  const order = new types.Order({
    name: "caf\u00e9", price: -0.25, paid: true, picture: Buffer.from([0, 255]), lines: [new types.Line({ article: "a", number: -1 })],
    tags: ["x"], notes: { k: "v" }, gift: false,
  });
  const back = await client.echo(order);
  assert.strictEqual(back.name, order.name);
  assert.strictEqual(back.price, order.price);
  assert.strictEqual(back.lines[0].number, -1);
  assert.deepStrictEqual(back.tags, order.tags);
  assert.deepStrictEqual({ ...back.notes }, order.notes);
  assert.deepStrictEqual([back.paid, back.gift], [true, false]);
  assert.deepStrictEqual(Buffer.from(back.picture), order.picture);
  await assert.rejects(client.find(8), types.NotFound);
  await assert.rejects(client.find(-1), (err) => err instanceof thrift.Thrift.TApplicationException && err.message === "InvalidArgument: the number -1 is negative");
  await client.ping();
}

exercise(thrift.createClient(Shop, connection)).then(
  () => connection.end(),
  (err) => {
    console.error(err);
    process.exit(1);
  },
);
