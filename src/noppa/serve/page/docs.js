// Renders the OpenAPI document: each operation with its fields, examples for curl and Python, and a form to try it.

import { get, key, setKey } from "./api.js";
import { $, make } from "./dom.js";
import * as theme from "./theme.js";

const MOST_SHOWN = 20000; // characters of an answer
theme.start();

const json = (value) => JSON.stringify(value, null, 2);
const anchor = (verb, path) => `${verb}${path}`.replaceAll(/[^a-z0-9]+/gi, "-").replace(/-$/, "").toLowerCase();
const place = (path) => new URL(path.replace(/^\//, ""), location.href.replace(/#.*/, "").replace(/docs$/, "")).href;

let components = {};
const resolve = (schema) => (schema.$ref ? components[schema.$ref.split("/").pop()] : schema);

// Describes a schema in a few words.
function kind(reference) {
  const schema = resolve(reference);
  if (schema.anyOf) return [...new Set(schema.anyOf.map(kind))].filter(Boolean).join(" or ");
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(", ");
  if ("const" in schema) return JSON.stringify(schema.const);
  const types = [schema.type ?? "anything"].flat().filter((one) => one !== "null");
  const items = schema.items && kind(schema.items);
  return types.map((type) => (type === "array" && items ? `array of ${items}` : type)).join(" or ");
}

const range = ({ minimum, maximum, maxItems }) => [minimum !== undefined && `from ${minimum}`, maximum !== undefined && `to ${maximum}`, maxItems !== undefined && `up to ${maxItems} items`].filter(Boolean).join(" ");
const limits = (schema) => [schema, ...(schema.anyOf ?? [])].map(range).find(Boolean) ?? "";
const meaning = (schema) => [schema, ...(schema.anyOf ?? [])].map(({ description }) => description).find(Boolean) ?? "";

function fields(reference) {
  const schema = resolve(reference);
  if (schema.anyOf) return schema.anyOf.flatMap((one, at) => [...(at ? [make("p", { class: "hint" }, "or")] : []), ...fields(one)]);
  if (!schema.properties) return [make("p", {}, kind(schema))];
  const rows = Object.entries(schema.properties).map(([name, field]) => make("tr", {}, make("th", { scope: "row" }, make("code", {}, name)),
    make("td", {}, [kind(field), schema.required?.includes(name) ? "required" : "", limits(field)].filter(Boolean).join("; ")), make("td", {}, meaning(field))));
  return [make("table", {}, make("thead", {}, make("tr", {}, ...["Field", "Value", "Meaning"].map((name) => make("th", { scope: "col" }, name)))), make("tbody", {}, ...rows))];
}

// Examples

const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const python = (value) => JSON.stringify(value).replaceAll(/"(?:[^"\\]|\\.)*"|\btrue\b|\bfalse\b|\bnull\b|[,:](?=\S)/g, (token) => ({ true: "True", false: "False", null: "None", ",": ", ", ":": ": " })[token] ?? token);

function curl(verb, path, body, keyed) {
  const head = keyed ? ' -H "Authorization: Bearer $KEY"' : "";
  if (verb === "GET") return `curl ${place(path)}${head}`;
  const content = body === undefined ? "" : ` -H 'Content-Type: application/json' \\\n  -d ${quote(JSON.stringify(body))}`;
  return `curl${verb === "POST" ? "" : ` -X ${verb}`} ${place(path)}${head}${content}`;
}

function program(verb, path, body, keyed) {
  const given = [JSON.stringify(place(path)), ...(keyed ? ['headers={"Authorization": f"Bearer {key}"}'] : []), ...(body === undefined ? [] : [`json=${python(body)}`])];
  return `import requests\n\nanswer = requests.${verb.toLowerCase()}(\n${given.map((one) => `    ${one},\n`).join("")})\nanswer.raise_for_status()\nprint(answer.text)`;
}

function snippet(title, text) {
  const button = make("button", { type: "button", class: "copy", "aria-label": `Copy the example for ${title}` }, "Copy");
  button.addEventListener("click", async () => { await navigator.clipboard.writeText(text); button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); });
  return [make("h3", {}, title), make("div", { class: "snippet" }, make("pre", {}, make("code", {}, text)), button)];
}

