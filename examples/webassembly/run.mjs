// node run.mjs MODULE.wasm SCENARIO.toml: prints the tables of a scenario.
import { readFile } from "node:fs/promises";

const [module, scenario] = process.argv.slice(2);
if (scenario === undefined) {
  console.error("usage: node run.mjs MODULE.wasm SCENARIO.toml");
  process.exit(2);
}
const { instance } = await WebAssembly.instantiate(await readFile(module));
const { push, run, length, byte } = instance.exports;
for (const value of await readFile(scenario)) push(value);
const succeeded = run();
const result = Buffer.from(Array.from({ length: length() }, (_, index) => byte(index)));
(succeeded ? process.stdout : process.stderr).write(result);
process.exitCode = succeeded ? 0 : 1;
