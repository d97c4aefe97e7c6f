// npm run bench [-- --rows 1000000 --runs 5 --only startup,csv --write]
//   `--only compare --against <checkout>`: this build and that of another checkout.
// Prints a Markdown table for each section; --write keeps them in bench/results.md, where sections that were
// not run stay as they are.
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { machine } from './report.mjs';
import { SECTIONS } from './sections.mjs';
import { DATA, keepBuild } from './workbench.mjs';

const RESULTS = fileURLToPath(new URL('results.md', import.meta.url));
const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    runs: { type: 'string', default: '5' },
    only: { type: 'string' },
    against: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
const names = Object.keys(SECTIONS);
const wanted = values.only?.split(',') ?? names.filter((name) => !SECTIONS[name].onRequest);
const [rows, runs] = [Number(values.rows), Number(values.runs)];
const unknown = wanted.find((name) => !names.includes(name));

if (unknown !== undefined) stop(`unknown section "${unknown}": ${names.join(', ')}`);
else if (!(rows >= 1000 && runs >= 1)) stop('--rows is at least 1000, --runs at least 1');
else await bench();

function stop(message) {
  console.error(message);
  process.exitCode = 2;
}

async function bench() {
  await keepBuild();
  const found = new Map();
  for (const name of names.filter((section) => wanted.includes(section))) {
    console.error(`${name}:`);
    const { title, measure } = SECTIONS[name];
    const text = await measure({ rows, runs, other: values.against }).catch((error) => {
      process.exitCode = 1;
      return `Not measured: ${error.message.split('\n').slice(0, 5).join(' ')}`;
    });
    const block = `## ${title}\n\n${machine(DATA)} · ${rows} rows, ${runs} runs\n\n${text}\n`;
    found.set(name, block);
    console.log(block);
  }
  if (values.write) await write(found);
}

/** Each block stands between marks of its section's name, so that the next run finds it. */
async function write(found) {
  const before = existsSync(RESULTS) ? await readFile(RESULTS, 'utf8') : '';
  const blocks = names.flatMap((name) => {
    const kept = before.match(new RegExp(`<!-- ${name} -->\\n([^]*?)<!-- /${name} -->`))?.[1];
    const block = found.get(name) ?? kept;
    return block ? [`<!-- ${name} -->\n${block}<!-- /${name} -->`] : [];
  });
  await writeFile(
    RESULTS,
    `# Results\n\nWritten by \`npm run bench -- --write\`.\n\n${blocks.join('\n\n')}\n`,
  );
}
