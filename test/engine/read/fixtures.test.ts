/** One small file for each defect, named for it: read right, or refused with a reason, a place and a hint. As long as there are files. */
import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ProfilesError } from '../../../src/engine/errors.js';
import { FIXTURES, type ReadOptions, read } from './reading.js';

interface Case {
  options?: ReadOptions;
  /** Items as they are sent: identifier, then metadata. */
  items?: [id: string, metadata?: object][];
  /** Line (item number in an array) of each item. */
  lines?: number[];
  /** `line: reason` of each rejected row. */
  rejected?: string[];
  warnings?: string[];
  /** The error that ends the run, without the file's folder. */
  error?: string | RegExp;
  hint?: string | RegExp;
}

const ASA_AND_BO: Case = {
  items: [
    ['c1', { name: 'Åsa', city: 'Zürich' }],
    ['c2', { name: 'Bo', city: 'Lyon' }],
  ],
  lines: [2, 3],
};
const prototype = (json: string): object => JSON.parse(json);

const CASES: Record<string, Case | Case[]> = {
  'bom.csv': ASA_AND_BO,
  'utf-16-le.csv': ASA_AND_BO,
  'utf-16-be.csv': ASA_AND_BO,
  'utf-16-without-bom.csv': [
    {
      error: 'utf-16-without-bom.csv:1: a NUL byte at offset 1: this is not a text file',
      hint: 'as utf-16le the line reads: company_id,name,city',
    },
    { options: { encoding: 'utf-16le' }, ...ASA_AND_BO },
  ],
  'windows-1252.csv': [
    {
      error: 'windows-1252.csv:2: the byte at offset 24 is not valid UTF-8',
      hint: /^as windows-1252 the line reads: c1,Åsa,Zürich$/m,
    },
    {
      options: { encoding: 'windows-1252' },
      items: [
        ['c1', { name: 'Åsa', city: 'Zürich' }],
        ['c2', { name: 'Bo “B”', city: 'Lyon' }],
      ],
    },
    {
      options: { encoding: 'cp99' },
      error: 'encoding: "cp99" is not a known encoding',
      hint: /windows-1252/,
    },
  ],
  'invalid-utf-8.csv': {
    error: 'invalid-utf-8.csv:3: the byte at offset 29 is not valid UTF-8',
    hint: /^as windows-1252 the line reads: c2,baÿd$/m,
  },
  'cut-character.csv': {
    error: 'cut-character.csv:4: the byte at offset 38 is not valid UTF-8',
    hint: /UTF-8 up to there.* export it again/,
  },
  'nul-byte.csv': {
    error: 'nul-byte.csv:3: a NUL byte at offset 25: this is not a text file',
    hint: 'export it as CSV UTF-8 or JSON',
  },
  'cr-only.csv': ASA_AND_BO,
  'crlf.csv': ASA_AND_BO,
  'mixed-line-ends.csv': {
    items: [
      ['c1', { name: 'Åsa', city: 'Zürich' }],
      ['c2', { name: 'Bo', city: 'Lyon' }],
      ['c3', { name: 'Di', city: 'Rom' }],
      ['c4', { name: 'Ed', city: 'Ulm' }],
    ],
    lines: [2, 3, 4, 6],
  },
  'semicolon.csv': {
    items: [
      ['c1', { name: 'Åsa, AB', city: '1,5' }],
      ['c2', { name: 'Bo', city: '2,50' }],
    ],
    warnings: ['1 text column looks like numbers: city'],
  },
  'tab.csv': {
    items: [
      ['c1', { name: 'Åsa, AB', city: 'Zürich' }],
      ['c2', { name: 'Bo', city: 'Lyon' }],
    ],
  },
  'tab.tsv': {
    items: [
      ['c1', { name: 'Åsa, AB', city: 'Zürich' }],
      ['c2', { name: 'Bo; Co', city: 'Lyon' }],
    ],
  },
  'pipe.csv': {
    items: [
      ['c1', { name: 'Åsa, AB', city: 'Zürich' }],
      ['c2', { name: 'Bo; Co', city: 'Lyon' }],
    ],
  },
  'delimiters-inside-quotes.csv': {
    items: [
      ['c1', { name: 'a;b;c;d' }],
      ['c2', { name: 'e;f;g;h' }],
      ['c3', { name: 'i|j\tk' }],
    ],
  },
  'quoted-newlines.csv': {
    items: [
      ['c1', { name: 'Åsa\nAB', city: 'Zürich' }],
      ['c2', { name: 'Bo\r\n"Co"', city: 'Lyon' }],
      ['c3', { name: 'Di', city: 'Rom' }],
    ],
    lines: [2, 4, 6],
  },
  'quote-inside-cell.csv': {
    items: [
      ['c1', { name: '5" pipe' }],
      ['c2', { name: 'the "best"' }],
    ],
  },
  'text-after-quote.csv': [
    { items: [['c2', { name: 'B' }]], lines: [3], rejected: ['2: text follows the closing quote of a cell'] },
    {
      options: { lenientQuotes: true },
      items: [
        ['c1', { name: '"Acme" Inc' }],
        ['c2', { name: 'B' }],
      ],
    },
  ],
  'text-after-quote-in-two-lines.csv': [
    {
      items: [['c2', { name: 'B "b"', note: 'fine' }]],
      lines: [4],
      rejected: ['2: text follows the closing quote of a cell, on line 3'],
    },
    {
      options: { lenientQuotes: true },
      items: [],
      rejected: ['2: has 4 cells, the header has 3'],
    },
  ],
  'missing-quote.csv': {
    items: [['c3', { name: 'Gamma', city: 'Ulm' }]],
    lines: [4],
    rejected: ['2: text follows the closing quote of a cell, on line 3'],
  },
  'sep-line.csv': [
    {
      items: [
        ['c1', { name: 'A, B' }],
        ['c2', { name: 'C' }],
      ],
      lines: [3, 4],
    },
    {
      options: { delimiter: ',' },
      error: 'sep-line.csv:2: the header is one column, "company_id;name"',
      hint: 'if ";" separates its columns, say so',
    },
  ],
  'control-delimiter.csv': {
    options: { delimiter: '\\x01' },
    items: [
      ['c1', { name: 'Åsa, AB' }],
      ['c2', { name: 'B\x01C' }],
    ],
  },
  'double-pipe.csv': {
    options: { delimiter: '||' },
    items: [
      ['c1', { name: 'A|B', city: 'Lyon' }],
      ['c2', { name: 'C||D', city: 'Rom' }],
    ],
    lines: [2, 3],
  },
  'single-quotes.csv': [
    {
      options: { quote: "'" },
      items: [
        ['c1', { name: 'Åsa, AB', city: 'Zürich' }],
        ['c2', { name: "It's", city: 'Lyon\nRhône' }],
        ['c3', { name: 'B', city: 'Rom' }],
      ],
      lines: [2, 3, 5],
    },
    {
      options: { kind: 'companies' },
      items: [
        ["'c2'", { name: "'It''s'", city: "'Lyon" }],
        ["'c3'", { name: "'B'", city: "'Rom'" }],
      ],
      rejected: ['2: has 4 cells, the header has 3', '4: has 1 cell, the header has 3'],
      warnings: ['line 2: the cells of 2 columns are enclosed in apostrophes, which are sent with them'],
    },
  ],
  'single-quoted-cells.csv': {
    items: [
      ["'c1'", { name: "'A'" }],
      ["'c2'", { name: "'B'" }],
    ],
    warnings: ['line 2: the cells of 2 columns are enclosed in apostrophes, which are sent with them'],
  },
  'quotes-are-text.tsv': [
    {
      options: { quote: 'none' },
      items: [
        ['c1', { name: '"best" of', size: '5"' }],
        ['c2', { name: '5" pipe', size: '"' }],
      ],
    },
    {
      error: 'quotes-are-text.tsv:3: the quote that opens on this line is never closed',
      hint: /close it/,
    },
  ],
  'backslash-escapes.csv': [
    {
      options: { escape: '\\' },
      items: [
        ['c1', { name: 'the "best", they say', city: 'Lyon' }],
        ['c2', { name: 'back\\slash', city: 'Rom\n' }],
      ],
    },
    {
      items: [['c2', { name: 'back\\\\slash', city: 'Rom\n' }]],
      rejected: ['2: text follows the closing quote of a cell, which is behind a backslash'],
    },
  ],
  'comments.csv': [
    {
      options: { comment: '#' },
      items: [
        ['c1', { name: 'A' }],
        ['c3', { name: '#3' }],
      ],
      lines: [4, 6],
    },
    {
      error: 'comments.csv:1: the header seems to be on line 3 (company_id, name), below a title',
      hint: 'remove the 2 lines above it',
    },
  ],
  'title-above.csv': [
    {
      error: 'title-above.csv:1: the header seems to be on line 4 (company_id, name, city), below a title',
      hint: 'remove the 3 lines above it',
    },
    {
      options: { kind: 'companies', id: 'name' },
      error: 'title-above.csv:1: the header seems to be on line 4 (company_id, name, city), below a title',
      hint: 'remove the 3 lines above it',
    },
    {
      options: { skipLines: 3 },
      items: [
        ['c1', { name: 'A', city: 'Lyon' }],
        ['c2', { name: 'B', city: 'Rom' }],
      ],
      lines: [5, 6],
    },
  ],
  'title-with-commas.csv': [
    {
      error:
        'title-with-commas.csv:1: the header seems to be on line 3 (company_id, name, city), below a title',
      hint: 'remove the 2 lines above it',
    },
    { options: { skipLines: 2 }, items: [['c1', { name: 'A', city: 'Lyon' }]], lines: [4] },
  ],
  'nameless-column.csv': {
    error: 'nameless-column.csv: no column user_id or company_id among Record ID, Size',
    hint: 'say what the rows are, and name the column of their identifier',
  },
  'title-with-quote.csv': {
    error: 'title-with-quote.csv:1: the header seems to be on line 2 (company_id, name), below a title',
    hint: 'remove the line above it',
  },
  'space-before-quote.csv': [
    {
      items: [['c1', { name: ' "A"' }]],
      rejected: ['3: has 3 cells, the header has 2'],
      warnings: ['line 2: 2 cells have white space before an opening quote, which is text there'],
    },
    {
      options: { delimiter: ', ' },
      items: [
        ['c1', { name: 'A' }],
        ['c2', { name: 'B, C' }],
      ],
    },
  ],
  'quotes-in-text.csv': {
    items: [
      ['c1', { name: 'A', note: 'says "hello' }],
      ['c2', { name: 'B "the', note: ' second" of' }],
      ['c3', { name: 'it""s', note: 'x' }],
    ],
    warnings: ['line 3: 2 rows have more than one quote in cells that begin without one'],
  },
  'excel-text.csv': [
    {
      items: [
        ['="0012"', { zip: '="02139"' }],
        ['="0013"', { zip: '="02140"' }],
        ['0014', { zip: '02141' }],
      ],
      warnings: ['line 2: 4 cells are written like ="0012", and are sent so'],
    },
    {
      options: { excelText: true },
      items: [
        ['0012', { zip: '02139' }],
        ['0013', { zip: '02140' }],
        ['0014', { zip: '02141' }],
      ],
    },
  ],
  'surplus-empty-cells.csv': {
    items: [
      ['c1', { name: 'A' }],
      ['c3', { name: 'C' }],
    ],
    rejected: ['3: has 4 cells, the header has 2'],
  },
  'blank-rows.csv': {
    items: [['c1', { name: 'A' }], ['c2']],
    lines: [3, 6],
    rejected: ['7: company_id is empty'],
  },
  'repeated-header.csv': {
    items: [
      ['c1', { seats: 5 }],
      ['c2', { seats: 6 }],
      ['c3', { seats: 7 }],
    ],
    rejected: ['3: repeats the header', '5: repeats the header'],
  },
  'nameless-empty-column.csv': {
    items: [
      ['c1', { name: 'A' }],
      ['c2', { name: 'B' }],
    ],
  },
  'total-row.csv': {
    items: [
      ['c1', { name: 'A', seats: 5 }],
      ['c2', { name: 'B', seats: 6 }],
    ],
    rejected: ['4: company_id is empty', '5: has 1 cell, the header has 3'],
  },
  'other-delimiter-in-a-row.csv': {
    items: [
      ['c1', { name: 'A', city: 'Lyon' }],
      ['c3', { name: 'C', city: 'Ulm' }],
    ],
    rejected: ['3: has 1 cell, the header has 3'],
  },
  'cr-cr-lf.csv': {
    items: [
      ['c1', { name: 'A' }],
      ['c2', { name: 'B' }],
    ],
  },
  'unclosed-quote.csv': {
    error: 'unclosed-quote.csv:3: the quote that opens on this line is never closed',
    hint: /close it/,
  },
  'ragged-short.csv': [
    {
      items: [
        ['c1', { name: 'Åsa', city: 'Zürich' }],
        ['c3', { name: 'Di', city: 'Rom' }],
      ],
      lines: [2, 4],
      rejected: ['3: has 2 cells, the header has 3'],
    },
    {
      options: { shortRows: 'pad' },
      items: [
        ['c1', { name: 'Åsa', city: 'Zürich' }],
        ['c2', { name: 'Bo' }],
        ['c3', { name: 'Di', city: 'Rom' }],
      ],
    },
  ],
  'ragged-long.csv': {
    items: [
      ['c1', { name: 'Åsa', city: 'Zürich' }],
      ['c3', { name: 'Di', city: 'Rom' }],
    ],
    lines: [2, 4],
    rejected: ['3: has 4 cells, the header has 3'],
  },
  'empty-lines.csv': {
    items: [
      ['c1', { name: 'A' }],
      ['c2', { name: 'B' }],
    ],
    lines: [4, 7],
  },
  'duplicate-header.csv': [
    {
      error: 'duplicate-header.csv:1: columns 2 and 3 are both called "name"',
      hint: 'rename or remove one of them',
    },
    { options: { renameDuplicates: true }, items: [['c1', { name: 'A', name_2: 'B' }]] },
  ],
  'empty-header.csv': {
    items: [['c1', { name: 'A' }]],
    warnings: ['column 2 has no name and is left out, with 1 value in it'],
  },
  'header-with-spaces.csv': { items: [['c1', { name: 'A' }]] },
  'header-only.csv': { items: [], warnings: ['no rows'] },
  'empty-file.csv': { error: 'empty-file.csv: the file is empty', hint: 'export it again' },
  'bom-only.csv': { error: 'bom-only.csv: the file is empty', hint: 'export it again' },
  'no-identifier.csv': [
    {
      error: 'no-identifier.csv: no column user_id or company_id among Symbol, Security',
      hint: 'say what the rows are, and name the column of their identifier',
    },
    {
      options: { kind: 'companies' },
      error: 'no-identifier.csv: no column company_id among Symbol, Security',
      hint: 'name the identifier\'s column, such as "Symbol"',
    },
    {
      options: { kind: 'companies', id: 'Symbl' },
      error: 'id: no-identifier.csv has no column "Symbl"',
      hint: 'did you mean "Symbol"?',
    },
    { options: { kind: 'companies', id: 'Symbol' }, items: [['MMM', { Security: '3M' }]] },
  ],
  'empty-identifier.csv': {
    items: [
      ['c1', { name: 'A' }],
      ['c3', { name: 'C' }],
    ],
    rejected: ['3: company_id is empty'],
  },
  'identifiers.csv': {
    items: [
      ['00042', { name: 'zeros' }],
      ['1e5', { name: 'exponent' }],
      ['TRUE', { name: 'boolean' }],
      ['NA', { name: 'missing' }],
      ['9007199254740993', { name: 'long' }],
      [' 7 ', { name: 'spaces' }],
    ],
    warnings: ['line 7: company_id: " 7 " has white space or invisible characters around it'],
  },
  'spreadsheet-identifiers.csv': {
    items: [
      ['1.23E+11', { name: 'A' }],
      ['1.24E+11', { name: 'B' }],
    ],
    warnings: [
      'line 2 (and 1 more): the identifier "1.23E+11" looks rounded by a spreadsheet; format its column as text and export it again',
    ],
  },
  'prototype-columns.csv': {
    items: [['c1', prototype('{"__proto__":"p","constructor":"c","toString":"s"}')]],
  },
  'types.csv': {
    items: [
      [
        'c1',
        {
          integer: 1,
          leading_zero: '02139',
          plus: '+49301',
          decimal: 1.5,
          two_decimals: 1.9,
          mixed_decimals: '1.9',
          exponent: '1e5',
          long: '9007199254740993',
          percent: '5%',
          flag: 'true',
        },
      ],
      [
        'c2',
        {
          integer: -20,
          leading_zero: '10001',
          plus: '+49302',
          decimal: 2,
          two_decimals: 2.1,
          mixed_decimals: '1.10',
          exponent: '2e5',
          long: '1',
          percent: '6%',
          flag: 'false',
        },
      ],
    ],
    warnings: [
      'two_decimals: trailing zeros are dropped: line 2: "1.90" becomes 1.9',
      '2 text columns look like numbers or booleans: percent, flag',
    ],
  },
  'rejects-again.csv': { items: [['c1', { name: 'A' }]] },
  'metadata-column.csv': {
    items: [
      ['c2', { name: 'B' }],
      ['c6', { name: 'F', plan: 'pro', seats: 5 }],
    ],
    rejected: [
      '2: "name" appears both beside metadata and inside it',
      '4: metadata is not a JSON object',
      '5: metadata is not a JSON object; to keep the column as text, map it to another key',
      '6: metadata: 9007199254740993 cannot be represented exactly as a number; write it in quotes',
    ],
  },
  'gzip.csv.gz': {
    items: [
      ['c1', { name: 'Åsa\nAB', city: 'Zürich' }],
      ['c2', { name: 'Bo\r\n"Co"', city: 'Lyon' }],
      ['c3', { name: 'Di', city: 'Rom' }],
    ],
  },
  'gzip-cut-off.csv.gz': {
    error: 'gzip-cut-off.csv.gz: the gzip data is damaged or cut off',
    hint: 'test it with gzip -t',
  },
  'workbook.xlsx': { error: /^workbook.xlsx: the workbook is damaged: /, hint: /save it as CSV UTF-8$/ },
  'workbook.xls': {
    error:
      'workbook.xls: is a workbook of Excel 97-2003 (.xls), one with a password, or another old Office file',
    hint: 'remove the password, if it has one, and save as .xlsx or CSV UTF-8',
  },
  'array.json': {
    items: [
      ['c1', { name: 'Åsa' }],
      ['c2', { name: 'Bo' }],
    ],
    lines: [1, 2],
  },
  'bom.json': { items: [['c1', { name: 'Åsa' }]] },
  'body.json': [
    {
      items: [
        ['c1', { name: 'Åsa' }],
        ['c2', { name: 'Bo' }],
      ],
      lines: [1, 2],
    },
    {
      options: { kind: 'users' },
      error: 'kind users: body.json contains {"companies": […]}',
      hint: 'leave the kind out',
    },
  ],
  'users-body.json': { items: [['u1', { name: 'Di' }], ['u2']] },
  'empty-array.json': { items: [], warnings: ['no rows'] },
  'trailing-comma.json': {
    error: 'trailing-comma.json:4: a comma follows the last item, item 2',
    hint: 'remove the comma before ]',
  },
  'trailing-comma-in-item.json': {
    error:
      'trailing-comma-in-item.json:4: item 2 is not valid JSON: there is a comma before a closing brace, or a name without quotes',
    hint: 'fix the item, or export the file again',
  },
  'missing-comma.json': {
    error: 'missing-comma.json:3: a comma is missing after item 1',
    hint: 'put a comma between items',
  },
  'truncated.json': {
    error: 'truncated.json:3: the text ends in the middle of item 2',
    hint: 'the file may be cut off: export it again',
  },
  'truncated-between-items.json': {
    error: 'truncated-between-items.json:3: the text ends before the array is closed, after item 1',
    hint: 'the file may be cut off: export it again',
  },
  'concatenated.json': {
    error: 'concatenated.json:2: text follows the end of the array',
    hint: /put all items into one array/,
  },
  'not-json.json': [
    {
      error: 'not-json.json: is not JSON: it begins with neither [ nor {',
      hint: 'if it is CSV, name the format',
    },
    { options: { format: 'csv' }, items: [['c1', { name: 'A' }]] },
  ],
  'not-objects.json': {
    items: [['c1'], ['c3']],
    lines: [1, 6],
    rejected: [
      '2: is an integer, not an object',
      '3: is a text, not an object',
      '4: is null, not an object',
      '5: is an array, not an object',
    ],
  },
  'seventeen-digits.json': {
    items: [
      ['c2', { n: 0.1 }],
      ['c3', { n: 9007199254740991 }],
    ],
    rejected: ['1: n: 12345678901234567 cannot be represented exactly as a number; write it in quotes'],
  },
  'huge-exponent.json': {
    items: [
      ['c2', { n: 1e22 }],
      ['c3', { s: '1e400' }],
    ],
    rejected: ['1: n: 1e400 cannot be represented exactly as a number; write it in quotes'],
  },
  'nested-metadata.json': {
    items: [['c1', { address: { city: 'Lyon' }, tags: ['a', 'b'], gone: null }]],
  },
  'flat-and-nested.json': { items: [], rejected: ['1: "name" appears both beside metadata and inside it'] },
  'pretty-object.json': { items: [['c1', { name: 'Acme', size: 3 }]], lines: [1] },
  'pretty-objects.json': [
    {
      items: [['c1', { name: 'Acme' }], ['c2', { tags: ['a', 'b'] }], ['c3'], ['c4']],
      lines: [2, 5, 13, 14],
    },
    {
      options: { format: 'ndjson' },
      items: [],
      error: /^pretty-objects.json:2: the line is not valid JSON: \w/,
      hint: /each line must be one whole item/,
    },
  ],
  'body-with-members.json': [
    { items: [['c1'], ['c2', { plan: 'pro' }]], lines: [1, 2] },
    {
      options: { jsonPath: 'companies' },
      items: [['c1'], ['c2', { plan: 'pro' }]],
    },
    {
      options: { jsonPath: 'meta.page' },
      items: [],
      error: 'body-with-members.json:2: "meta.page" is not an array',
      hint: 'name the path to the array of items',
    },
    {
      options: { jsonPath: 'meta.pages.0' },
      items: [],
      error: 'body-with-members.json:2: has no "meta.pages"',
      hint: 'did you mean "page"?',
    },
    {
      options: { jsonPath: 'meta..a' },
      items: [],
      error: 'jsonPath: "meta..a" must be names separated by dots',
      hint: 'such as data.items',
    },
  ],
  'both-kinds.json': [
    {
      items: [],
      error: 'both-kinds.json contains companies and users',
      hint: 'import one kind at a time: say which one to read',
    },
    { options: { kind: 'companies' }, items: [['c1']] },
    { options: { jsonPath: 'companies' }, items: [['c1']] },
  ],
  'repeated-keys.ndjson': {
    items: [['c0', { a: { b: 1 }, d: [{ b: 1 }, { b: 2 }] }]],
    rejected: [
      '2: the key "name" appears twice',
      '3: the key "company_id" appears twice',
      '4: metadata: the key "plan" appears twice',
      '5: address: the key "city" appears twice',
      '6: the key "name" appears twice',
      '7: "name" appears both beside metadata and inside it',
      '8: metadata.list: the key "a" appears twice',
      '9: the key "metadata" appears twice',
    ],
  },
  'lone-surrogates.ndjson': {
    items: [['c1', { name: '😀 and \\ud83d in words' }]],
    rejected: [
      '2: name: \\ud83d is half of a character; no text can hold it',
      '3: company_id: \\ude00 is half of a character; no text can hold it',
      '4: \\ud83d is half of a character; no text can hold it',
      '5: metadata.a: \\ude00 is half of a character; no text can hold it',
    ],
  },
  'numeric-identifier.json': {
    items: [['42'], ['42']],
    rejected: [
      '3: company_id is a boolean, not a text',
      '4: company_id is empty',
      '5: company_id is missing',
    ],
  },
  'prototype-keys.json': { items: [['c1', prototype('{"__proto__":"p","constructor":"c"}')]] },
  'mixed-types.json': {
    items: [
      ['c1', { v: 1 }],
      ['c2', { v: 'one' }],
      ['c3', { v: 1.5 }],
    ],
  },
  'lines.ndjson': { items: [['c1', { name: 'Åsa' }], ['c2', { name: 'Bo' }], ['c3']], lines: [1, 3, 5] },
  'broken-line.ndjson': {
    error: /^broken-line.ndjson:2: the line is not valid JSON: \w/,
    hint: /each line must be one whole item/,
  },
  'two-on-a-line.ndjson': [
    { items: [['c1'], ['c2'], ['c3']], lines: [1, 2, 2] },
    {
      options: { format: 'ndjson' },
      items: [],
      error: 'two-on-a-line.ndjson:2: the line is not valid JSON: it contains more than one value',
      hint: /each line must be one whole item/,
    },
  ],
  'not-objects.ndjson': {
    items: [['c1']],
    rejected: ['2: is an integer, not an object', '3: is an array, not an object'],
  },
};

