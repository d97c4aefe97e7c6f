/** The questions of a guided import and the mapping that its answers make, from real files. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mappingOf } from '../../../src/cli/guide/mapping.js';
import {
  type Answers,
  type Found,
  type Given,
  identityQuestions,
  mappingQuestions,
  type Question,
  suggestedAnswers,
} from '../../../src/cli/guide/questions.js';
import { NUMBERS } from '../../../src/engine/options.js';
import { lookAt, scanFirst } from '../../../src/engine/plan/look.js';
import { NO_RULES, openInput, openZones, Pool } from '../../../src/engine/read/index.js';
import { DEFAULT_LIMITS } from '../../../src/engine/read/limits.js';
import { scratch } from '../../support/cli.js';

const NOTHING: Given = { all: false, columns: false, zone: null };
const chunkBytes = NUMBERS.chunkBytes.default;
const { signal } = new AbortController();

/** What flags say. */
type Flags = Partial<Parameters<typeof openInput>[0]>;

async function lookAtText(name: string, text: string, flags: Flags = {}): Promise<Found> {
  const cwd = scratch();
  writeFileSync(join(cwd, name), text);
  const pool = new Pool({ threads: 0 });
  try {
    const where = {
      path: name,
      location: name,
      cwd,
      rules: NO_RULES,
      ...DEFAULT_LIMITS,
      guess: true,
      ...flags,
    };
    const first = await scanFirst(await openInput(where), { chunkBytes, pool, signal });
    return { ...(await lookAt(first.opened, first, signal)), known: false };
  } finally {
    await pool.close();
  }
}

function questionsOf(found: readonly Found[], given: Partial<Given> = {}): Question[] {
  const all = { ...NOTHING, ...given };
  const identities = identityQuestions(found, all);
  const wasAsked = new Set(identities.map(({ path }) => path));
  return [...identities, ...mappingQuestions(found, all, wasAsked)];
}

const suggested = (found: Found[], given = NOTHING) => mappingOf(found, suggestedAnswers(found, given));

