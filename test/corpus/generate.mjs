// Tables and items that a seed makes, in the dialects, encodings and spellings that files have.

/** mulberry32: small, and the same everywhere. */
export function chance(seed) {
  let state = (seed * 2654435761) >>> 0;
  const below = (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % bound;
  };
  const pick = (list) => list[below(list.length)];
  return { below, pick };
}

// Lists of texts, with a sign between them that is in none.
const NAMES =
  'name¦Plan Tier¦seats¦MRR¦joined¦active¦notes¦café¦x.y¦2020¦__proto__¦id2¦ spaced ¦metadata¦company_id¦a"b'.split(
    '¦',
  );
const TEXTS = [
  ...'Nordic¦Müller & Co¦a,b¦a;b|c\td¦say "hi"¦two\nlines¦cr\rhere¦\r\n¦日本語¦😀 ok'.split('¦'),
  ...'it\'s¦ padded ¦="0012"¦\\¦back\\"slash¦\u0001¦\u200bzero¦\ufeffmark¦\'quoted\'¦#no'.split('¦'),
  ...'NULL¦n/a¦-¦true¦FALSE¦007¦+49 30¦1.23E+11¦12.0¦{"a":1}¦[1]¦null¦'.split('¦'),
];
const CELLS = {
  text: ({ pick }) => pick(TEXTS),
  word: ({ pick }) => pick(['free', 'starter', 'growth', 'enterprise']),
  integer: ({ below }) => String(below(100_000)),
  long: ({ below }) => `9${'0123456789'.repeat(2).slice(0, below(20))}`,
  decimal: ({ below }) => (below(10_000) / 100).toFixed(2),
  signed: ({ below, pick }) => `${pick(['-', '', '-0'])}${below(50)}${pick(['', '.5', '.50', 'e3', '.'])}`,
  date: ({ below }) => `2024-0${1 + below(9)}-1${below(10)}`,
  european: ({ below }) => `1${below(10)}.0${1 + below(9)}.2024`,
  stamp: ({ below }) => `2024-03-0${1 + below(9)}T0${below(10)}:00:00Z`,
  boolean: ({ pick }) => pick(['true', 'false']),
  yes: ({ pick }) => pick(['yes', 'no']),
  money: ({ below, pick }) =>
    `${pick(['$', '€', ''])}${1 + below(9)},${String(below(1000)).padStart(3, '0')}.00`,
  percent: ({ below }) => `${below(100)}%`,
  object: ({ pick }) =>
    pick([
      '{"k":1}',
      '{"deep":{"er":[1,2,{"x":null}]}}',
      '{"k":1,"k":2}',
      '{"n":12345678901234567890}',
      '{}',
      'no object',
      '',
    ]),
};
const PINS = 'string integer number boolean money percent date datetime lower auto'.split(' ');
const MARK = { 'utf-8-bom': [0xef, 0xbb, 0xbf], 'utf-16le': [0xff, 0xfe], 'utf-16be': [0xfe, 0xff] };

function encoded(text, encoding) {
  if (encoding === 'utf-8') return Buffer.from(text);
  if (encoding === 'utf-8-bom') return Buffer.concat([Buffer.from(MARK[encoding]), Buffer.from(text)]);
  if (encoding === 'windows-1252') return Buffer.from(text.replace(/[^\u0000-\u00ff]/gu, '?'), 'latin1');
  const bytes = Buffer.from(text, 'utf16le');
  return Buffer.concat([Buffer.from(MARK[encoding]), encoding === 'utf-16be' ? bytes.swap16() : bytes]);
}

/** Rules and conditions, mostly none. */
function optionsOf({ below, pick }, columns) {
  const options = {};
  const rules = {};
  // The identifier has few rules.
  const column = () => (columns.length > 1 && below(12) > 0 ? pick(columns.slice(1)) : columns[0]).trim();
  if (below(4) === 0) rules.types = [[column(), pick(PINS)]];
  if (below(8) === 0) rules.map = [[column(), 'mapped']];
  if (below(10) === 0) rules.exclude = [column()];
  if (below(12) === 0)
    rules.set = [
      ['source', pick(['crm', '12.50', ''])],
      ['seats', '7'],
    ];
  if (below(8) === 0) rules.empty = pick(['null', 'string']);
  if (below(8) === 0) rules.trim = true;
  if (below(8) === 0) rules.nulls = ['NULL', 'n/a'];
  if (below(10) === 0) rules.keys = pick(['snake_case', 'camelCase']);
  if (below(10) === 0) rules.infer = false;
  if (below(10) === 0) rules.allowIds = ['NULL', 'n/a'];
  if (Object.keys(rules).length > 0) options.rules = rules;
  if (below(10) === 0) options.limit = 1 + below(20);
  if (below(10) === 0) options.where = [[column(), pick(['=', '!=']), pick(['', 'free', 'true', '7'])]];
  if (below(10) === 0) options.chunkBytes = 1024 + below(2000);
  if (below(30) === 0) options.maxCellBytes = 1024;
  return options;
}

