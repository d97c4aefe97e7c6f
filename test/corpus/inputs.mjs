// The inputs of the corpus: files that are there, and files that a seed makes. Each is `{ name, files, options }`.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { chance, json, table } from './generate.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const FIXTURES = here('../../fixtures');
const DATA = here('../../../shared/data');
const SPECTRUM = here('../../node_modules/csv-spectrum/csvs');

/** Files in a folder and below, by their paths in it. */
function filesIn(folder, below = '') {
  if (!existsSync(join(folder, below))) return [];
  return readdirSync(join(folder, below))
    .map((name) => join(below, name))
    .flatMap((path) => (statSync(join(folder, path)).isDirectory() ? filesIn(folder, path) : path))
    .sort();
}

const DATA_FILE = /\.(?:csv|tsv|txt|json|ndjson|jsonl|xlsx|xls|parquet|gz|zip)$/;
/** How each file is read, in addition to the default. */
const READINGS = [
  {},
  { guess: 'id' },
  {
    guess: 'id',
    shortRows: 'pad',
    lenientQuotes: true,
    excelText: true,
    renameDuplicates: true,
    roundNumbers: true,
  },
  {
    guess: 'id',
    rules: { trim: true, nulls: ['NULL', 'n/a', '-'], empty: 'null', keys: 'snake_case' },
    limit: 7,
  },
];

function* fromFiles(folder, label) {
  for (const path of filesIn(folder).filter((path) => DATA_FILE.test(path))) {
    const content = readFileSync(join(folder, path));
    if (content.length > 2 * 1024 * 1024) continue;
    for (const [at, { guess, ...options }] of READINGS.entries()) {
      const id = guess ? firstColumn(content) : undefined;
      if (guess && !id) continue;
      const named = id ? { kind: 'companies', id } : {};
      yield {
        name: `${label}/${path}#${at}`,
        files: { [basename(path)]: content },
        options: { ...options, ...named },
      };
    }
  }
}

/** The first name in a text, whatever its format. */
const firstColumn = (content) =>
  /[\p{L}_][\p{L}\w ]*/u.exec(content.subarray(0, 4096).toString('utf8'))?.[0].trim();

/** Texts in the tests of Papa Parse, as npm publishes them. None without a registry. */
function* papaparse() {
  const folder = mkdtempSync(join(tmpdir(), 'papaparse-'));
  try {
    execFileSync('npm', ['pack', '--silent', 'papaparse@5.5.3'], {
      cwd: folder,
      stdio: 'ignore',
      timeout: 60_000,
    });
    execFileSync('tar', ['xzf', join(folder, 'papaparse-5.5.3.tgz'), '-C', folder]);
    const cases = readFileSync(join(folder, 'package/tests/test-cases.js'), 'utf8');
    const texts = [...cases.matchAll(/input: ("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')/g)].map(([, text]) =>
      text.slice(1, -1).replace(/\\(x..|u....|.)/g, (_, code) => {
        if (code.length > 1) return String.fromCharCode(Number.parseInt(code.slice(1), 16));
        return { n: '\n', r: '\r', t: '\t' }[code] ?? code;
      }),
    );
    for (const [at, text] of texts.entries()) {
      const content = Buffer.from(`company_id,A,B,C\n${text}`);
      yield { name: `papaparse/${at}`, files: { 'case.csv': content }, options: {} };
      const id = firstColumn(Buffer.from(text));
      if (id)
        yield {
          name: `papaparse/${at}-alone`,
          files: { 'case.csv': Buffer.from(text) },
          options: { kind: 'companies', id },
        };
    }
    yield* fromFiles(join(folder, 'package/tests'), 'papaparse');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Copies of small text files with a few bytes changed where it matters. */
function* damaged(count) {
  const files = filesIn(FIXTURES).filter((path) => /\.(?:csv|tsv|json|ndjson)$/.test(path));
  const texts = files
    .map((path) => [path, readFileSync(join(FIXTURES, path))])
    .filter(([, { length }]) => length < 20_000);
  const BYTES = [...'",', '\n', '\r', '\r\n', ...'{}[]:\\ ', '""', ...'\t;0', 'e5', ...'\0é-.', 'null'];
  for (let seed = 0; seed < count; seed++) {
    const { below, pick } = chance(seed + 77_000);
    const [path, content] = pick(texts);
    let bytes = content;
    for (let left = 1 + below(3); left > 0; left--) {
      const at = below(bytes.length + 1);
      bytes = Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from(below(4) === 0 ? '' : pick(BYTES)),
        bytes.subarray(at + below(2)),
      ]);
    }
    const id = below(2) === 0 ? firstColumn(bytes) : undefined;
    yield {
      name: `damaged/${seed}`,
      files: { [basename(path)]: bytes },
      options: id ? { kind: 'companies', id } : {},
    };
  }
}

function* generated(label, make, count) {
  for (let seed = 0; seed < count; seed++) {
    const made = make(seed);
    const { file, content, next, options } = made;
    const packed = seed % 23 === 0;
    const name = packed ? `${file}.gz` : file;
    const pack = (bytes) => (packed ? gzipSync(bytes) : bytes);
    yield {
      name: `${label}/${seed}`,
      files: { [name]: pack(content) },
      next: next && { [name]: pack(next) },
      options,
    };
  }
}

/** All inputs, in order. */
export function* inputs() {
  yield* fromFiles(FIXTURES, 'fixtures');
  yield* fromFiles(DATA, 'data');
  yield* fromFiles(SPECTRUM, 'csv-spectrum');
  yield* papaparse();
  yield* damaged(500);
  yield* generated('table', table, 800);
  yield* generated('json', json, 600);
}