describe('what is asked', () => {
  const CRM =
    'Record ID,Company name,Revenue,Since\n1,Acme,"$1,234.00",2024-01-02 10:00\n2,Initech,n/a,2024-01-03 11:00\n';

  it.each<[what: string, text: string, given: Partial<Given>, asked: string[]]>([
    ['a file that is clear', 'company_id,tier\na,gold\nb,silver\n', {}, []],
    [
      'the same, if all is to be asked',
      'company_id,tier\na,gold\nb,silver\n',
      { all: true },
      ['identity', 'columns'],
    ],
    ['a new export', CRM, {}, ['identity', 'keys', 'columns', 'types', 'zone', 'markers']],
    ['rules for columns were given', CRM, { columns: true }, ['identity', 'types', 'zone', 'markers']],
    ['a zone was given', CRM, { zone: 'UTC' }, ['identity', 'keys', 'columns', 'types', 'markers']],
    ['a conversion in a file with identifiers', 'company_id,size\na,"1,200,000"\nb,"3,400"\n', {}, ['types']],
    ['dates that can be read in two ways', 'company_id,on\na,03/04/2024\nb,05/06/2024\n', {}, ['reading']],
    ['a point that may be for thousands', 'company_id,n\na,841\nb,3.456\n', {}, ['reading']],
    ['decimals of any length', 'company_id,n\na,841\nb,3.45\n', {}, []],
    [
      'a point for thousands, as elsewhere',
      'company_id;n;m\na;841;"1.234,50"\nb;3.456;"2,00"\n',
      {},
      ['types'],
    ],
    [
      'a point for decimals, as elsewhere',
      'company_id;n;m\na;841;"1,234.50"\nb;3.456;"2.00"\n',
      {},
      ['types'],
    ],
    ['a marker in a column of numbers', 'company_id,score\na,-\nb,3\n', {}, ['types', 'markers']],
  ])('%s', async (_, text, given, asked) => {
    const questions = questionsOf([await lookAtText('a.csv', text)], given);
    expect(questions.map(({ ask }) => ask)).toEqual(asked);
  });

  const ITEMS = '[{"Record ID":1,"Revenue":"$1,234.00","Tags":["a"]},{"Record ID":2,"Revenue":"n/a"}]';

  it.each<[what: string, files: [name: string, text: string, flags?: Flags][], asked: string[]]>([
    [
      'a kind and an identifier that flags name',
      [['a.csv', CRM, { kind: 'companies', id: 'Record ID' }]],
      ['types', 'zone', 'markers'],
    ],
    [
      'a kind that a flag names',
      [['a.csv', CRM, { kind: 'users' }]],
      ['identity', 'keys', 'columns', 'types', 'zone', 'markers'],
    ],
    ['items', [['a.json', ITEMS]], ['identity', 'keys', 'columns']],
    [
      'one of two inputs is clear',
      [
        ['a.csv', 'company_id,tier\na,gold\n'],
        ['b.csv', 'Email,Plan\na@b.example,pro\n'],
      ],
      ['identity', 'keys', 'columns'],
    ],
    [
      'two inputs from two programs',
      [
        ['a.csv', CRM],
        ['b.csv', 'Email,Seen\na@b.example,2024-01-02 10:00\nc@d.example,2024-01-03 11:00\n'],
      ],
      ['identity', 'identity', 'keys', 'columns', 'types', 'zone', 'zone', 'markers'],
    ],
  ])('%s', async (_, files, asked) => {
    const found = await Promise.all(files.map((file) => lookAtText(...file)));
    expect(questionsOf(found).map(({ ask }) => ask)).toEqual(asked);
  });

  it('once about a column of two inputs of a kind', async () => {
    const inputs = ['a.csv', 'b.csv'].map((path) => lookAtText(path, 'Record ID,Notes\n1,x\n2,y\n'));
    const columns = questionsOf(await Promise.all(inputs)).filter(({ ask }) => ask === 'columns');
    expect(columns).toMatchObject([{ choices: [{ path: 'a.csv', column: 'Notes' }] }]);
  });

  it('no style of keys that gives two columns one key', async () => {
    const keysOf = async (header: string) =>
      questionsOf([await lookAtText('a.csv', `Record ID,${header}\n1,x,y\n`)]).find(
        ({ ask }) => ask === 'keys',
      );
    expect(await keysOf('Annual Revenue,Plan')).toMatchObject({
      styles: ['snake_case', 'as-is', 'camelCase'],
    });
    expect(await keysOf('Annual Revenue,annual_revenue')).toBeUndefined();
  });

  it('nothing about types that were sent before', async () => {
    const found = { ...(await lookAtText('a.csv', 'company_id,size\na,"1,200"\nb,"3,400"\n')), known: true };
    expect(mappingQuestions([found], NOTHING, new Set())).toEqual([]);
  });

  it('identifiers with their values, the likeliest first, and the other kind last', async () => {
    const text =
      'Record ID,First Name,Account ID,Email\n1,A,a,x@y.example\n2,B,a,z@y.example\n3,C,,z@y.example\n';
    const [question] = identityQuestions([await lookAtText('a.csv', text)], NOTHING);
    expect(question!.choices).toMatchObject([
      { kind: 'users', column: 'Email', filled: 3, different: 2, values: ['x@y.example', 'z@y.example'] },
      { kind: 'users', column: 'Record ID', filled: 3, different: 3 },
      { kind: 'users', column: 'Account ID' },
      { kind: 'users', column: 'First Name', different: 3 },
      { kind: 'companies', column: 'Account ID', filled: 2, different: 1 },
    ]);
  });
});