it('every fixture is in the table', () => {
  const files = readdirSync(`${FIXTURES}input`).filter((name) => !name.startsWith('.'));
  expect(files.sort()).toEqual(Object.keys(CASES).sort());
});

describe.each(Object.entries(CASES))('%s', (name, cases) => {
  it.each([cases].flat().map((one): [string, Case] => [JSON.stringify(one.options ?? 'as it is'), one]))(
    '%s',
    async (_, expected) => {
      const reading = read(name, { cwd: `${FIXTURES}input`, ...expected.options });
      if (expected.error !== undefined) {
        const error = await reading.then(
          () => expect.unreachable('it was read'),
          (thrown: unknown) => thrown,
        );
        expect(error).toBeInstanceOf(ProfilesError);
        const { message, hint, exit } = error as ProfilesError;
        expect(message).toEqual(matching(expected.error));
        expect(hint).toEqual(expected.hint === undefined ? undefined : matching(expected.hint));
        expect(exit).toBe(2);
        return;
      }
      const { scan, items, lines, reasons, texts } = await reading;
      expect(items.map(parts)).toEqual(expected.items);
      if (expected.lines) expect(lines).toEqual(expected.lines);
      expect(reasons).toEqual(expected.rejected ?? []);
      expect(scan.warnings.map(({ message }) => message)).toEqual(expected.warnings ?? []);
      expect(scan.rows).toEqual({
        read: items.length + reasons.length,
        filtered: 0,
        rejected: reasons.length,
      });
      // The plan's bytes are those that are sent.
      expect(scan.bytes).toBe(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0));
    },
  );
});

const matching = (text: string | RegExp): string =>
  text instanceof RegExp ? expect.stringMatching(text) : text;

function parts(item: unknown): [id: string, metadata?: object] {
  const { company_id, user_id, metadata } = item as Record<string, string> & { metadata?: object };
  const id = user_id ?? company_id!;
  return metadata === undefined ? [id] : [id, metadata];
}
