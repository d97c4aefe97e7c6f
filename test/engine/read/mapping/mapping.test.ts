/** Rules that are merged and checked; `pages/mapping.md` has what becomes of columns. */
import { copyFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { mergeRules, NO_RULES } from '../../../../src/engine/read/index.js';
import { readMapping } from '../../../../src/engine/read/mapping/mapping-file.js';
import { file, open } from '../reading.js';

it('--set of a value that its --type does not take', async () => {
  // Already when it is opened: a thread could not tell it as the user's mistake.
  await expect(
    open(file('a.csv', 'company_id,n\n'), {
      rules: { ...NO_RULES, set: [['n', 'x']], types: [['n', 'integer']] },
    }),
  ).rejects.toMatchObject({
    message: 'n: the value "x" is not of type integer',
    hint: 'change the value, or leave the type out',
  });
});

describe('rules of file and flags', () => {
  it('a flag wins for its column; --include replaces, --exclude adds', () => {
    const merged = mergeRules(
      {
        map: [
          ['a', 'x'],
          ['b', 'y'],
        ],
        include: ['a'],
        exclude: ['c'],
        types: [['a', 'integer']],
        infer: false,
        empty: 'null',
      },
      { map: [['b', 'z']], include: ['b'], exclude: ['d', 'c'], set: [['k', 'v']], empty: 'string' },
    );
    expect(merged).toEqual({
      ...NO_RULES,
      map: [
        ['a', 'x'],
        ['b', 'z'],
      ],
      include: ['b'],
      exclude: ['c', 'd'],
      set: [['k', 'v']],
      types: [['a', 'integer']],
      infer: false,
      empty: 'string',
    });
  });

  it('of nothing are none', () => {
    expect(mergeRules({}, {})).toEqual(NO_RULES);
  });
});

describe('a mapping file', () => {
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