describe('the mapping', () => {
  const text = [
    'Record ID,Annual Revenue,Since,Code\n',
    '1,"$1,234.00",2024-01-02 10:00,007\n',
    '2,n/a,2024-01-03 11:00,12\n',
  ].join('');

  it('takes every suggestion, and leaves a zone open that only a person knows', async () => {
    const mapping = suggested([await lookAtText('a.csv', text)]);
    expect(mapping).toMatchObject({
      kind: 'companies',
      id: 'Record ID',
      map: { 'Annual Revenue': 'Annual Revenue', Since: 'Since', Code: 'Code' },
      type: { 'Annual Revenue': 'money', Since: 'datetime:iso@<zone>', Code: 'string' },
      null: ['n/a'],
    });
    expect(openZones(mapping)).toEqual(['Since']);
  });

  it('has the zone that was given', async () => {
    const mapping = suggested([await lookAtText('a.csv', text)], { ...NOTHING, zone: 'Europe/Berlin' });
    expect(mapping.type).toMatchObject({ Since: 'datetime:iso@Europe/Berlin' });
    expect(openZones(mapping)).toEqual([]);
  });

  it('has what was answered: keys, left out columns, no conversion without its marker', async () => {
    const found = await lookAtText('a.csv', text);
    const answers: Answers = {
      ...suggestedAnswers([found], NOTHING),
      leftOut: [{ path: 'a.csv', column: 'Code' }],
      keys: 'snake_case',
      zones: new Map([['a.csv', 'UTC']]),
      nulls: [],
    };
    expect(mappingOf([found], answers)).toMatchObject({
      map: { 'Annual Revenue': 'annual_revenue', Since: 'since' },
      exclude: ['Code'],
      type: { 'Annual Revenue': 'string', Since: 'datetime:iso@UTC' },
    });
  });

  it('has a section for each kind, and the markers of all inputs of a kind', async () => {
    const users = await lookAtText('u.csv', 'Email,Score\nA@b.example,?\nc@d.example,3\n');
    const both = [await lookAtText('a.csv', text), await lookAtText('b.csv', 'Record ID,Size\n3,?\n4,5\n')];
    expect(suggested([...both, users])).toMatchObject({
      companies: { id: 'Record ID', type: { Size: 'integer', Code: 'string' }, null: ['n/a', '?'] },
      users: { id: 'Email', type: { Email: 'lower', Score: 'integer' }, null: ['?'] },
    });
  });

  it('leaves a column out of all inputs of a kind, wherever it was ticked off', async () => {
    const both = [await lookAtText('a.csv', text), await lookAtText('b.csv', 'Record ID,Notes\n3,x\n4,y\n')];
    const answers = { ...suggestedAnswers(both, NOTHING), leftOut: [{ path: 'b.csv', column: 'Notes' }] };
    expect(mappingOf(both, answers)).toMatchObject({ companies: { exclude: ['Notes'] } });
  });

  it('cannot be shared by inputs of a kind with other identifiers', async () => {
    const both = [await lookAtText('a.csv', text), await lookAtText('b.csv', 'Account ID,Size\n3,4\n')];
    expect(() => suggested(both)).toThrow('have different names');
  });

  it('reads points as other columns do', async () => {
    const german = 'Record ID;n;k;m\n1;841;-;"1.234,50"\n2;3.456;4.500;"2,00"\n';
    expect(suggested([await lookAtText('a.csv', german)])).toMatchObject({
      type: { n: 'number:1.234,56', k: 'number:1.234,56', m: 'number:1.234,56' },
    });
    const english = german.replace('1.234,50', '1,234.50').replace('2,00', '2.00');
    expect(suggested([await lookAtText('a.csv', english)])).toMatchObject({
      type: { n: 'number', m: 'number:1,234.56' },
    });
  });

  it('keeps values in doubt as text', async () => {
    const mapping = suggested([await lookAtText('a.csv', 'company_id,on\na,03/04/2024\nb,05/06/2024\n')]);
    expect(mapping.type).toEqual({ on: 'string' });
  });
});