// A form that sends a request and shows the response.
function form(verb, path, body, name) {
  const address = make("input", { type: "text", id: `${name}-path`, value: path.replace("{id}", "") });
  const editor = make("textarea", { id: `${name}-body`, rows: 4, spellcheck: "false" }, body === undefined ? "" : json(body));
  const status = make("p", { class: "status", role: "status" }), shown = make("pre", { class: "answer", tabindex: "-1", hidden: "" });
  const send = make("button", { type: "submit" }, `Send ${verb} ${path}`);
  const parts = [...(path.includes("{") ? [make("label", { for: address.id }, "Path"), address] : []), ...(body === undefined ? [] : [make("label", { for: editor.id }, "Body"), editor])];
  const node = make("form", {}, make("h3", {}, "Try it"), ...parts, make("p", { class: "row" }, send), status, shown);
  node.addEventListener("submit", async (event) => {
    event.preventDefault();
    shown.setAttribute("aria-busy", "true");
    const began = performance.now();
    try {
      if (body !== undefined) JSON.parse(editor.value);
      const headers = { ...(body !== undefined && { "content-type": "application/json" }), ...(key() && { authorization: `Bearer ${key()}` }) };
      const answer = await fetch(place(path.includes("{") ? address.value : path), { method: verb, headers, body: body === undefined ? undefined : editor.value });
      const text = await answer.text();
      status.textContent = `${answer.status} ${answer.statusText} · ${Math.round(performance.now() - began)} ms · ${text.length.toLocaleString("en")} characters`;
      shown.textContent = pretty(text).slice(0, MOST_SHOWN) + (text.length > MOST_SHOWN ? "\n…" : "");
      shown.hidden = !text;
    } catch (error) {
      status.textContent = error instanceof SyntaxError ? `The body is not valid JSON: ${error.message}` : "The server does not respond. Is it still running?";
    } finally {
      shown.setAttribute("aria-busy", "false");
    }
  });
  return node;
}

// Formats JSON with one field per line, but arrays of numbers on one line; returns other text unchanged.
function pretty(text) {
  try {
    return json(JSON.parse(text)).replaceAll(/\[\s+((?:-?[\d.e+-]+,?\s+)+)\]/gi, (_, numbers) => `[${numbers.trim().replaceAll(/\s+/g, " ")}]`);
  } catch {
    return text;
  }
}

function operation(described, path, verb, one) {
  const name = anchor(verb, path), content = one.requestBody?.content["application/json"], body = content?.example ?? (content && {});
  const keyed = Boolean(described.security) && one.security?.length !== 0;
  const parts = [make("summary", {}, make("h2", {}, make("code", {}, `${verb} ${path}`)), make("p", {}, one.summary)), make("p", {}, make("a", { href: `#${name}` }, "Link to this operation"))];
  if (content) parts.push(make("h3", {}, "Body"), ...fields(content.schema));
  parts.push(...snippet("curl", curl(verb, path, body, keyed)), ...snippet("Python", program(verb, path, body, keyed)), form(verb, path, body, name), make("h3", {}, "Response"));
  for (const [status, answer] of Object.entries(one.responses)) {
    if (status === "default") continue;
    const [type, found] = Object.entries(answer.content ?? {})[0] ?? [];
    parts.push(make("p", { class: "hint" }, `${status}${type ? `, ${type}` : ""}`), ...(found?.schema && Object.keys(found.schema).length ? [make("details", {}, make("summary", {}, "Schema"), make("pre", {}, json(resolve(found.schema))))] : []));
  }
  parts.push(make("p", { class: "hint" }, "All errors look like this: {\"error\": {\"message\", \"type\", \"param\", \"code\"}}."));
  $("contents").append(make("li", {}, make("a", { href: `#${name}` }, make("span", { class: "verb" }, verb), path)));
  $("main").append(make("details", { class: "operation", id: name }, ...parts));
}

// Opens the operation in the address.
function open() {
  const named = $(location.hash.slice(1));
  if (named?.matches("details")) { named.open = true; named.scrollIntoView(); named.querySelector("summary").focus({ preventScroll: true }); }
}

try {
  const described = await get("openapi.json");
  components = described.components.schemas;
  for (const [path, verbs] of Object.entries(described.paths)) for (const [verb, one] of Object.entries(verbs)) operation(described, path, verb.toUpperCase(), one);
  $("key-field").hidden = !described.security;
  $("key").value = key();
  $("key").addEventListener("input", () => setKey($("key").value.trim()));
  addEventListener("hashchange", open);
  open();
} catch (error) {
  $("problem").hidden = false;
  $("problem").textContent = error.message;
}
