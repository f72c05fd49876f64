// A server of jayson over HTTP. It prints its port, then what note is told, and ends with its standard input.
"use strict";
const jayson = require("jayson");

const numbers = (args) => (Array.isArray(args) ? args : [args.a, args.b]);
const mul = (args, done) => done(null, numbers(args)[0] * numbers(args)[1]);

const server = new jayson.Server({
	mul,
	"Arith.Mul": mul,
	div: (args, done) => done({ code: 7, message: "division by zero", data: { a: numbers(args)[0] } }),
	note: (args, done) => {
		console.log(args[0]);
		done(null, null);
	},
}).http();
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
