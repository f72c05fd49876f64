// A server of Apache Thrift's library for Node.js: node server.js GENERATED FRAMING PROTOCOL. It prints its port, then what log is told,
// and ends with its standard input.
"use strict";

const path = require("path");
const thrift = require("thrift");

const [generated, framing, protocol] = process.argv.slice(2);
const Shop = require(path.join(generated, "Shop.js"));
const types = require(path.join(generated, "shop_types.js"));

const handler = {
  async add(a, b) {
    return a + b;
  },
  async echo(order) {
    return order;
  },
  async find(id) {
    if (Number(id) !== 7) {
      throw new types.NotFound({ id });
    }
    return new types.Order({ id, name: "seven" });
  },
  async states() {
    return [types.OrderState.OPEN];
  },
  async log(line) {
    console.log(line);
  },
  async ping() {},
};

const server = thrift.createServer(Shop, handler, {
  transport: framing === "framed" ? thrift.TFramedTransport : thrift.TBufferedTransport,
  protocol: { binary: thrift.TBinaryProtocol, compact: thrift.TCompactProtocol, json: thrift.TJSONProtocol }[protocol],
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
