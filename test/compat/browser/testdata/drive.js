// Drives Chromium. The arguments are the address of the server, the origin of pages that may call it, and one of
// pages that may not.
import assert from "node:assert";
import puppeteer from "puppeteer-core";

const [address, friend, stranger] = process.argv.slice(2);
const port = address.split(":")[1];
const browser = await puppeteer.launch({ executablePath: "/usr/bin/chromium", headless: true,
	args: ["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP rebound.example 127.0.0.1"] });
try {
	const page = await browser.newPage();
	page.setDefaultTimeout(120_000);
	const errors = [];
	page.on("pageerror", (e) => errors.push(String(e)));

	// The server's own page lists the methods, and "try it" gets a reply.
	await page.goto("http://" + address + "/docs");
	await page.waitForSelector("#methods .method");
	assert.equal(await page.$eval("#title", (e) => e.textContent), "Trial 1");
	const entry = await page.$('details[data-name="post /arith/mul arith.mul"]');
	assert.ok(entry, "the page does not list POST /Arith/Mul");
	await entry.evaluate((e) => {
		e.open = true;
		e.querySelector("textarea").value = '{"a":7,"b":8}';
		e.querySelector("form").requestSubmit();
	});
	await page.waitForFunction((e) => e.querySelector(".answer").textContent.includes("56"), {}, entry);
	assert.match(await entry.$eval(".answer", (e) => e.textContent), /^200 OK\n56/);

	// A page of another origin that the configuration names calls by every client.
	await page.goto(friend);
	await page.waitForFunction(() => window.ready);
	await page.evaluate((a) => window.callAll(a), address);

	// One that it does not name can neither call nor open a WebSocket.
	await page.goto(stranger);
	await page.waitForFunction(() => window.ready);
	const call = (url) => page.evaluate(async (u) => {
		try {
			return (await fetch(u, { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"a":7,"b":8}' })).status;
		} catch (e) {
			return e.name;
		}
	}, url);
	assert.equal(await call("http://" + address + "/Arith/Mul"), "TypeError");
	assert.deepEqual(await page.evaluate((a) => window.talk("ws://" + a + "/Chat/Talk"), address), [[], 1006]);

	// Nor can one whose name leads to the server, though it is of the same origin.
	await page.goto("http://rebound.example:" + port + "/docs");
	await page.waitForFunction(() => document.getElementById("about").textContent.includes("Config.Hosts"));
	assert.equal(await call("/Arith/Mul"), 403);
	assert.equal(await page.evaluate(async () => (await fetch("/Arith/Mul?a=7&b=8")).status), 403);
	assert.equal(await page.evaluate(() => new Promise((resolve) => {
		const socket = new WebSocket("ws://" + location.host + "/Chat/Talk");
		socket.onclose = (e) => resolve(e.code);
	})), 1006);
	assert.deepEqual(errors, []);
} finally {
	await browser.close();
}
