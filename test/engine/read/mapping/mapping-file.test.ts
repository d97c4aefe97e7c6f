import { copyFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../../src/engine/errors.js';
import { mappingJsonSchema, readMapping } from '../../../../src/engine/read/mapping/mapping-file.js';
import { file } from '../reading.js';

const readFrom = (content: string | object) =>
  readMapping(file('m.json', typeof content === 'string' ? content : JSON.stringify(content)), '/');

it('the published schema is the one the file is checked by (npm run reference writes it)', async () => {
  // As the formatter leaves it: lists of words on one line.
  const text = `${JSON.stringify(mappingJsonSchema(), null, 2).replace(/\[\s+("[^[\]{}]*")\s+\]/g, (_, words: string) => `[${words.replace(/\s+/g, ' ')}]`)}\n`;
  await expect(text).toMatchFileSnapshot('../../../../schemas/mapping.schema.json');
});

describe('a mapping file', () => {
  it('says what the flags say', async () => {
    expect(
      await readFrom({
        $schema: './mapping.schema.json',
        kind: 'users',
        id: 'Id',
        company_id: 'Account',
        map: { Name: 'name' },
        include: ['Name'],
        exclude: ['Email'],
        set: { plan: 'pro' },
        type: { '*': 'string', Zip: 'string', Age: 'auto', Revenue: 'money:1.234,56' },
        empty: 'null',
        keys: 'snake_case',
        null: ['n/a'],
        trim: true,
        allow_id: ['NULL'],
      }),
    ).toEqual([
      {
        kind: 'users',
        id: 'Id',
        companyId: 'Account',
        rules: {
          map: [['Name', 'name']],
          include: ['Name'],
          exclude: ['Email'],
          set: [['plan', 'pro']],
          types: [
            ['Zip', 'string'],
            ['Age', 'auto'],
            ['Revenue', 'money:1.234,56'],
          ],
          infer: false,
          empty: 'null',
          keys: 'snake_case',
          nulls: ['n/a'],
          trim: true,
          allowIds: ['NULL'],
        },
      },
    ]);
  });

  it('may have a section for each kind, over what it says of both', async () => {
    const file = {
      empty: 'null',
      users: { id: 'Email', company_id: 'Account' },
      companies: { id: 'Record ID', exclude: ['Notes'] },
    };
    expect(await readFrom(file)).toEqual([
      { kind: undefined, rules: { empty: 'null' } },
      { kind: 'companies', id: 'Record ID', rules: { exclude: ['Notes'] } },
      { kind: 'users', id: 'Email', companyId: 'Account', rules: {} },
    ]);
    expect(await readFrom({ users: {} })).toEqual([{ kind: 'users', rules: {} }]);
  });

  it('may say nothing, and may begin with a byte order mark', async () => {
    expect(await readFrom('\ufeff{}')).toEqual([{ rules: {} }]);
  });

  it('knows columns called like parts of an object', async () => {
    const [{ rules } = { rules: {} }] = await readFrom(
      '{"map":{"__proto__":"a","constructor":"b"},"set":{"__proto__":"c"}}',
    );
    expect(rules).toEqual({
      map: [
        ['__proto__', 'a'],
        ['constructor', 'b'],
      ],
      set: [['__proto__', 'c']],
    });
  });

  it.each<[what: string, content: string | object, message: RegExp, hint: RegExp | undefined]>([
    [
      'an unknown key',
      { excude: ['a'] },
      /^\S+m\.json: the mapping file has an unknown key "excude"$/,
      /"exclude"/,
    ],
    [
      'a type that is none',
      { type: { Revenue: 'moneyy' } },
      /m\.json: type\.Revenue: "moneyy" is not one of integer, /,
      /did you mean money/,
    ],
    [
      'a zone that is left to be named',
      { users: { type: { At: 'datetime:iso@<zone>' } } },
      /m\.json: name the time zone in place of <zone>: At/,
      /Europe\/Berlin/,
    ],
    ['a key like no other', { qqqqqq: 1 }, /unknown key "qqqqqq"$/, /its keys are .*kind, id/],
    [
      'an unknown key in a section',
      { users: { kind: 'users' } },
      /m\.json: the section "users" of the mapping file has an unknown key "kind"$/,
      /its keys are id, company_id/,
    ],
    [
      'a wrong value in a section',
      { users: { set: { seats: 5 } } },
      /m\.json: users\.set\.seats: /,
      undefined,
    ],
    [
      'a kind beside sections',
      { kind: 'users', users: {} },
      /m\.json: kind: the file has a section/,
      /leave "kind"/,
    ],
    ['a wrong type', { type: { Zip: 'text' } }, /m\.json: type\.Zip: /, undefined],
    ['a wrong value', { set: { seats: 5 } }, /m\.json: set\.seats: /, undefined],
    ['a wrong value under a strange name', '{"set":{"__proto__":5}}', /m\.json: set\.__proto__: /, undefined],
    [
      'a wrong type under a strange name',
      '{"type":{"__proto__":5}}',
      /m\.json: type\.__proto__: /,
      undefined,
    ],
    ['an empty key', { map: { a: '' } }, /m\.json: map\.a: must not be empty$/, undefined],
    ['a list', '[]', /m\.json: the mapping file: /, undefined],
    ['no JSON', '{"map":', /m\.json: the mapping file is not JSON: /, undefined],
  ])('with %s is refused', async (_, content, message, hint) => {
    const error: unknown = await readFrom(content).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).message).toMatch(message);
    if (hint) expect((error as ConfigError).hint).toMatch(hint);
  });

  it('that is missing is named', async () => {
    await expect(readMapping('m.json', '/nowhere')).rejects.toThrow(
      'm.json: the mapping file cannot be read: no such file',
    );
  });

  it('that is a folder is named', async () => {
    await expect(readMapping('.', '/')).rejects.toThrow(
      '.: the mapping file cannot be read: this is a folder, not a file',
    );
  });

  it('is found relative to the working directory', async () => {
    const path = file('other.json', '{"id":"x"}');
    copyFileSync(path, path.replace('other.json', 'm.json'));
    expect(await readMapping('m.json', path.replace('/other.json', ''))).toMatchObject([{ id: 'x' }]);
  });
});
