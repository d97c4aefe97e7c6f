// Writes the benchmark's input: rows of 10 columns, the same for the same seed, in constant memory.
//   node bench/generate.mjs <csv|ndjson|json> <rows> <file> [seed]
// A row is like a real export: text with quoted commas, non-ASCII names, ISO timestamps, percentages as
// text, integers and decimals. 1,000,000 rows of CSV are about 173 MB.
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

export const COLUMNS = [
  'company_id',
  'name',
  'industry',
  'headquarters',
  'website',
  'plan_tier',
  'employees',
  'annual_revenue',
  'adoption_rate',
  'last_seen_at',
];
const WORDS =
  'Nordic Blue Harbour Quantum Silver Cedar Atlas Vertex Lumen Prairie Zenith Müller Åkerlund Peñasco'.split(
    ' ',
  );
const FORMS = ['GmbH', 'Inc.', 'Ltd', 'S.A.', 'AB', 'Holdings, LLC'];
const INDUSTRIES = ['Software', 'Health Care Equipment', 'Building Products', 'Retail, Online', 'Logistics'];
const CITIES = [
  'Saint Paul, Minnesota',
  'Göteborg, Sweden',
  'Milwaukee, Wisconsin',
  'Zürich',
  'Osaka, Japan',
];
const TIERS = ['free', 'starter', 'growth', 'enterprise'];

/** mulberry32: small, fast and the same everywhere. */
function random(seed) {
  let state = seed >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % bound;
  };
}

/** Rows one after another, the same for the same seed. */
export function* records(rows, seed = 1) {
  const next = random(seed);
  for (let index = 0; index < rows; index++) yield row(index, next);
}

function row(index, next) {
  const word = WORDS[next(WORDS.length)];
  const second = WORDS[next(WORDS.length)];
  return {
    company_id: `c-${String(index).padStart(8, '0')}`,
    name: `${word} ${second} ${FORMS[next(FORMS.length)]} ${next(100_000)}`,
    industry: INDUSTRIES[next(INDUSTRIES.length)],
    headquarters: CITIES[next(CITIES.length)],
    website: `https://www.${word.toLowerCase()}-${second.toLowerCase()}-${next(10_000_000)}.example.com/about`,
    plan_tier: TIERS[next(TIERS.length)],
    employees: 1 + next(250_000),
    annual_revenue: Number(`${next(900_000_000)}.${1 + next(9)}${1 + next(9)}`),
    adoption_rate: `${next(100)}.${next(10)}%`,
    last_seen_at: new Date(1_700_000_000_000 + next(60_000_000) * 1000).toISOString(),
  };
}

const cell = (value) => {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

const FORMATS = {
  csv: {
    head: `${COLUMNS.join(',')}\n`,
    item: (r) => `${COLUMNS.map((c) => cell(r[c])).join(',')}\n`,
    tail: '',
  },
  ndjson: { head: '', item: (r) => `${JSON.stringify(r)}\n`, tail: '' },
  json: { head: '[', item: (r, first) => `${first ? '\n' : ',\n'}${JSON.stringify(r)}`, tail: '\n]\n' },
};

/** Writes `rows` rows to `file`. Gives the number of characters written. */
export async function generate(format, rows, file, seed = 1) {
  const { head, item, tail } = FORMATS[format];
  await mkdir(dirname(file), { recursive: true });
  const out = createWriteStream(file);
  let text = head;
  let first = true;
  for (const record of records(rows, seed)) {
    text += item(record, first);
    first = false;
    if (text.length > 1 << 18) {
      if (!out.write(text)) await once(out, 'drain');
      text = '';
    }
  }
  out.end(text + tail);
  await finished(out);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [format, rows, file, seed] = process.argv.slice(2);
  if (!(format in FORMATS) || !file) {
    console.error('usage: node bench/generate.mjs <csv|ndjson|json> <rows> <file> [seed]');
    process.exitCode = 2;
  } else await generate(format, Number(rows), file, Number(seed ?? 1));
}