/** How many rows, now and then more than fit into a chunk of the reader. */
const rowsOf = ({ below }) => (below(15) === 0 ? 3_000 + below(3_000) : 1 + below(60));

/** A delimited file, and options to read it. */
export function table(seed) {
  const random = chance(seed + 1);
  const { below, pick } = random;
  const kind = below(3) === 0 ? 'users' : 'companies';
  const idName = kind === 'users' ? 'user_id' : 'company_id';
  const columns = [...new Set([idName, ...Array.from({ length: below(9) }, () => pick(NAMES))])];
  const kinds = columns.map((name) => CELLS[name === 'metadata' ? 'object' : pick(Object.keys(CELLS))]);
  const odd = below(3) === 0;
  const delimiter = pick([',', ',', ',', ';', '\t', '|', '\x01', '||', '¦']);
  const quote = pick(['"', '"', '"', '"', "'", '']);
  const escaping = quote && below(6) === 0 ? '\\' : quote;
  const ends = pick([['\n'], ['\n'], ['\r\n'], ['\r'], ['\n', '\r\n'], ['\r\n', '\r', '\n']]);
  const quoteAll = below(5) === 0;
  const comment = below(10) === 0 ? '#' : undefined;
  const skipLines = below(10) === 0 ? 1 + below(3) : 0;
  const escapedText = (text) =>
    text.replaceAll(escaping, escaping + escaping).replaceAll(quote, escaping + quote);
  const cell = (text) => {
    if (quote === '') return text.replaceAll(delimiter, ' ').replace(/[\r\n]/g, ' ');
    const needs =
      quoteAll || [delimiter, quote, '\r', '\n', comment ?? quote].some((part) => text.includes(part));
    if (odd && below(120) === 0)
      return pick([`${quote}${text}`, `${text}${quote}`, `${quote}a${quote}b`, ` ${quote}x${quote}`, text]);
    return needs
      ? quote + (escaping === quote ? text.replaceAll(quote, quote + quote) : escapedText(text)) + quote
      : text;
  };
  const blank = odd ? 0.05 : 0.02;
  const count = rowsOf(random);
  const row = (number) =>
    columns.map((name, at) => {
      if (at === 0 && below(40) > 0) return `${kind[0]}-${below(20) === 0 ? below(number + 1) : number}`;
      if (name === 'company_id' && below(10) > 0) return `c-${below(50)}`;
      return below(1000) < 1000 * blank ? '' : below(200) === 0 ? CELLS.text(random) : kinds[at](random);
    });
  const written = [];
  for (let number = 0; number < count; number++) {
    const cells = row(number);
    if (odd && below(15) === 0)
      pick([() => cells.pop(), () => cells.push('more'), () => cells.push(''), () => cells.fill('')])();
    written.push(cells.map(cell).join(delimiter));
    if (odd && below(30) === 0)
      written.push(pick(['', ' ', columns.map(cell).join(delimiter), comment ? `${comment}a "comment` : '']));
  }
  const encoding = pick(['utf-8', 'utf-8', 'utf-8', 'utf-8-bom', 'utf-16le', 'utf-16be', 'windows-1252']);
  const lines = [
    ...Array.from({ length: skipLines }, (_, at) => `Title ${at} "of`),
    columns.map(cell).join(delimiter),
    ...written,
  ];
  const text = (all) =>
    all
      .map((line, at) => line + (at === all.length - 1 && seed % 3 === 0 ? '' : ends[at % ends.length]))
      .join('');
  const changed = lines.map((line, at) =>
    at > skipLines && (at * 7 + seed) % 5 === 0 ? line.replace('free', 'paid').replace('7', '8') : line,
  );
  const dialect = {
    ...((delimiter.length > 1 || !',;\t|'.includes(delimiter) || below(3) === 0) && {
      delimiter: delimiter.replace('\t', 'tab'),
    }),
    ...(quote !== '"' && { quote: quote || 'none' }),
    ...(escaping === '\\' && { escape: escaping }),
    ...(comment && { comment }),
    ...(skipLines > 0 && { skipLines }),
    ...(encoding === 'windows-1252' && { encoding }),
    ...(below(6) === 0 && { shortRows: 'pad' }),
    ...(below(8) === 0 && { lenientQuotes: true }),
    ...(below(8) === 0 && { excelText: true }),
  };
  return {
    file: delimiter === '\t' && seed % 2 ? 'made.tsv' : 'made.csv',
    content: encoded(text(lines), encoding),
    next: seed % 4 === 0 ? encoded(text(changed), encoding) : undefined,
    options: { ...optionsOf(random, columns), ...dialect },
  };
}

const NUMBERS = [
  ...'1.0 -0 0.10 1e3 1E+2 0.1e-7 1e400 9007199254740993 12345678901234567 0.1234567890123456'.split(' '),
  ...'0.12345678901234567 1234567890.12345678'.split(' '),
];
const NESTED =
  '{}¦[]¦[ 1 , 2 ]¦{ "a" : { "b" : [ null , 1.0 ] } }¦{"k":1,"k":2}¦[[[[1e5]]]]¦{"n":12345678901234567890}¦{"":1}¦{"2":1,"1":2}'.split(
    '¦',
  );
