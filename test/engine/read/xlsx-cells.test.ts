/** What becomes of the cells of workbooks that this test writes. */
import { describe, expect, it } from 'vitest';
import { type Cell, workbook } from '../../support/workbook.js';
import { type ReadOptions, readText } from './reading.js';

const reading = (rows: readonly (readonly Cell[])[], options: ReadOptions = {}) =>
  readText('a.xlsx', workbook(rows), options);

describe('whole numbers of many digits', () => {
  it('are identifiers with the digits that are stored', async () => {
    const { items } = await reading([
      ['company_id', 'n'],
      [{ number: '12345678901234567' }, 1],
      [{ number: '12345678901234568' }, 2],
    ]);
    expect(items).toEqual([
      { company_id: '12345678901234567', metadata: { n: 1 } },
      { company_id: '12345678901234568', metadata: { n: 2 } },
    ]);
  });

  it('stay text where a double does not hold them', async () => {
    const { items } = await reading([
      ['company_id', 'n'],
      ['c1', { number: '-12345678901234567' }],
      ['c2', 5],
    ]);
    expect(items).toMatchObject([{ metadata: { n: '-12345678901234567' } }, { metadata: { n: '5' } }]);
  });
});

it('references to characters are those characters, in texts and identifiers', async () => {
  const { items } = await reading([
    ['company_id', 'name'],
    [{ xml: 'c&#128512;' }, { xml: '&#x1F680; &amp;amp; &lt;&#65;&gt; &nbsp;' }],
  ]);
  expect(items).toEqual([{ company_id: 'c😀', metadata: { name: '🚀 &amp; <A> &nbsp;' } }]);
});
