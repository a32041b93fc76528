// The OpenAPI document as a list that opens and closes.

import { $, make } from "./dom.js";

const document_ = await (await fetch("openapi.json")).json();
const pretty = (schema) => make("pre", {}, JSON.stringify(schema, null, 1));

for (const [path, methods] of Object.entries(document_.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const parts = [make("summary", {}, make("code", {}, `${method.toUpperCase()} ${path}`), ` ${operation.summary}`)];
    const body = operation.requestBody?.content["application/json"].schema;
    if (body) parts.push(make("h2", {}, "Body"), pretty(body));
    for (const [status, answer] of Object.entries(operation.responses)) {
      const kinds = Object.entries(answer.content ?? {});
      parts.push(make("h2", {}, `Answer ${status}: ${answer.description}`));
      for (const [kind, { schema }] of kinds) parts.push(make("p", { class: "hint" }, kind), pretty(schema.$ref ? document_.components.schemas.Error : schema));
    }
    $("operations").append(make("details", { class: "operation" }, ...parts));
  }
}