const ODD_IDS = '""¦null¦12¦1.5¦1e3¦12345678901234567890¦" x "¦"NULL"¦"a\\u0062"¦{}'.split('¦');

/** Values as programs write them, as JSON text. */
const VALUES = [
  ({ pick }) => JSON.stringify(pick(TEXTS)),
  ({ below }) => String(below(100_000)),
  ({ below }) => String(below(10_000) / 100),
  ({ pick }) => pick(NUMBERS),
  ({ pick }) => pick(['true', 'false', 'null']),
  ({ pick }) =>
    pick([
      '"a\\/b"',
      '"\\u00e9\\u0041"',
      '"\\ud83d\\ude00"',
      '"\\ud800"',
      '"\\b\\f\\n\\r\\t"',
      '"\\\\\\""',
      '"\u2028"',
      '"\\u0000"',
    ]),
  ({ pick }) => pick(NESTED),
  ({ pick }) => pick(['"12"', '"$1,000.00"', '"12%"', '"2024-03-01"', '"yes"', '"="']),
];

/** JSON in one of its shapes, and options to read it. */
export function json(seed) {
  const random = chance(seed + 500_000);
  const { below, pick } = random;
  const kind = below(3) === 0 ? 'users' : 'companies';
  const idName = kind === 'users' ? 'user_id' : 'company_id';
  const fields = [...new Set([...Array.from({ length: below(9) }, () => pick(NAMES)), 'extra'])].filter(
    (name) => name !== 'metadata' && name !== idName,
  );
  const values = fields.map(() => pick(VALUES));
  const [colon, comma, open, close] = pick([
    [':', ',', '{', '}'],
    [':', ',', '{', '}'],
    [': ', ', ', '{', '}'],
    [' : ', ' ,', '{ ', ' }'],
    [': ', ',\n  ', '{\n  ', '\n}'],
  ]);
  const mixed = below(3) === 0;
  const nests = below(4) === 0;
  const member = (name, value) => `${JSON.stringify(name)}${colon}${value}`;
  const object = (members) => `${open}${members.join(comma)}${close}`;
  const id = (number) =>
    below(30) === 0 ? pick(ODD_IDS) : `"${kind[0]}-${below(20) === 0 ? below(number + 1) : number}"`;
  const item = (number) => {
    if (mixed && below(25) === 0) return pick(['[]', 'null', '12', '"text"', '{}', '[{"a":1}]']);
    const members = [];
    const nested = [];
    for (const [at, name] of fields.entries()) {
      if (below(8) === 0) continue;
      const value = (mixed && below(10) === 0 ? pick(VALUES) : values[at])(random);
      (nests && at % 2 === 0 ? nested : members).push(member(name, value));
    }
    members.splice(below(members.length + 1), 0, member(idName, id(number)));
    if (mixed && below(20) === 0 && members.length > 1) members.push(pick(members));
    if (nests)
      members.push(
        member(
          'metadata',
          mixed && below(10) === 0
            ? pick(['null', '[]', '"x"', '{"metadata":{}}', '{"company_id":"x"}'])
            : object(nested),
        ),
      );
    return object(members);
  };
  const count = rowsOf(random);
  const items = Array.from({ length: count }, (_, number) => item(number));
  const shape = pick(['lines', 'lines', 'array', 'array', 'body', 'path', 'values']);
  if (shape === 'lines' && open.includes('\n'))
    for (const at of items.keys()) items[at] = items[at].replaceAll('\n', ' ');
  const whole = (all) =>
    ({
      lines: () => all.join(pick(['\n', '\n', '\r\n', '\n\n'])),
      array: () => `[${all.join(pick([',', ',\n', ' , ']))}]`,
      body: () => `{ "note": {"x": [1, "]"]}, "${kind}" : [${all.join(',')}] }`,
      path: () => `{"meta":{"page":1},"data":{"next":null,"items":[${all.join(', ')}],"end":"]"}}`,
      values: () => all.join('\n'),
    })[shape]();
  const cut = mixed && below(8) === 0 ? below(40) : 0;
  const text = (all) => {
    const written = whole(all);
    return cut > 0 ? written.slice(0, -cut) : written + (seed % 3 === 0 ? '' : '\n');
  };
  const changed = items.map((one, at) =>
    (at * 7 + seed) % 5 === 0 ? one.replace('free', 'paid').replace('7', '8') : one,
  );
  const encoding = pick(['utf-8', 'utf-8', 'utf-8', 'utf-8-bom', 'utf-16le']);
  const first = text(items);
  return {
    file: shape === 'lines' ? pick(['made.ndjson', 'made.jsonl', 'made.json']) : 'made.json',
    content: encoded(first, encoding),
    next: seed % 4 === 0 ? encoded(text(changed), encoding) : undefined,
    options: {
      ...optionsOf(random, [idName, ...fields]),
      ...(shape === 'path' && { jsonPath: 'data.items' }),
      ...(below(6) === 0 && { roundNumbers: true }),
      ...(below(10) === 0 && { kind }),
    },
  };
}
