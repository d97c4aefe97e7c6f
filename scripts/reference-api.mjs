// npm run reference:api: writes the reference of the library from the published declarations. typedoc is
// installed below scripts/api-reference when it is first needed.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { declarations } from './types.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TOOL = join(ROOT, 'scripts/api-reference');

/** By page: the file of declarations, the entry that they come from, and the name that programs import. */
const PAGES = {
  'docs/library-api.md': { types: 'index', entry: 'src/engine/index.ts', name: 'profiles-cli' },
  'docs/library-sandbox-api.md': {
    types: 'sandbox',
    entry: 'src/sandbox/index.ts',
    name: 'profiles-cli/sandbox',
  },
};

/**
 * A hash of everything that a page is generated from. It is the last line of the page, so that a test can
 * compare it without typedoc.
 * @param {string} page
 * @param {string} types text of the declarations
 */
export function fingerprint(page, types) {
  const tool = ['plugin.mjs', 'typedoc.json', 'package.json'].map((name) =>
    readFileSync(join(TOOL, name), 'utf8'),
  );
  return createHash('sha256')
    .update([page, types, ...tool].join('\0'))
    .digest('hex')
    .slice(0, 16);
}

export const API_PAGES = Object.entries(PAGES).map(([page, { types }]) => ({ page, types: `${types}.d.ts` }));

async function write() {
  const installed = join(TOOL, 'node_modules/.package-lock.json');
  const wanted = JSON.parse(readFileSync(join(TOOL, 'package.json'), 'utf8')).dependencies;
  const has = existsSync(installed) ? JSON.parse(readFileSync(installed, 'utf8')).packages : {};
  if (Object.entries(wanted).some(([name, version]) => has[`node_modules/${name}`]?.version !== version))
    execFileSync('npm ci --ignore-scripts', { cwd: TOOL, shell: true, stdio: 'inherit' });

  const folder = join(TOOL, '.declarations');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  try {
    const files = Object.fromEntries(
      Object.values(PAGES).map(({ types, entry }) => [`${types}.d.ts`, entry.replace(/^src\//, '')]),
    );
    const texts = await declarations(files);
    for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, name), text);
    const compilerOptions = { target: 'ES2022', module: 'NodeNext', strict: true, types: ['node'] };
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: Object.keys(texts) }),
    );
    const words = Object.keys(texts).flatMap((name) => ['--entryPoints', join(folder, name)]);
    words.push('--tsconfig', join(folder, 'tsconfig.json'), '--out', join(folder, 'pages'));
    execFileSync(process.execPath, [join(TOOL, 'node_modules/typedoc/bin/typedoc'), ...words], {
      cwd: TOOL,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    for (const [page, { types, name }] of Object.entries(PAGES)) {
      const made = await readFile(join(folder, `pages/${types}.md`), 'utf8');
      const mark = `<!-- ${fingerprint(page, texts[`${types}.d.ts`])}: npm run reference:api -->\n`;
      await writeFile(join(ROOT, page), `${made.replace(/^# \w+/, `# \`${name}\``).trimEnd()}\n\n${mark}`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await write();
