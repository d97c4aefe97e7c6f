// npm run bench [-- --rows 1000000 --runs 5 --only startup,csv --write]
// Prints a Markdown table for each section; --write keeps them in bench/results.md, where sections that were
// not run stay as they are.
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { machine } from './report.mjs';
import { DATA, keepBuild, NoRoom } from './workbench.mjs';

/** In the order in which they are run and shown, and the modules whose `sections` have them. */
const MODULES = {
  startup: 'start',
  'first-request': 'start',
  csv: 'imports',
  json: 'imports',
  columnar: 'imports',
  workbook: 'imports',
  conversions: 'imports',
  latency: 'imports',
  memory: 'imports',
  scale: 'scale',
  'changed-only': 'changes',
  'track-keys': 'changes',
  resume: 'changes',
  lookups: 'lookups',
  sandbox: 'sandbox',
  peers: 'peers',
};
const SECTIONS = Object.keys(MODULES);
/** Need packages from the registry, or very long, so they are run when asked for. */
const ON_REQUEST = ['scale', 'peers', 'columnar', 'workbook'];
const RESULTS = fileURLToPath(new URL('results.md', import.meta.url));

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    runs: { type: 'string', default: '5' },
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
const wanted = values.only?.split(',') ?? SECTIONS.filter((name) => !ON_REQUEST.includes(name));
const [rows, runs] = [Number(values.rows), Number(values.runs)];
const unknown = wanted.find((name) => !SECTIONS.includes(name));

if (unknown !== undefined) stop(`unknown section "${unknown}": ${SECTIONS.join(', ')}`);
else if (!(rows >= 1000 && runs >= 1)) stop('--rows is at least 1000, --runs at least 1');
else await bench();

function stop(message) {
  console.error(message);
  process.exitCode = 2;
}

async function bench() {
  await mkdir(DATA, { recursive: true });
  await keepBuild();
  const found = new Map();
  for (const name of SECTIONS.filter((section) => wanted.includes(section))) {
    console.error(`${name}:`);
    const { sections } = await import(`./${MODULES[name]}.mjs`);
    const section = sections[name];
    const text = await measured(section);
    const block = `## ${section.title}\n\n${machine(DATA)} · ${rows} rows, ${runs} runs\n\n${text}\n`;
    found.set(name, block);
    console.log(block);
  }
  if (values.write) await write(found);
}

/** A section that cannot be run here says so and leaves the others their turn. */
async function measured(section) {
  try {
    return await section.measure({ rows, runs });
  } catch (error) {
    if (!(error instanceof NoRoom)) process.exitCode = 1;
    return `Not measured: ${error.message.split('\n').slice(0, 5).join(' ')}`;
  }
}

/** Each block stands between marks of its section's name, so that the next run finds it. */
async function write(found) {
  const before = existsSync(RESULTS) ? await readFile(RESULTS, 'utf8') : '';
  const blocks = SECTIONS.flatMap((name) => {
    const kept = before.match(new RegExp(`<!-- ${name} -->\\n([^]*?)<!-- /${name} -->`))?.[1];
    const block = found.get(name) ?? kept;
    return block ? [`<!-- ${name} -->\n${block}<!-- /${name} -->`] : [];
  });
  await writeFile(
    RESULTS,
    `# Results\n\nWritten by \`npm run bench -- --write\`.\n\n${blocks.join('\n\n')}\n`,
  );
}
