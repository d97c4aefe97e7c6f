// Writes the benchmark's input: rows of 10 columns, the same each time, in constant memory.
// A row is like a real export: text with quoted commas, non-ASCII names, ISO timestamps, percentages as
// text, integers and decimals. 1,000,000 rows of CSV are about 173 MB.
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const words = (text) => text.split(' ');
export const COLUMNS = words(
  'company_id name industry headquarters website plan_tier employees annual_revenue adoption_rate last_seen_at',
);
const WORDS = words(
  'Nordic Blue Harbour Quantum Silver Cedar Atlas Vertex Lumen Prairie Zenith Müller Åkerlund Peñasco',
);
const FORMS = ['GmbH', 'Inc.', 'Ltd', 'S.A.', 'AB', 'Holdings, LLC'];
const INDUSTRIES = ['Software', 'Health Care Equipment', 'Building Products', 'Retail, Online', 'Logistics'];
const CITIES = 'Saint Paul, Minnesota|Göteborg, Sweden|Milwaukee, Wisconsin|Zürich|Osaka, Japan'.split('|');
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

export function* records(rows) {
  const next = random(1);
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

const lines = (write) => ({ head: '', item: (r) => `${write(r)}\n`, tail: '' });
const change = (type, of) => (key, value) =>
  typeof value === type && key !== 'company_id' ? of(value) : value;
const changed = (type, of) => lines((r) => JSON.stringify(r, change(type, of)));
const unicode = (other) => `\\u${other.charCodeAt(0).toString(16).padStart(4, '0')}`;

const FORMATS = {
  csv: {
    head: `${COLUMNS.join(',')}\n`,
    item: (r) => `${COLUMNS.map((c) => cell(r[c])).join(',')}\n`,
    tail: '',
  },
  ndjson: lines(JSON.stringify),
  'integers.ndjson': changed('number', Math.round),
  '17-digits.ndjson': changed('number', (value) => value * Math.PI),
  'escapes.ndjson': changed('string', (value) => `${value}\n"`),
  // As `json.dumps` of Python.
  'python.ndjson': lines((r) =>
    JSON.stringify(r, null, 1)
      .replace(/\n ?/g, ' ')
      .replace(/[^ -~]/g, unicode),
  ),
  json: { head: '[', item: (r, first) => `${first ? '\n' : ',\n'}${JSON.stringify(r)}`, tail: '\n]\n' },
};

/** Small texts as few large pieces of bytes. */
export function* pieces(texts) {
  let text = '';
  for (const more of texts) {
    text += more;
    if (text.length < 1 << 18) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(text);
}

/** Writes `rows` rows to `file`. */
export async function generate(format, rows, file) {
  const { head, item, tail } = FORMATS[format];
  function* texts() {
    yield head;
    let first = true;
    for (const record of records(rows)) {
      yield item(record, first);
      first = false;
    }
    yield tail;
  }
  await pipeline(Readable.from(pieces(texts())), createWriteStream(file));
}
