// Writes THIRD-PARTY-NOTICES: the licenses of the packages that are bundled into dist/, as the bundler
// reports them.
//   node scripts/notices.mjs           writes the file
//   node scripts/notices.mjs --check   exits with 1 if it is out of date
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundle } from './bundle.mjs';

const FILE = 'THIRD-PARTY-NOTICES';

/**
 * Packages with license MIT in package.json, but without its text. Any other package without a text is an
 * error.
 */
const MIT_BY_NAME = new Set(['@bomb.sh/tab', 'pg-types']);

const { metafile } = await bundle();
const folders = new Set();
for (const { inputs } of Object.values(metafile.outputs)) {
  for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
    const [folder] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [];
    if (folder && bytesInOutput > 0) folders.add(folder);
  }
}

const notices = await Promise.all(
  [...folders].map(async (folder) => {
    const about = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    const { name, version, license, author } = about;
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file && !(MIT_BY_NAME.has(name) && license === 'MIT'))
      throw new Error(`${name} has no license file: may it be bundled?`);
    const own = await readFile(file ? join(folder, file) : 'LICENSE', 'utf8');
    const text = file ? own : own.replace(/^Copyright .*$/m, `Copyright (c) ${author.name ?? author}`);
    const key = `${name} ${version}`;
    return { key, text: `${key} (${license})\n\n${text.replaceAll('\r\n', '\n').trim()}\n` };
  }),
);
notices.sort((a, b) => (a.key < b.key ? -1 : 1));

const rule = `\n${'-'.repeat(80)}\n\n`;
const text = `dist/ holds code of the following packages, under their own licenses.\n${notices.map((notice) => rule + notice.text).join('')}`;

if (process.argv.includes('--check')) {
  const written = await readFile(FILE, 'utf8').catch(() => '');
  if (written !== text) {
    console.error(`${FILE} is out of date: run node scripts/notices.mjs`);
    process.exitCode = 1;
  }
} else {
  await writeFile(FILE, text);
  console.log(`${FILE}: ${notices.length} packages`);
}
