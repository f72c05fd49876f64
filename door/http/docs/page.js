"use strict";
// The page shows /openapi.json and calls its methods. What comes from the server is only ever set
// as text.

const byId = (id) => document.getElementById(id);

// resolve follows a reference, to a depth that a type which contains itself does not exceed.
function resolve(doc, schema) {
	const prefix = "#/components/schemas/";
	return schema && schema.$ref && schema.$ref.startsWith(prefix) ? doc.components.schemas[schema.$ref.slice(prefix.length)] || {} : schema || {};
}

// sample is a value of a schema, to begin with.
function sample(doc, schema, depth) {
	const s = resolve(doc, schema);
	if (s.anyOf) return sample(doc, s.anyOf[0], depth);
	const type = Array.isArray(s.type) ? s.type[0] : s.type;
	if (s.enum) return s.enum[0];
	if (type === "object") {
		const out = {};
		if (depth < 4) for (const name of Object.keys(s.properties || {})) out[name] = sample(doc, s.properties[name], depth + 1);
		return out;
	}
	if (type === "array") return depth < 4 && s.items ? [sample(doc, s.items, depth + 1)] : [];
	if (type === "string") return s.format === "date-time" ? "2026-01-01T00:00:00Z" : s.format === "int64" ? "0" : "";
	if (type === "integer" || type === "number") return 0;
	if (type === "boolean") return false;
	return null;
}

// describe is a schema as text.
function describe(doc, schema, depth) {
	const s = resolve(doc, schema);
	const pad = "  ".repeat(depth + 1);
	if (s.anyOf) return describe(doc, s.anyOf[0], depth) + " or null";
	const type = Array.isArray(s.type) ? s.type.join(" or ") : s.type || "any";
	if (s.properties && depth < 4) {
		const lines = Object.keys(s.properties).map((name) => {
			const p = s.properties[name];
			return pad + name + ": " + describe(doc, p, depth + 1) + (p.description ? "  // " + p.description : "");
		});
		return "{\n" + lines.join("\n") + "\n" + "  ".repeat(depth) + "}";
	}
	if (s.items) return "list of " + describe(doc, s.items, depth);
	if (s.additionalProperties) return "map of " + describe(doc, s.additionalProperties, depth);
	return type + (s.format ? " (" + s.format + ")" : "") + (s.enum ? ": " + s.enum.join(", ") : "");
}

// contentOf is the first media type of a body, and its schema.
function contentOf(body) {
	const types = Object.keys((body && body.content) || {});
	return types.length ? [types[0], body.content[types[0]].schema] : [null, null];
}

// call sends a request and shows the answer as it comes in.
async function call(verb, path, op, inputs, body, type, out) {
	const query = new URLSearchParams();
	for (const [parameter, input] of inputs) {
		if (parameter.in === "path") path = path.replace("{" + parameter.name + "}", encodeURIComponent(input.value));
		else if (input.value !== "") {
			const many = parameter.schema.type === "array";
			for (const value of many ? input.value.split(",") : [input.value]) query.append(parameter.name, value);
		}
	}
	const headers = {};
	if (byId("authorization").value) headers.Authorization = byId("authorization").value;
	if (type) headers["Content-Type"] = type;
	out.hidden = false;
	out.textContent = "…";
	try {
		const text = query.toString();
		const answer = await fetch(path + (text ? "?" + text : ""), { method: verb, headers, body: type ? body : undefined, credentials: "omit" });
		out.classList.toggle("bad", !answer.ok);
		out.textContent = answer.status + " " + answer.statusText + "\n";
		const reader = answer.body.getReader();
		const decoder = new TextDecoder();
		let all = "";
		for (;;) {
			const { done, value } = await reader.read();
			if (done) break;
			all += decoder.decode(value, { stream: true });
			out.textContent = answer.status + " " + answer.statusText + "\n" + all;
		}
		if (/json$/.test((answer.headers.get("Content-Type") || "").split(";")[0]) && !/ndjson/.test(answer.headers.get("Content-Type"))) {
			out.textContent = answer.status + " " + answer.statusText + "\n" + JSON.stringify(JSON.parse(all), null, 2);
		}
	} catch (e) {
		out.classList.add("bad");
		out.textContent = String(e);
	}
}

// show adds a method to the page.
function show(doc, path, verb, op) {
	const node = byId("method").content.cloneNode(true);
	const find = (c) => node.querySelector(c);
	const [type, schema] = contentOf(op.requestBody);
	find(".verb").textContent = verb.toUpperCase();
	find(".path").textContent = path;
	find(".summary").textContent = (op.summary || "") + (op["x-weft-stream"] ? " (" + op["x-weft-stream"] + ")" : "");
	find(".description").textContent = op.description || "";
	find(".request").textContent = schema ? describe(doc, schema, 0) : "no body";
	find(".reply").textContent = describe(doc, contentOf(op.responses["200"])[1], 0);
	const inputs = (op.parameters || []).map((parameter) => {
		const label = document.createElement("label");
		const name = document.createElement("span");
		const input = document.createElement("input");
		name.textContent = parameter.name + (parameter.required ? " *" : "");
		input.required = !!parameter.required;
		input.placeholder = parameter.schema.type || "";
		input.title = parameter.description || "";
		input.name = parameter.name;
		label.append(name, input);
		find(".parameters").append(label);
		return [parameter, input];
	});
	const area = find("textarea");
	if (schema) area.value = JSON.stringify(sample(doc, schema, 0), null, type === "application/json" ? 2 : 0);
	else find(".body").hidden = true;
	const out = find(".answer");
	const details = find("details");
	details.dataset.name = (verb + " " + path + " " + op.operationId).toLowerCase();
	find("form").addEventListener("submit", (e) => {
		e.preventDefault();
		call(verb.toUpperCase(), path, op, inputs, area.value, type, out);
	});
	byId("methods").append(node);
}

async function start() {
	const answer = await fetch("/openapi.json", { credentials: "omit" });
	const doc = await answer.json();
	if (!answer.ok) throw new Error(doc.detail || answer.statusText);
	document.title = doc.info.title;
	byId("title").textContent = doc.info.title + " " + doc.info.version;
	byId("about").textContent = doc.info.description || "";
	for (const path of Object.keys(doc.paths)) {
		for (const verb of Object.keys(doc.paths[path])) show(doc, path, verb, doc.paths[path][verb]);
	}
	byId("filter").addEventListener("input", (e) => {
		for (const m of document.querySelectorAll(".method")) m.hidden = !m.dataset.name.includes(e.target.value.toLowerCase());
	});
}

start().catch((e) => { byId("about").textContent = "The description cannot be read: " + e; });
